package main

import (
	"math"
	"slices"
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
	s := must.Get(meanSpectrum(t.Context(), waveData(2*math.Pi*bin/length, length, length, length), 10, 1))(t)
	if s.examples != 3 || s.length != length || len(s.power) != 2 {
		t.Fatalf("%d sequences of %d bins in %d channels, expected 3 of %d in 2", s.examples, s.length, len(s.power), length)
	}
	must.Equal(t, s.angles()[length/2], math.Pi, "angle of the middle bin")
	for k, p := range s.power[0] {
		want := 0.0
		if k == bin {
			want = length / 2
		}
		if math.Abs(p-want) > 1e-5 {
			t.Errorf("bin %d: power %v, expected %v", k, p, want)
		}
	}
	if got, want := s.decibels(0)[bin], 10*math.Log10(length/2); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v dB at the peak, expected %v", got, want)
	}
	if db := s.decibels(1); !math.IsInf(db[3], -1) {
		t.Errorf("a constant has %v dB", db[3])
	}
}

// A padded cosine of half the length has its peak, of height L/4, at the same angle and spreads to
// neighbouring bins. The total power stays 1.
func TestSpectrumPads(t *testing.T) {
	theta := 2 * math.Pi * 16 / 125
	s := must.Get(meanSpectrum(t.Context(), waveData(theta, 250, 125), 2, 1))(t)
	peak := 0
	for k, p := range s.power[0] {
		if p > s.power[0][peak] {
			peak = k
		}
	}
	if got := s.angles()[peak]; math.Abs(got-theta) > 1e-12 {
		t.Errorf("peak at %v, expected %v", got, theta)
	}
	if got, want := s.power[0][peak], (250.0/2+125.0/2)/2; math.Abs(got-want) > 0.5 {
		t.Errorf("power %v at the peak, expected %v", got, want)
	}
	total := s.power[0][0] + s.power[0][s.length/2]
	for _, p := range s.power[0][1 : s.length/2] {
		total += 2 * p
	}
	if total /= float64(s.length); math.Abs(total-1) > 0.01 {
		t.Errorf("mean power %v, expected 1", total)
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
	s := must.Get(meanSpectrum(t.Context(), &dataset.Dataset{Info: dataset.Info{Name: "dice"}, Train: set}, 400, 1))(t)
	for k, db := range s.decibels(0) {
		if math.Abs(db) > 1.1 { // four standard deviations of the mean of 400 exponential variables, twice at the ends
			t.Errorf("bin %d: %v dB, expected 0", k, db)
		}
	}
}

// The two sequences of a pair count as two examples.
func TestSpectrumOfPairs(t *testing.T) {
	a, b, c := []int32{3, 4, 5, 6}, []int32{9, 3, 3, 9}, []int32{4, 8}
	spectrum := func(list ...dataset.Example) *meanPower {
		return must.Get(meanSpectrum(t.Context(), &dataset.Dataset{Info: dataset.Info{Name: "pairs"}, Train: examples(list)}, 9, 1))(t)
	}
	pairs := spectrum(dataset.Example{Tokens: a, Other: b, Len: 4}, dataset.Example{Tokens: c, Other: a, Len: 2})
	singles := spectrum(dataset.Example{Tokens: a, Len: 4}, dataset.Example{Tokens: b, Len: 4}, dataset.Example{Tokens: c, Len: 2}, dataset.Example{Tokens: a, Len: 4})
	for k, p := range pairs.power[0] {
		if math.Abs(p-singles.power[0][k]) > 1e-12 {
			t.Errorf("bin %d: %v in pairs, %v alone", k, p, singles.power[0][k])
		}
	}
	if pairs.examples != 2 || singles.examples != 4 {
		t.Errorf("%d and %d examples", pairs.examples, singles.examples)
	}
}

// The seed selects the sequences.
func TestSpectrumChoice(t *testing.T) {
	d := waveData(1, 50, 60, 70, 80, 90, 100)
	first := must.Get(meanSpectrum(t.Context(), d, 2, 1))(t)
	again, _ := meanSpectrum(t.Context(), d, 2, 1)
	must.Equal(t, first.examples, 2, "examples")
	if !slices.Equal(first.power[0], again.power[0]) {
		t.Error("the same seed chooses other sequences")
	}
	different := false
	for seed := range uint64(8) {
		other, _ := meanSpectrum(t.Context(), d, 2, seed)
		different = different || other.length != first.length || !slices.Equal(first.power[0], other.power[0])
	}
	if !different {
		t.Error("the seed chooses nothing")
	}
	if _, err := meanSpectrum(t.Context(), d, 0, 1); err == nil {
		t.Error("no sequences: no error")
	}
	if _, err := meanSpectrum(t.Context(), &dataset.Dataset{Info: dataset.Info{Name: "empty"}}, 1, 1); err == nil {
		t.Error("no training set: no error")
	}
}

func TestTransformLength(t *testing.T) {
	for n, want := range map[int]int{1: 1, 784: 784, 1024: 1024, 1999: 2000, 4093: 4096, 16000: 16000} {
		must.Equal(t, transformLength(n), want, "transform of %d", n)
	}
}
