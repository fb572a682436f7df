package vek_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// step3 is the third update of a run.
var step3 = vek.AdamWParams{
	LR: 1e-2, WeightDecay: 0.05, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
	Correction1: 1 - 0.9*0.9*0.9, Correction2: 1 - 0.999*0.999*0.999,
}

// The inputs of adamW are p, m and v, which it updates, and g.
var adamW = pointwise{
	Outs: 3, Ins: 4, Updates: true, ULP: 8, Floor: 0x1p-126,
	Run: func(out, in [][]float32) { vek.AdamW(out[0], out[1], out[2], in[3], step3) },
	Truth: func(out, in []float64) {
		out[0], out[1], out[2] = torchAdamW(in[0], in[1], in[2], in[3], step3)
	},
	Scale: func(size, in []float64) {
		size[0], size[1], size[2] = torchAdamW(abs(in[0]), -abs(in[1]), in[2], -abs(in[3]), step3)
		size[1] = abs(size[1])
	},
	Draw: func(r *rand.Rand, arg int) float32 {
		if v := r.NormFloat64(); arg != 2 {
			return float32(v)
		} else {
			return float32(v * v)
		}
	},
}

func TestAdamW(t *testing.T) { adamW.Test(t) }

// torchAdamW is one update by the formulas of PyTorch's documentation of AdamW.
func torchAdamW(p, m, v, g float64, h vek.AdamWParams) (p1, m1, v1 float64) {
	p *= 1 - h.LR*h.WeightDecay
	m = h.Beta1*m + (1-h.Beta1)*g
	v = h.Beta2*v + (1-h.Beta2)*g*g
	mHat, vHat := m/h.Correction1, v/h.Correction2
	return p - h.LR*mHat/(math.Sqrt(vHat)+h.Eps), m, v
}

func TestAdamWCases(t *testing.T) {
	inf := float32(math.Inf(-1))
	tests := []struct {
		name       string
		p, m, v, g float32
	}{
		{"−Inf stays", inf, 0, 0, 0},
		{"no gradient, only decay", 2, 0, 0, 0},
		{"first gradient, tiny", 1, 0, 0, 1e-12},
		{"first gradient, huge", 1, 0, 0, 1e15},
		{"negative gradient", 1, 0.5, 0.25, -3},
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, test := range tests {
			p, m, v, g := []float32{test.p}, []float32{test.m}, []float32{test.v}, []float32{test.g}
			vek.AdamW(p, m, v, g, step3)
			p1, m1, v1 := torchAdamW(float64(test.p), float64(test.m), float64(test.v), float64(test.g), step3)
			for i, want := range []float64{p1, m1, v1} {
				if got := []float32{p[0], m[0], v[0]}[i]; !(ulps(got, want, want) <= 8) {
					t.Errorf("%s: output %d is %v, expected %v", test.name, i, got, want)
				}
			}
		}
	})
}

// Twenty steps, each with its corrections, give the result of twenty steps in float64.
func TestAdamWRun(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		h := step3
		p, m, v := []float32{1, -2, 0.5}, make([]float32, 3), make([]float32, 3)
		want, wm, wv := []float64{1, -2, 0.5}, make([]float64, 3), make([]float64, 3)
		for step := 1; step <= 20; step++ {
			h.Correction1 = 1 - math.Pow(h.Beta1, float64(step))
			h.Correction2 = 1 - math.Pow(h.Beta2, float64(step))
			g := []float32{2 * p[0], float32(math.Sin(float64(step))), 1e-3}
			for i := range want {
				want[i], wm[i], wv[i] = torchAdamW(want[i], wm[i], wv[i], float64(g[i]), h)
			}
			vek.AdamW(p, m, v, g, h)
		}
		for i := range p {
			if math.Abs(float64(p[i])-want[i]) > 2e-6 {
				t.Errorf("p[%d] = %v, expected %v", i, p[i], want[i])
			}
		}
	})
}

// The moments of a weight without gradient do not become denormal numbers, which would slow down
// every later step.
func TestAdamWFlushesMoments(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, level vek.Level) {
		if level == vek.Generic {
			t.Skip("plain Go keeps them")
		}
		p, m, v, g := []float32{1}, []float32{1e-30}, []float32{1e-36}, []float32{0}
		for range 2000 {
			vek.AdamW(p, m, v, g, step3)
		}
		for i, x := range []float32{m[0], v[0]} {
			if x != 0 && x < 0x1p-126 {
				t.Errorf("moment %d is %v, a denormal number", i+1, x)
			}
		}
	})
}
