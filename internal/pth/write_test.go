package pth

import (
	"bytes"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestWrite(t *testing.T) {
	want := []Tensor{
		{"encoder.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, -6.5}, false}, {"scalar", []int{}, []float32{7}, false}, {"empty", []int{0, 4}, []float32{}, false},
		{"s4_layers.0.é", []int{1, 2, 1}, []float32{8, 9}, false},
		{"count", []int{}, []float32{96}, true},
	}
	var b bytes.Buffer
	must.Do(t, Write(&b, want))
	got, err := parse(b.Bytes())
	if err != nil || !slices.EqualFunc(got, want, same) {
		t.Errorf("%v, %v; expected %v", got, err, want)
	}
	tooLarge := Tensor{"a", []int{}, []float32{1 << 24}, true}
	must.Fail(t, Write(&b, []Tensor{tooLarge}), "expected a count below 2²⁴")
}
