package reference_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/reference"
)

// scanTolerance is that of gradients of golden layers, relative to the tensor's largest entry. The
// golden program computes (λ−1)/Λ by this formula, which loses digits for small ΔΛ: against 40
// digits, its gradient of Re Λ in one_block_zoh is off by 8.3e-14. Everything else agrees to 4e-14.
const scanTolerance = 1e-13

func TestGoldenLRU(t *testing.T) {
	for name, g := range golden.Scans(t, "lru") {
		t.Run(name, func(t *testing.T) {
			p := g.Parameters
			l := &reference.LRU{
				H: g.Config.H, N: g.Config.N, D: p["D"],
				NuLog: p["nu_log"], ThetaLog: p["theta_log"], GammaLog: p["gamma_log"],
				B: complexes(p["B_re"], p["B_im"]), C: complexes(p["C_re"], p["C_im"]),
			}
			x, cotangent := golden.LayerInput(g.Config.Batch, g.Config.H, g.Config.L)
			nearAll(t, "y", l.Forward(x, g.Config.L), g.Y)
			grads, dx := l.Backward(x, cotangent, g.Config.L)
			compareScan(t, g, dx, map[string][]float64{
				"nu_log": grads.NuLog, "theta_log": grads.ThetaLog, "gamma_log": grads.GammaLog,
				"B_re": reals(grads.B), "B_im": imags(grads.B),
				"C_re": reals(grads.C), "C_im": imags(grads.C), "D": grads.D,
			})
		})
	}
}

func TestLRUGradientsByDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := &reference.LRU{
		H: 2, N: 3, D: normals(r, 2),
		NuLog: []float64{-2, -0.5, 0.3}, ThetaLog: []float64{-1.5, 0.2, 1}, GammaLog: []float64{-1, 0.1, 0},
		B: complexes(normals(r, 6), normals(r, 6)), C: complexes(normals(r, 6), normals(r, 6)),
	}
	x := normals(r, 3*2*5) // 3 sequences of 5 samples
	forward := func() []float64 { return l.Forward(x, 5) }
	_, dy := loss(forward())
	g, dx := l.Backward(x, dy, 5)
	checkSlopes(t, forward, lruTensors(l, x), lruTensors(g, dx))
}

func lruTensors(l *reference.LRU, x []float64) map[string]any {
	return map[string]any{
		"ν": l.NuLog, "θ": l.ThetaLog, "γ": l.GammaLog, "B": l.B, "C": l.C, "D": l.D, "x": x,
	}
}

// checkSlopes compares gradients with differences of the loss. Tensors are []float64 or
// []complex128.
func checkSlopes(t *testing.T, forward func() []float64, tensors, grads map[string]any) {
	t.Helper()
	for name, tensor := range tensors {
		switch x := tensor.(type) {
		case []float64:
			for i, g := range grads[name].([]float64) {
				checkSlope(t, name, g, forward, func(h float64) { x[i] += h })
			}
		case []complex128:
			for i, g := range grads[name].([]complex128) {
				checkSlope(t, name, real(g), forward, func(h float64) { x[i] += complex(h, 0) })
				checkSlope(t, name, imag(g), forward, func(h float64) { x[i] += complex(0, h) })
			}
		}
	}
}

// checkSlope compares a gradient with the central difference of the loss, extrapolated from two
// steps.
func checkSlope(t *testing.T, name string, got float64, forward func() []float64, add func(float64)) {
	t.Helper()
	slope := func(h float64) float64 {
		add(h)
		up, _ := loss(forward())
		add(-2 * h)
		down, _ := loss(forward())
		add(h)
		return (up - down) / (2 * h)
	}
	want := (4*slope(1e-4) - slope(2e-4)) / 3
	if !(math.Abs(got-want) < 1e-8*(1+math.Abs(want))) {
		t.Errorf("%s: gradient %.10g, by differences %.10g", name, got, want)
	}
}

// compareScan compares gradients with the golden ones by their names, and ∂loss/∂x of sequence 0.
func compareScan(t *testing.T, g *golden.Scan, dx []float64, grads map[string][]float64) {
	t.Helper()
	if len(grads) != len(g.Gradients) {
		t.Errorf("%d gradients, golden %d", len(grads), len(g.Gradients))
	}
	grads["x"] = dx[:g.Config.H*g.Config.L]
	g.Gradients["x"] = g.GradientX
	for name, want := range g.Gradients {
		got := grads[name]
		if len(got) != len(want) {
			t.Fatalf("%s: %d gradients, golden %d", name, len(got), len(want))
		}
		var worst, largest float64
		for i, w := range want {
			worst, largest = max(worst, math.Abs(got[i]-w)), max(largest, math.Abs(w))
		}
		if !(worst < scanTolerance*largest) {
			t.Errorf("%s: error %.3g of the largest entry", name, worst/largest)
		}
	}
}

func nearAll(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) < 1e-10) {
			t.Errorf("%s[%d]: %.13g, golden %.13g", what, i, got[i], w)
		}
	}
}

func normals(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func complexes(re, im []float64) []complex128 {
	z := make([]complex128, len(re))
	for i := range z {
		z[i] = complex(re[i], im[i])
	}
	return z
}

func reals(z []complex128) (x []float64) {
	for _, v := range z {
		x = append(x, real(v))
	}
	return x
}

func imags(z []complex128) (x []float64) {
	for _, v := range z {
		x = append(x, imag(v))
	}
	return x
}
