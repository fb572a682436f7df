package main

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// waves is a set of sequences of two channels: cosines of amplitude √2 and random phase at one
// angle per channel, and constants.
type waves struct {
	theta   float64
	lengths []int
}

func (w waves) Len() int         { return len(w.lengths) }
func (w waves) Length(i int) int { return w.lengths[i] }
func (w waves) Example(dst *dataset.Example, i, _ int) error {
	n := w.lengths[i]
	*dst = dataset.Example{X: make([]float32, 2*n), Len: n}
	for l := range n {
		dst.X[l] = float32(5 + 3*math.Sqrt2*math.Cos(w.theta*float64(l)+float64(i)))
		dst.X[n+l] = 7
	}
	return nil
}

func waveData(theta float64, lengths ...int) *dataset.Dataset {
	return &dataset.Dataset{Info: dataset.Info{Name: "waves", Channels: 2}, Train: waves{theta, lengths}, Mean: []float32{5, 7}, Std: []float32{3, 1}}
}

// A cosine of variance 1 and any phase has the power L/2 at its angle and 0 at the other bins.
func TestSpectrumOfACosine(t *testing.T) {
	const length, bin = 128, 12
	curves, examples, err := meanSpectrum(t.Context(), waveData(2*math.Pi*bin/length, length, length, length), 10, 1)
	must.Do(t, err)
	if examples != 3 || len(curves) != 2 || len(curves[0].X) != length/2+1 || curves[0].X[length/2] != math.Pi {
		t.Fatalf("%d sequences in %d channels: %+v", examples, len(curves), curves)
	}
	for k, db := range curves[0].Y {
		want := 0.0
		if k == bin {
			want = length / 2
		}
		if got := math.Pow(10, db/10); math.Abs(got-want) > 1e-5 {
			t.Errorf("bin %d: power %v, expected %v", k, got, want)
		}
	}
	if db := curves[1].Y[3]; !math.IsInf(db, -1) {
		t.Errorf("a constant has %v dB", db)
	}
}

// examples is a set in memory.
type examples []dataset.Example

func (s examples) Len() int         { return len(s) }
func (s examples) Length(i int) int { return s[i].Len }
func (s examples) Example(dst *dataset.Example, i, _ int) error {
	*dst = s[i]
	return nil
}

// White noise has 0 dB, and so do random tokens of any numbers.
func TestSpectrumOfTokens(t *testing.T) {
	var set examples
	for i := range 400 {
		e := dataset.Example{Len: 64}
		for l := range 64 {
			e.Tokens = append(e.Tokens, int32(100+dataset.RandPerm(17, uint64(64*i+l))[0]))
		}
		set = append(set, e)
	}
	curves, _, err := meanSpectrum(t.Context(), &dataset.Dataset{Info: dataset.Info{Name: "dice"}, Train: set}, 400, 1)
	must.Do(t, err)
	for k, db := range curves[0].Y {
		if math.Abs(db) > 1.1 { // four standard deviations of the mean of 400 exponential variables, twice at the ends
			t.Errorf("bin %d: %v dB, expected 0", k, db)
		}
	}
}

func TestTransformLength(t *testing.T) {
	for n, want := range map[int]int{1: 1, 784: 784, 1024: 1024, 1999: 2000, 4093: 4096, 16000: 16000} {
		must.Equal(t, transformLength(n), want, "transform of %d", n)
	}
}
