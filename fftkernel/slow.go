package fftkernel

import (
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// slowTransforms transforms real sequences of any length in float64. A plan of gonum has its own
// working memory, so each of several concurrent calls uses another plan.
type slowTransforms struct {
	n    int
	idle sync.Pool // of *slowTransform
}

type slowTransform struct {
	fft      *fourier.FFT
	sequence []float64
	spectrum []complex128 // [n/2 + 1]
}

func (s *slowTransforms) acquire() *slowTransform {
	if t, ok := s.idle.Get().(*slowTransform); ok {
		return t
	}
	return &slowTransform{fourier.NewFFT(s.n), make([]float64, s.n), make([]complex128, s.n/2+1)}
}

// inverse writes the first len(x) samples of the sequence whose transform at frequency k is
// spectrum(k). It does not divide by n.
func (s *slowTransforms) inverse(x []float32, spectrum func(k int) complex128) {
	t := s.acquire()
	defer s.idle.Put(t)
	for k := range t.spectrum {
		t.spectrum[k] = spectrum(k)
	}
	t.fft.Sequence(t.sequence, t.spectrum)
	for i := range x {
		x[i] = float32(t.sequence[i])
	}
}

// forward calls each with the transform of x, followed by zeros, at the frequencies k ≤ n/2.
func (s *slowTransforms) forward(x []float32, each func(k int, g complex128)) {
	t := s.acquire()
	defer s.idle.Put(t)
	clear(t.sequence)
	for i, v := range x {
		t.sequence[i] = float64(v)
	}
	t.fft.Coefficients(t.spectrum, t.sequence)
	for k, g := range t.spectrum {
		each(k, g)
	}
}
