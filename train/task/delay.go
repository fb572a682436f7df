package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	register(Task{
		name:    "delay",
		options: func() options { return &delayOptions{} },
	})
}

// delayOptions are the [data] table of the task. 0 is the default.
type delayOptions struct {
	Length    int `toml:"length"`     // samples per sequence; default 4000
	Delay     int `toml:"delay"`      // samples from the input to the target; default length/4
	TrainSize int `toml:"train_size"` // training sequences per pass; default 16384
	EvalSize  int `toml:"eval_size"`  // validation sequences; default 1024
}

// setDefaults replaces options that are 0.
func (o *delayOptions) setDefaults() {
	o.Length = cmp.Or(o.Length, 4000)
	o.Delay = cmp.Or(o.Delay, o.Length/4)
	o.TrainSize, o.EvalSize = cmp.Or(o.TrainSize, 16384), cmp.Or(o.EvalSize, 1024)
}

func (o delayOptions) check() error {
	o.setDefaults()
	switch {
	case o.Length < 4 || o.Length > math.MaxInt32:
		return fmt.Errorf("data.length %d: expected 4 to %d", o.Length, math.MaxInt32)
	case min(o.TrainSize, o.EvalSize) < 1:
		return fmt.Errorf("data.train_size %d, data.eval_size %d: expected at least 1", o.TrainSize, o.EvalSize)
	case o.Delay < 1 || o.Delay >= o.Length:
		return fmt.Errorf("data.delay %d: expected 1 to %d, for a data.length of %d", o.Delay, o.Length-1, o.Length)
	}
	return nil
}

// The delay task's signal (docs/maths.md §5.1): white noise up to the cutoff, half of the digital
// band.
const (
	delayRate   = 4000 // Hz
	delayCutoff = 1000 // Hz
	delayRMS    = 0.5
)

// delay generates pairs of sequences: a signal, and the same signal shift samples later.
type delay struct {
	seed          uint64
	length, shift int
	half          int       // n_c = ⌈length/2⌉: the signal has period 2·n_c
	scale         float64   // factor on a standard normal coefficient
	pool          sync.Pool // of *delayBuffers
}

type delayBuffers struct {
	fft   *fourier.FFT
	coeff []complex128 // [n_c + 1], zero outside the band
	x     []float64    // [2·n_c]
}

func newDelay(seed uint64, length, shift int) *delay {
	d := &delay{seed: seed, length: length, shift: shift, half: (length + 1) / 2}
	// σ = rms·√½ for the real and the imaginary part, divided by √(1 − cut/n_c) because some bins
	// are empty, times √(2n_c), times the 1/(2n_c) of the inverse transform.
	n := float64(d.half)
	cut := n - float64(d.bins())
	d.scale = delayRMS * math.Sqrt(0.5) / math.Sqrt(1-cut/n) / math.Sqrt(2*n)
	d.pool.New = func() any {
		return &delayBuffers{fft: fourier.NewFFT(2 * d.half), coeff: make([]complex128, d.half+1), x: make([]float64, 2*d.half)}
	}
	return d
}

// bins returns the largest k with k/(2·n_c·dt) ≤ cutoff. Bins 1 to k contain noise; bin 0 is empty.
func (d *delay) bins() int { return 2 * d.half * delayCutoff / delayRate }

// fill generates a pair from a random stream. x = irfft(c) minus its first value, so that x[0] = 0.
// y[l] = x[l − shift], and 0 for l < shift.
func (d *delay) fill(x, y []float32, s random.Stream) {
	w := d.pool.Get().(*delayBuffers)
	for k := 1; k <= d.bins(); k++ {
		re, im := s.NormalPair(uint64(2 * k))
		w.coeff[k] = complex(d.scale*re, d.scale*im)
	}
	w.fft.Sequence(w.x, w.coeff)
	for l := range x {
		x[l] = float32(w.x[l] - w.x[0])
	}
	d.pool.Put(w)
	clear(y[:d.shift])
	copy(y[d.shift:], x)
}

// delaySet is n pairs of sequences, which differ in every pass unless fixed is set.
type delaySet struct {
	*delay
	n     int
	fixed bool
}

func (s *delaySet) Len() int       { return s.n }
func (s *delaySet) Length(int) int { return s.length }

// stream returns the random stream of example i. Training and validation never share one: layer 0
// is validation.
func (s *delaySet) stream(i, pass int) random.Stream {
	if s.fixed {
		return random.New(s.seed, random.Signal, i, 0)
	}
	return random.New(s.seed, random.Signal, pass, i+1)
}

func (s *delaySet) Example(dst *dataset.Example, i, pass int) error {
	*dst = dataset.Example{X: dataset.Resize(dst.X, s.length), Target: dataset.Resize(dst.Target, s.length), Tokens: dst.Tokens[:0], Len: s.length, Label: -1}
	s.fill(dst.X, dst.Target, s.stream(i, pass))
	return nil
}

// load generates the delay task (continuous copying, docs/maths.md §5.1): repeat the input
// Delay samples later. The sampling rate is 4000 Hz at every length. The signal has variance ¼
// about its offset and ½ about zero. The output 0 has a mean squared error of ½·(1 − Delay/Length),
// 0.375 by default. The input is not normalised: Mean is 0, Std 1.
func (o delayOptions) load(_ context.Context, src Source) (*dataset.Dataset, error) {
	o.setDefaults()
	made := newDelay(src.Seed, o.Length, o.Delay)
	d := &dataset.Dataset{
		Info: dataset.Info{Channels: 1, Outputs: 1, Regression: true, PerPosition: true, SampleRate: delayRate, MaxLen: o.Length, Delay: o.Delay},
		Mean: []float32{0},
		Std:  []float32{1},
	}
	if src.includes(trainSplit) {
		d.Train = &delaySet{delay: made, n: o.TrainSize}
	}
	if src.includes(valSplit) {
		d.Val = &delaySet{delay: made, n: o.EvalSize, fixed: true}
	}
	return d, nil
}
