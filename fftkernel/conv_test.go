package fftkernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// directConv is the definition, in float64.
func directConv(u, k0, k1 []float32) []float64 {
	y := make([]float64, len(u))
	for l := range y {
		for j := 0; j < len(k0) && j <= l; j++ {
			y[l] += float64(k0[j]) * float64(u[l-j])
		}
		for j := 0; j < len(k1) && l+1+j < len(u); j++ {
			y[l] += float64(k1[j]) * float64(u[l+1+j])
		}
	}
	return y
}

// directGrad is its backward pass: ∂loss/∂u, ∂k0 and ∂k1 from ∂loss/∂y = dy.
func directGrad(dy, u, k0, k1 []float32) (du, dk0, dk1 []float64) {
	du, dk0, dk1 = make([]float64, len(u)), make([]float64, len(k0)), make([]float64, len(k1))
	for l := range dy {
		d := float64(dy[l])
		for j := 0; j < len(k0) && j <= l; j++ {
			du[l-j] += d * float64(k0[j])
			dk0[j] += d * float64(u[l-j])
		}
		for j := 0; j < len(k1) && l+1+j < len(u); j++ {
			du[l+1+j] += d * float64(k1[j])
			dk1[j] += d * float64(u[l+1+j])
		}
	}
	return du, dk0, dk1
}

// l2 returns the relative L2 distance.
func l2(got []float32, want []float64) float64 {
	norm := 0.0
	for _, w := range want {
		norm += w * w
	}
	if norm == 0 {
		norm = 1
	}
	return distance(got, want) / math.Sqrt(norm)
}

type convCase struct {
	seqLen, kernelLen int
	bidirectional     bool
}

func convCases() []convCase {
	var cases []convCase
	// Rows of 32 and 256 samples are read and written in place.
	lengths := []int{1, 2, 3, 5, 7, 8, 32, 100, 256, 427}
	if !testing.Short() {
		lengths = append(lengths, 1000, 4000)
	}
	for _, l := range lengths {
		for _, k := range []int{1, l/3 + 1, l, 2 * l} {
			cases = append(cases, convCase{l, k, false}, convCase{l, k, true})
		}
	}
	return cases
}

func (c convCase) String() string {
	return fmt.Sprintf("L=%d/taps=%d/bidirectional=%t", c.seqLen, c.kernelLen, c.bidirectional)
}

func (c convCase) kernels() (k0, k1 []float32) {
	if c.bidirectional {
		k1 = noise(c.kernelLen, 11)
	}
	return noise(c.kernelLen, 10), k1
}

// dirty returns scratch full of NaNs: nothing may be read before it is written.
func dirty(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(math.NaN())
	}
	return s
}

const convTolerance = 1e-6

func TestConvAgainstDefinition(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, c := range convCases() {
			conv := NewConv(c.seqLen, c.kernelLen, c.bidirectional)
			scratch, khat := dirty(conv.ScratchLen()), dirty(conv.SpectrumLen())
			k0, k1 := c.kernels()
			conv.Spectrum(khat, k0, k1)
			u0, u1 := noise(c.seqLen, 1), noise(c.seqLen, 2)
			y0, y1 := dirty(c.seqLen), dirty(c.seqLen)
			conv.Convolve(Rows{y0, y1}, Rows{u0, u1}, khat, scratch)
			if e0, e1 := l2(y0, directConv(u0, k0, k1)), l2(y1, directConv(u1, k0, k1)); !(e0 < convTolerance && e1 < convTolerance) {
				t.Errorf("%v: relative errors %.3g, %.3g", c, e0, e1)
			}
			short := (c.seqLen + 1) / 2 // a shorter row, alone and in place
			row := noise(short, 1)
			want := directConv(row, k0, k1)
			conv.Convolve(Rows{row}, Rows{row}, khat, scratch)
			if e := l2(row, want); !(e < convTolerance) {
				t.Errorf("%v: short row alone: relative error %.3g", c, e)
			}
		}
	})
}

func TestConvGradAgainstDefinition(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, c := range convCases() {
			conv := NewConv(c.seqLen, c.kernelLen, c.bidirectional)
			scratch, khat := dirty(conv.ScratchLen()), dirty(conv.SpectrumLen())
			acc := make([]float32, conv.SpectrumLen())
			k0, k1 := c.kernels()
			conv.Spectrum(khat, k0, k1)
			want0, want1 := make([]float64, len(k0)), make([]float64, len(k1))
			energy := 0.0 // Σ ‖u‖²‖dy‖²: every tap's rounding error is relative to its root over √n
			for pair := range 2 {
				u := [2][]float32{noise(c.seqLen, 4*pair), noise(c.seqLen, 4*pair+1)}
				dy := [2][]float32{noise(c.seqLen, 4*pair+2), noise(c.seqLen, 4*pair+3)}
				var wantU [2][]float64
				for i := range u {
					energy += sumSquares(u[i]) * sumSquares(dy[i])
					du, dk0, dk1 := directGrad(dy[i], u[i], k0, k1)
					wantU[i] = du
					addTo(want0, dk0)
					addTo(want1, dk1)
				}
				// du overwrites dy.
				conv.ConvolveGrad(Rows{dy[0], dy[1]}, Rows{dy[0], dy[1]}, Rows{u[0], u[1]}, acc, khat, scratch)
				for i := range dy {
					if e := l2(dy[i], wantU[i]); !(e < convTolerance) {
						t.Errorf("%v: du%d: relative error %.3g", c, i, e)
					}
				}
			}
			dk0 := dirty(len(k0))
			var dk1 []float32
			if c.bidirectional {
				dk1 = dirty(len(k1))
			}
			conv.KernelGrad(dk0, dk1, acc)
			limit := convTolerance * math.Sqrt(energy*float64(c.kernelLen)/float64(c.seqLen))
			if e0, e1 := distance(dk0, want0), distance(dk1, want1); !(e0 < limit && e1 < limit) {
				t.Errorf("%v: dk: errors %.3g, %.3g, expected below %.3g", c, e0, e1, limit)
			}
		}
	})
}

func sumSquares(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}

// distance returns the L2 distance.
func distance(got []float32, want []float64) float64 {
	s := 0.0
	for i, w := range want {
		s += (float64(got[i]) - w) * (float64(got[i]) - w)
	}
	return math.Sqrt(s)
}

func addTo(dst, src []float64) {
	for i, v := range src {
		dst[i] += v
	}
}
