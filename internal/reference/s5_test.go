package reference_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/reference"
)

func TestGoldenS5(t *testing.T) {
	for name, g := range golden.Scans(t, "s5") {
		t.Run(name, func(t *testing.T) {
			p := g.Parameters
			l := &reference.S5{
				H: g.Config.H, P: g.Config.P, Bilinear: g.Config.Discretisation == "bilinear",
				Clip: g.Config.ClipEigs, StepScale: g.Config.StepScale,
				LambdaRe: p["Lambda_re"], LambdaIm: p["Lambda_im"], LogStep: p["log_step"],
				B: pairs(p["B"]), D: p["D"],
			}
			l.C = goldenC(g, p)
			x, cotangent := golden.LayerInput(g.Config.Batch, g.Config.H, g.Config.L)
			nearAll(t, "y", l.Forward(x, g.Config.L), g.Y)
			grads, dx := l.Backward(x, cotangent, g.Config.L)
			c := goldenC(g, g.Gradients)
			delete(g.Gradients, "C1")
			delete(g.Gradients, "C2")
			g.Gradients["C"] = parts(c)
			compareScan(t, g, dx, map[string][]float64{
				"Lambda_re": grads.LambdaRe, "Lambda_im": grads.LambdaIm, "log_step": grads.LogStep,
				"B": parts(grads.B), "C": parts(grads.C), "D": grads.D,
			})
		})
	}
}

// goldenC returns C as [directions][H][P]. Two directions are stored as C1 and C2, or as one C
// [H][2P] with the forward direction first.
func goldenC(g *golden.Scan, tensors map[string]golden.Nested) []complex128 {
	if c, ok := tensors["C1"]; ok {
		return pairs(slices.Concat(c, tensors["C2"]))
	}
	c := pairs(tensors["C"])
	if !g.Config.Bidirectional {
		return c
	}
	var first, second []complex128
	for row := range slices.Chunk(c, 2*g.Config.P) {
		first, second = append(first, row[:g.Config.P]...), append(second, row[g.Config.P:]...)
	}
	return append(first, second...)
}

// randomS5 returns a small layer in two directions. One real part is clipped if clip is set.
func randomS5(r *rand.Rand, bilinear, clip bool) *reference.S5 {
	return &reference.S5{
		H: 2, P: 3, Bilinear: bilinear, Clip: clip, StepScale: 2,
		LambdaRe: []float64{-0.5, 0.2, -0.1}, LambdaIm: []float64{-3, -1, 0},
		LogStep: []float64{-1, -2, -3}, // of ZOH, |ΔΛ| is on both sides of zohFactor's limit of 0.5
		B:       complexes(normals(r, 6), normals(r, 6)), C: complexes(normals(r, 12), normals(r, 12)),
		D: normals(r, 2),
	}
}

func TestS5GradientsByDifferences(t *testing.T) {
	for _, bilinear := range []bool{false, true} {
		for _, clip := range []bool{false, true} {
			t.Run(fmt.Sprintf("bilinear=%v,clip=%v", bilinear, clip), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				l := randomS5(r, bilinear, clip)
				x := normals(r, 3*2*5) // 3 sequences of 5 samples
				forward := func() []float64 { return l.Forward(x, 5) }
				_, dy := loss(forward())
				g, dx := l.Backward(x, dy, 5)
				checkSlopes(t, forward, s5Tensors(l, x), s5Tensors(g, dx))
			})
		}
	}
}

func s5Tensors(l *reference.S5, x []float64) map[string]any {
	return map[string]any{
		"Re Λ": l.LambdaRe, "Im Λ": l.LambdaIm, "log Δ": l.LogStep, "B": l.B, "C": l.C, "D": l.D, "x": x,
	}
}

// A sequence that ends with zeros has the outputs and gradients of the shorter sequence alone.
func TestS5Lengths(t *testing.T) {
	const long, short = 7, 4
	r := rand.New(rand.NewPCG(5, 6))
	l := randomS5(r, false, true)
	x, dy := normals(r, 2*short), normals(r, 2*short)
	y := l.Forward(x, short)
	g, dx := l.Backward(x, dy, short)
	padded, dPadded := padRows(x, short, long), padRows(dy, short, long)
	gPadded, dxPadded := l.Backward(padded, dPadded, long)
	nearAll(t, "y", cutRows(l.Forward(padded, long), long, short), y)
	nearAll(t, "∂x", cutRows(dxPadded, long, short), dx)
	want := s5Tensors(g, nil)
	for name, tensor := range s5Tensors(gPadded, nil) {
		switch v := tensor.(type) {
		case []float64:
			nearAll(t, name, v, want[name].([]float64))
		case []complex128:
			nearAll(t, name, parts(v), parts(want[name].([]complex128)))
		}
	}
}

func padRows(x []float64, from, to int) (y []float64) {
	for row := range slices.Chunk(x, from) {
		y = append(append(y, row...), make([]float64, to-from)...)
	}
	return y
}

func cutRows(x []float64, from, to int) (y []float64) {
	for row := range slices.Chunk(x, from) {
		y = append(y, row[:to]...)
	}
	return y
}

// pairs returns the complex numbers of (real, imaginary) pairs.
func pairs(x []float64) (z []complex128) {
	for p := range slices.Chunk(x, 2) {
		z = append(z, complex(p[0], p[1]))
	}
	return z
}

func parts(z []complex128) (x []float64) {
	for _, v := range z {
		x = append(x, real(v), imag(v))
	}
	return x
}
