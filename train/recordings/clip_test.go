package recordings

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Clips hold 16-bit samples exactly and other samples as floats, or rounded.
func TestClip(t *testing.T) {
	exact, other := []float32{0, 0.5, -1, 1. / (1 << 15)}, []float32{0.1, 2, -3}
	c := NewClip("a", 3, exact)
	if c.Path != "a" || c.Label != 3 || !slices.Equal(c.Int16, []int16{0, 1 << 14, -1 << 15, 1}) || c.Float != nil {
		t.Errorf("%+v", c)
	}
	must.Equal(t, c.Len(), 4, "length")
	if got := c.Samples(nil); !slices.Equal(got, exact) {
		t.Errorf("samples %v, expected %v", got, exact)
	}
	c = NewClip("", 0, other)
	if c.Int16 != nil || !slices.Equal(c.Samples(make([]float32, 1)), other) || !slices.Equal(c.between(nil, 1, 2), other[1:2]) {
		t.Errorf("%+v", c)
	}
	other[0] = 7
	must.Equal(t, c.Float[0], 0.1, "sample after the caller changed its own")
	if c = RoundedClip("", 0, []float32{0.1, 2, -3}); !slices.Equal(c.Int16, []int16{3277, math.MaxInt16, math.MinInt16}) {
		t.Errorf("rounded: %v", c.Int16)
	}
	s := Sounds{Words: []Clip{c}, Other: []Clip{c, NewClip("", 0, other)}, Background: []Clip{c}}
	must.Equal(t, s.Bytes(), 3*6+12, "bytes")
}
