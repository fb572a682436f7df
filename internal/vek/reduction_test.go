package vek_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// reduction describes a kernel that sums one term per element.
type reduction struct {
	Ins  int
	Run  func(in [][]float32) float32
	Term func(in []float64) float64
	// Error bounds the error in units of epsilon·Σ|terms|. 0 means n+8, the bound for any order of
	// summation.
	Error float64
}

// Test tests the kernel at every level, size and placement. The placement must not change the bits.
func (k reduction) Test(t *testing.T) {
	t.Helper()
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) { k.check(t) })
}

func (k reduction) check(tb testing.TB) {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	c := newCall(tb)
	for _, offset := range []float32{0, 100} { // terms of both signs, then of one
		for _, n := range sizes() {
			in := make([][]float32, k.Ins)
			for a := range in {
				in[a] = make([]float32, n)
				for i := range in[a] {
					in[a][i] = float32(r.NormFloat64()) + offset
				}
			}
			var first float32
			for i, at := range placements() {
				c.Begin(at)
				got, ok := k.call(c, in)
				if i == 0 {
					first = got
				}
				err := k.judge(in, got)
				if err == nil && got != first {
					err = fmt.Errorf("got %v, and %v at another placement", got, first)
				}
				if err != nil || !ok {
					tb.Errorf("n = %d, placement %d: %v", n, at, err)
					return
				}
			}
		}
	}
}

func (k reduction) call(c *kernelCall, in [][]float32) (got float32, ok bool) {
	args := make([][]float32, k.Ins)
	for a := range args {
		args[a] = c.In(in[a])
	}
	ok = c.Do(func() { got = k.Run(args) })
	return got, ok
}

func (k reduction) judge(in [][]float32, got float32) error {
	x := make([]float64, k.Ins)
	sum, size := 0.0, 0.0
	for i := range in[0] {
		for a := range x {
			x[a] = float64(in[a][i])
		}
		v := k.Term(x)
		sum += v
		size += math.Abs(v)
	}
	if !(size < 0x1p127) {
		return nil // a partial sum may overflow or be NaN
	}
	bound := k.Error
	if bound == 0 {
		bound = float64(len(in[0]) + 8)
	}
	bound = bound*epsilon*size + float64(len(in[0])+1)*0x1p-149
	if !(math.Abs(float64(got)-sum) <= bound) {
		return fmt.Errorf("got %v, expected %v ± %.3g", got, sum, bound)
	}
	return nil
}

// same compares the bits of outputs. All NaNs are equal.
func same(got, want [][]float32) error {
	for o := range want {
		for i, w := range want[o] {
			if g := got[o][i]; math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
				return fmt.Errorf("output %d, element %d: got %v, and %v in another call", o, i, g, w)
			}
		}
	}
	return nil
}

func heads(x [][]float32, n int) [][]float32 {
	h := make([][]float32, len(x))
	for i := range x {
		h[i] = x[i][:n]
	}
	return h
}
