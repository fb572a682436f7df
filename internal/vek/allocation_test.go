package vek_test

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func TestKernelsAllocateNothing(t *testing.T) {
	const n = 100
	r := generator(1)
	x, y, z, out, out2 := normals(r, n), normals(r, n), normals(r, n), make([]float32, n), make([]float32, n)
	a, b, c := matrix(r, 10, 10), matrix(r, 10, 10), matrix(r, 10, 10)
	s, block := newSystems(r, 1, 30), vek.MatrixOf(x, 1, n)
	scratch, states, positions := make([]float32, s.ScratchLen(n)), [][]float32{make([]float32, s.StateLen())}, make([]int64, 1)
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for name, call := range map[string]func(){
			"Add":                 func() { vek.Add(out, x, y) },
			"Axpy":                func() { vek.Axpy(out, 1, x) },
			"CExp":                func() { vek.CExp(out, out2, x, y) },
			"GELU":                func() { vek.GELU(out, x) },
			"GELUTanh":            func() { vek.GELUTanh(out, x) },
			"GLU":                 func() { vek.GLU(out, x, y) },
			"GLUGrad":             func() { vek.GLUGrad(out, out2, x, y, z) },
			"Sum":                 func() { out[0] = vek.Sum(x) },
			"Dot":                 func() { out[0] = vek.Dot(x, y) },
			"SoftmaxCrossEntropy": func() { out[0] = vek.SoftmaxCrossEntropy(out2, x, 3) },
			"AdamW":               func() { vek.AdamW(out, x, z, y, step3) },
			"LookAhead":           func() { s.Run(block, block, states, positions, scratch) },
			"LayerNorm":           func() { vek.LayerNorm(c, a, x[:10], y[:10], out, out2, 1) },
			"LayerNormGrad":       func() { vek.LayerNormGrad(c, a, b, x[:10], y[:10], z[:10], out[:10], out2[:10], scratch) },
		} {
			must.Equal(t, testing.AllocsPerRun(10, call), 0, "%s: allocations", name)
		}
	})
}
