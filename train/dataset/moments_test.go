package dataset

import (
	"math"
	"testing"
)

// A constant channel has standard deviation 1 for every value. A small variance next to a large
// mean is exact.
func TestMomentsOfLargeMeans(t *testing.T) {
	for _, test := range []struct {
		name      string
		values    []float32
		mean, std float64
	}{
		{"constant", []float32{20000.1, 20000.1, 20000.1}, 20000.1, 1},
		{"constant 0", []float32{0, 0}, 0, 1},
		{"rounding", []float32{1e7, 1e7, 1e7 + 1}, 1e7, 1},
		{"small variance", []float32{1e6 - 2, 1e6 + 2}, 1e6, 2},
		{"small numbers", []float32{1e-9, 3e-9}, 2e-9, 1e-9},
	} {
		var m Moments
		for range 1000 {
			m.Add(test.values)
		}
		mean, std := m.MeanStd()
		if math.Abs(float64(mean)/test.mean-1) > 1e-6 && test.mean != 0 || math.Abs(float64(std)/test.std-1) > 1e-6 {
			t.Errorf("%s: mean %v, standard deviation %v, expected %v and %v", test.name, mean, std, test.mean, test.std)
		}
	}
}
