package vek_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// pointwise describes a kernel whose outputs at i depend only on its inputs at i.
type pointwise struct {
	Outs, Ins int  // number of arguments; 0 outputs means 1
	Updates   bool // output o starts as input o and is the same memory
	Run       func(out, in [][]float32)

	// Truth is the formula for one element. The error is measured in units in the last place of
	// Scale, or of the result if Scale is nil. ULP 0 requires the float32 nearest to the truth.
	// Errors below Floor are ignored.
	Truth      func(out, in []float64)
	Scale      func(scale, in []float64)
	ULP, Floor float64

	Draw  func(r *rand.Rand, arg int) float32 // an input; nil draws standard normal numbers
	Alias [][]int                             // permitted: the input that an output may be, or −1
}

// Test tests the kernel at every level, size, placement and alias. At one level the result for an
// element must always have the same bits.
func (p pointwise) Test(t *testing.T) {
	t.Helper()
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) { p.check(t) })
}

func (p pointwise) check(tb testing.TB) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	in := make([][]float32, p.Ins)
	for a := range in {
		in[a] = make([]float32, largestSize)
		for i := range in[a] {
			in[a][i] = p.draw(r, a)
		}
	}
	want, _ := p.call(tb, newCall(tb), in, p.aliases()[0])
	if !p.accurate(tb, in, want) {
		return
	}
	for _, alias := range p.aliases() {
		c := newCall(tb)
		for _, n := range sizes() {
			for _, at := range placements() {
				c.Begin(at)
				got, ok := p.call(tb, c, heads(in, n), alias)
				if err := same(got, heads(want, n)); err != nil || !ok {
					tb.Errorf("n = %d, placement %d, alias %v: %v", n, at, alias, err)
					return
				}
			}
		}
	}
}

func (p pointwise) outs() int { return max(p.Outs, 1) }

func (p pointwise) draw(r *rand.Rand, arg int) float32 {
	if p.Draw == nil {
		return float32(r.NormFloat64())
	}
	return p.Draw(r, arg)
}

// aliases lists the permitted aliases; the first has none.
func (p pointwise) aliases() [][]int {
	plain := make([]int, p.outs())
	for o := range plain {
		plain[o] = -1
		if p.Updates {
			plain[o] = o
		}
	}
	return append([][]int{plain}, p.Alias...)
}

// call runs the kernel once and returns its outputs.
func (p pointwise) call(tb testing.TB, c *kernelCall, in [][]float32, alias []int) (out [][]float32, ok bool) {
	tb.Helper()
	c.Again()
	args := make([][]float32, p.Ins)
	out = make([][]float32, p.outs())
	for o, a := range alias {
		if a >= 0 {
			args[a] = c.InOut(in[a])
			out[o] = args[a]
		}
	}
	for a := range args {
		if args[a] == nil {
			args[a] = c.In(in[a])
		}
	}
	for o := range out {
		if alias[o] < 0 {
			out[o] = c.Out(len(in[0]))
		}
	}
	ok = c.Do(func() { p.Run(out, args) })
	return out, ok
}

// accurate compares outputs with the formula.
func (p pointwise) accurate(tb testing.TB, in, out [][]float32) bool {
	tb.Helper()
	x, want, scale := make([]float64, p.Ins), make([]float64, p.outs()), make([]float64, p.outs())
	for i := range out[0] {
		for a := range x {
			x[a] = float64(in[a][i])
		}
		p.Truth(want, x)
		copy(scale, want)
		if p.Scale != nil {
			p.Scale(scale, x)
		}
		for o := range want {
			if err := p.judge(out[o][i], want[o], scale[o]); err != nil {
				tb.Errorf("element %d: output %d of %v: %v", i, o, x, err)
				return false
			}
		}
	}
	return true
}

func (p pointwise) judge(got float32, want, scale float64) error {
	switch {
	case p.ULP == 0 && (got == float32(want) || got != got && want != want):
		return nil
	case p.ULP == 0:
		return fmt.Errorf("got %v, expected %v", got, float32(want))
	case p.Scale != nil && !(scale < 0x1p127): // a term overflows or is NaN
		return nil
	case math.Abs(float64(got)-want) <= p.Floor:
		return nil
	}
	if e := ulps(got, want, scale); !(e <= p.ULP) {
		return fmt.Errorf("got %v, expected %v: %.3g ulp of %.3g, expected ≤ %g", got, want, e, scale, p.ULP)
	}
	return nil
}
