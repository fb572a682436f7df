package recordings

import (
	"math"
	"slices"
	"testing"
)

// Clips hold 16-bit samples exactly. Others are rounded, and limited to full scale.
func TestClip(t *testing.T) {
	exact := []float32{0, 0.5, -1, 1. / (1 << 15)}
	c := NewClip("a", 3, exact)
	if got := c.Samples(make([]float32, 1)); c.Path != "a" || c.Label != 3 || c.Len() != 4 || !slices.Equal(got, exact) || !slices.Equal(c.append(nil, 1, 2), exact[1:2]) {
		t.Errorf("%+v, samples %v, expected %v", c, got, exact)
	}
	c = NewClip("", 0, []float32{0.1, 2, -3})
	if !slices.Equal(c.Int16, []int16{3277, math.MaxInt16, math.MinInt16}) {
		t.Errorf("rounded: %v", c.Int16)
	}
}
