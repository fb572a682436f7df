package vek_test

import (
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Assembly reads the fields of FFTPass at these offsets (asm/ffttransform.go).
func TestFFTPassLayout(t *testing.T) {
	pass := reflect.TypeFor[vek.FFTPass]()
	got := [6]uintptr{5: pass.Size()}
	for i, name := range []string{"radix", "q", "count", "tw", "turn"} {
		field, _ := pass.FieldByName(name)
		got[i] = field.Offset
	}
	if want := [6]uintptr{0, 8, 16, 24, 48, 56}; got != want && reflect.TypeFor[int]().Size() == 8 {
		t.Errorf("offsets of radix, q, count, tw and turn, and the size: %d, expected %d", got, want)
	}
}
