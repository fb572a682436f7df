package dataset

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// waves is a set of sequences of two channels: cosines of amplitude √2 and random phase at one
// angle per channel, and constants.
type waves struct {
	theta   float64
	lengths []int
}

func (w waves) Len() int         { return len(w.lengths) }
func (w waves) Length(i int) int { return w.lengths[i] }
func (w waves) Example(dst *Example, i, _ int) error {
	n := w.lengths[i]
	*dst = Example{X: make([]float32, 2*n), Len: n}
	for l := range n {
		dst.X[l] = float32(5 + 3*math.Sqrt2*math.Cos(w.theta*float64(l)+float64(i)))
		dst.X[n+l] = 7
	}
	return nil
}

func waveData(theta float64, lengths ...int) *Dataset {
	return &Dataset{Info: Info{Name: "waves", Channels: 2}, Train: waves{theta, lengths}, Mean: []float32{5, 7}, Std: []float32{3, 1}}
}

// A cosine of variance 1 and any phase has the power L/2 at its angle and 0 at the other bins.
func TestSpectrumOfACosine(t *testing.T) {
	const length, bin = 128, 12
	s := must.Get(waveData(2*math.Pi*bin/length, length, length, length).MeanSpectrum(t.Context(), 10, 1))(t)
	if s.Examples != 3 || s.Length != length || len(s.Power) != 2 {
		t.Fatalf("%d sequences of %d bins in %d channels, expected 3 of %d in 2", s.Examples, s.Length, len(s.Power), length)
	}
	must.Equal(t, s.Angles()[length/2], math.Pi, "angle of the middle bin")
	for k, p := range s.Power[0] {
		want := 0.0
		if k == bin {
			want = length / 2
		}
		if math.Abs(p-want) > 1e-5 {
			t.Errorf("bin %d: power %v, expected %v", k, p, want)
		}
	}
	if got, want := s.Decibels(0)[bin], 10*math.Log10(length/2); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v dB at the peak, expected %v", got, want)
	}
	if db := s.Decibels(1); !math.IsInf(db[3], -1) {
		t.Errorf("a constant has %v dB", db[3])
	}
}

// A padded cosine of half the length has its peak, of height L/4, at the same angle and spreads to
// neighbouring bins. The total power stays 1.
func TestSpectrumPads(t *testing.T) {
	theta := 2 * math.Pi * 16 / 125
	s := must.Get(waveData(theta, 250, 125).MeanSpectrum(t.Context(), 2, 1))(t)
	peak := 0
	for k, p := range s.Power[0] {
		if p > s.Power[0][peak] {
			peak = k
		}
	}
	if got := s.Angles()[peak]; math.Abs(got-theta) > 1e-12 {
		t.Errorf("peak at %v, expected %v", got, theta)
	}
	if got, want := s.Power[0][peak], (250.0/2+125.0/2)/2; math.Abs(got-want) > 0.5 {
		t.Errorf("power %v at the peak, expected %v", got, want)
	}
	total := s.Power[0][0] + s.Power[0][s.Length/2]
	for _, p := range s.Power[0][1 : s.Length/2] {
		total += 2 * p
	}
	if total /= float64(s.Length); math.Abs(total-1) > 0.01 {
		t.Errorf("mean power %v, expected 1", total)
	}
}

// White noise has 0 dB, and so do random tokens of any numbers.
func TestSpectrumOfTokens(t *testing.T) {
	set := &memory{}
	for i := range 400 {
		e := Example{Len: 64}
		for l := range 64 {
			e.Tokens = append(e.Tokens, int32(100+RandPerm(17, uint64(64*i+l))[0]))
		}
		set.examples = append(set.examples, e)
	}
	s := must.Get((&Dataset{Info: Info{Name: "dice"}, Train: set}).MeanSpectrum(t.Context(), 400, 1))(t)
	for k, db := range s.Decibels(0) {
		if math.Abs(db) > 1.1 { // four standard deviations of the mean of 400 exponential variables, twice at the ends
			t.Errorf("bin %d: %v dB, expected 0", k, db)
		}
	}
}

// The two sequences of a pair count as two examples.
func TestSpectrumOfPairs(t *testing.T) {
	a, b, c := []int32{3, 4, 5, 6}, []int32{9, 3, 3, 9}, []int32{4, 8}
	spectrum := func(examples ...Example) *Spectrum {
		return must.Get((&Dataset{Info: Info{Name: "pairs"}, Train: &memory{examples}}).MeanSpectrum(t.Context(), 9, 1))(t)
	}
	pairs := spectrum(Example{Tokens: a, Other: b, Len: 4}, Example{Tokens: c, Other: a, Len: 2})
	singles := spectrum(Example{Tokens: a, Len: 4}, Example{Tokens: b, Len: 4}, Example{Tokens: c, Len: 2}, Example{Tokens: a, Len: 4})
	for k, p := range pairs.Power[0] {
		if math.Abs(p-singles.Power[0][k]) > 1e-12 {
			t.Errorf("bin %d: %v in pairs, %v alone", k, p, singles.Power[0][k])
		}
	}
	if pairs.Examples != 2 || singles.Examples != 4 {
		t.Errorf("%d and %d examples", pairs.Examples, singles.Examples)
	}
}

// The seed selects the sequences.
func TestSpectrumChoice(t *testing.T) {
	d := waveData(1, 50, 60, 70, 80, 90, 100)
	first := must.Get(d.MeanSpectrum(t.Context(), 2, 1))(t)
	again, _ := d.MeanSpectrum(t.Context(), 2, 1)
	must.Equal(t, first.Examples, 2, "examples")
	if !slices.Equal(first.Power[0], again.Power[0]) {
		t.Error("the same seed chooses other sequences")
	}
	different := false
	for seed := range uint64(8) {
		other, _ := d.MeanSpectrum(t.Context(), 2, seed)
		different = different || other.Length != first.Length || !slices.Equal(first.Power[0], other.Power[0])
	}
	if !different {
		t.Error("the seed chooses nothing")
	}
	if _, err := d.MeanSpectrum(t.Context(), 0, 1); err == nil {
		t.Error("no sequences: no error")
	}
	if _, err := (&Dataset{Info: Info{Name: "empty"}}).MeanSpectrum(t.Context(), 1, 1); err == nil {
		t.Error("no training set: no error")
	}
}

func TestTransformLength(t *testing.T) {
	for n, want := range map[int]int{1: 1, 784: 784, 1024: 1024, 1999: 2000, 4093: 4096, 16000: 16000} {
		must.Equal(t, transformLength(n), want, "transform of %d", n)
	}
}
