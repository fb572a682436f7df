package ssm

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// energyOf adds up K[k]·K[l]·r^|k−l| of SSM h's impulse responses by a row of C, for every input.
func energyOf(g *ModeGains, h int, c []complex128) (sum float64) {
	const taps = 50
	for input := range g.Width {
		before := 0.0 // Σ K[k]·r^(l−k) over k < l
		for l := range taps {
			k := 0.0
			for n, w := range c {
				i := h*g.M + n
				k += real(w * g.Input[i*g.Width+input] * cmplx.Exp(complex(float64(l), 0)*g.LogLambda[i]))
			}
			sum += k*k + 2*k*before
			before = inputCorrelation * (before + k)
		}
	}
	return sum
}

// fitWithout returns the least energy of the change of an output without some modes. It moves one
// coordinate of C at a time to where the energy is least.
func fitWithout(g *ModeGains, h int, c []complex128, removed ...int) (least float64) {
	change := make([]complex128, len(c))
	for _, n := range removed {
		change[n] = c[n]
	}
	for range 120 {
		for n := range c {
			for _, step := range []complex128{1, 1i} {
				if slices.Contains(removed, n) {
					continue
				}
				at, more, less := energyOf(g, h, change), 0.0, 0.0
				change[n] += step
				more = energyOf(g, h, change)
				change[n] -= 2 * step
				less = energyOf(g, h, change)
				change[n] += step
				if bend := more + less - 2*at; bend > 1e-9 {
					change[n] -= step * complex((more-less)/(2*bend), 0)
				}
			}
		}
	}
	return energyOf(g, h, change)
}

// Reduce removes the mode without which the least energy is lost, and then fits C. The reference
// uses impulse responses only.
func TestReduce(t *testing.T) {
	g := &ModeGains{SSMs: 2, M: 4, Width: 2, Input: make([]complex128, 16), LogLambda: []complex128{-1, -1, -1, -1, -0.3 + 0.3i, -0.35 + 2i, -0.5, -0.4 + 0.9i}}
	draw, rows := random.New(1, 0, 0, 0), [][]complex128{make([]complex128, 4), make([]complex128, 4)}
	drawComplex(g.Input, draw, 0, 1)
	g.Input[12], g.Input[13] = 1, 2 // with a real pole: Im C has no effect
	whole := 0.0
	for r, c := range rows {
		drawComplex(c, draw, uint64(100+100*r), 1)
		whole += energyOf(g, 1, c)
	}
	before := [][]complex128{slices.Clone(rows[0]), slices.Clone(rows[1])}
	kept, energy, lost := g.Reduce(1, 3, rows)
	best, least := 0, math.Inf(1)
	for n := range g.M {
		if e := fitWithout(g, 1, before[0], n) + fitWithout(g, 1, before[1], n); e < least {
			best, least = n, e
		}
	}
	if len(kept) != 3 || slices.Contains(kept, best) || !slices.IsSorted(kept) {
		t.Errorf("modes %v are kept, and %d should be removed", kept, best)
	}
	if math.Abs(energy-whole) > 1e-6*whole || math.Abs(lost-least) > 1e-6*whole {
		t.Errorf("%g of %g is lost, expected %g of %g", lost, energy, least, whole)
	}
	kept, _, more := g.Reduce(1, 2, rows)
	removed := slices.DeleteFunc([]int{0, 1, 2, 3}, func(n int) bool { return slices.Contains(kept, n) })
	want := fitWithout(g, 1, before[0], removed...) + fitWithout(g, 1, before[1], removed...)
	got := 0.0
	for r, c := range rows {
		for n := range c {
			if c[n] -= before[r][n]; slices.Contains(removed, n) && c[n] != -before[r][n] {
				t.Errorf("C of mode %d is not 0", n)
			}
		}
		got += energyOf(g, 1, c)
	}
	if math.Abs(got-want) > 1e-6*whole || math.Abs(lost+more-want) > 1e-6*whole {
		t.Errorf("modes %v: %g is lost, and %g by Reduce, expected %g", kept, got, lost+more, want)
	}
}

// One of two modes with the same pole takes the weight of both. A weak mode that does not decay
// changes nothing else, and neither does one without an input.
func TestReduceDegenerate(t *testing.T) {
	a := -0.2 + 1i
	g := &ModeGains{SSMs: 1, M: 4, Width: 1, LogLambda: []complex128{a, a, 2i, a / 2}, Input: []complex128{1, 1, 1, 0}}
	c := []complex128{2, 3i, 1e-9, 1}
	kept, energy, lost := g.Reduce(0, 1, [][]complex128{c})
	if len(kept) != 1 || kept[0] > 1 || cmplx.Abs(c[kept[0]]-(2+3i)) > 1e-5 || !(lost < 1e-6*energy) {
		t.Errorf("modes %v are kept with C = %v, and %g of %g is lost", kept, c, lost, energy)
	}
}
