package vek_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// benchElements benchmarks f at every level. A call processes n elements.
func benchElements(b *testing.B, name string, n int, f func()) {
	vektest.BenchEachLevel(b, name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
	})
}

const benchLen = 1024 // fits in the L1 cache

func benchUnary(b *testing.B, f func(dst, x []float32)) {
	dst, x := make([]float32, benchLen), normals(generator(1), benchLen)
	benchElements(b, fmt.Sprintf("n=%d", benchLen), benchLen, func() { f(dst, x) })
}

func benchBinary(b *testing.B, f func(dst, x, y []float32)) {
	y := normals(generator(2), benchLen)
	benchUnary(b, func(dst, x []float32) { f(dst, x, y) })
}

func BenchmarkAdd(b *testing.B)      { benchBinary(b, vek.Add) }
func BenchmarkGELU(b *testing.B)     { benchUnary(b, vek.GELU) }
func BenchmarkGELUTanh(b *testing.B) { benchUnary(b, vek.GELUTanh) }
func BenchmarkGELUTanhSlope(b *testing.B) {
	benchBinary(b, func(dst, x, y []float32) { vek.GELUTanhSlope(dst, y, x) })
}
func BenchmarkGELUSlope(b *testing.B) {
	benchBinary(b, func(dst, x, y []float32) { vek.GELUSlope(dst, y, x) })
}

func BenchmarkGLU(b *testing.B) { benchBinary(b, vek.GLU) }

func BenchmarkGLUGrad(b *testing.B) {
	db, dy := make([]float32, benchLen), normals(generator(3), benchLen)
	benchBinary(b, func(da, x, y []float32) { vek.GLUGrad(da, db, x, y, dy) })
}

func BenchmarkDot(b *testing.B) {
	benchBinary(b, func(dst, x, y []float32) { dst[0] = vek.Dot(x, y) })
}

func BenchmarkAdamW(b *testing.B) {
	p, m, v := make([]float32, benchLen), make([]float32, benchLen), make([]float32, benchLen)
	benchUnary(b, func(_, g []float32) { vek.AdamW(p, m, v, g, step3) })
}

// A tile of a training step. Its rows are an odd number of cache lines apart.
func benchTile(seed uint64) vek.Matrix {
	const rows, cols, stride = 128, 256, 65 * 16
	data := normals(generator(seed), rows*stride)
	return vek.Matrix{Data: data, Rows: rows, Cols: cols, Stride: stride}
}

func benchNorm(b *testing.B, f func(gamma, beta, mean, rstd []float32)) {
	tile, r := benchTile(6), generator(7)
	rows, cols := tile.Rows, tile.Cols
	gamma, beta, mean, rstd := normals(r, rows), normals(r, rows), normals(r, cols), normals(r, cols)
	benchElements(b, fmt.Sprintf("rows=%d/cols=%d", rows, cols), rows*cols, func() { f(gamma, beta, mean, rstd) })
}

func BenchmarkLayerNorm(b *testing.B) {
	x, y := benchTile(8), benchTile(9)
	benchNorm(b, func(gamma, beta, mean, rstd []float32) { vek.LayerNorm(y, x, gamma, beta, mean, rstd, normEps) })
}

func BenchmarkLayerNormGrad(b *testing.B) {
	x, dy, dx := benchTile(8), benchTile(9), benchTile(10)
	scratch, dgamma, dbeta := make([]float32, 2*x.Cols), make([]float32, x.Rows), make([]float32, x.Rows)
	benchNorm(b, func(gamma, _, mean, rstd []float32) {
		vek.LayerNormGrad(dx, dy, x, gamma, mean, rstd, dgamma, dbeta, scratch)
	})
}

// A chunk of positions, forward and backward.
func BenchmarkScan(b *testing.B) {
	const rows, modes = 256, 64
	for name, grad := range map[string]bool{"forward": false, "backward": true} {
		s := newRecurrences(generator(10), rows, modes)
		s.grad, s.backwards = grad, grad
		benchElements(b, fmt.Sprintf("%s/P=%d/rows=%d", name, modes, rows), rows*modes, s.run)
	}
}

// The three products of a linear layer on a tile, and the sizes at which libraries are compared.
func BenchmarkGemm(b *testing.B) {
	for _, p := range []product{
		{m: 256, n: 256, k: 128}, {m: 128, n: 256, k: 256, transA: true}, {m: 256, n: 128, k: 256, transB: true},
		{m: 128, n: 256, k: 64}, {m: 64, n: 256, k: 128, transA: true}, {m: 128, n: 64, k: 256, transB: true},
		{m: 256, n: 64, k: 128}, {m: 256, n: 1, k: 128},
		{m: 256, n: 1024, k: 128}, {m: 512, n: 1024, k: 256},
	} {
		r := generator(1)
		rows, cols := shape(p.transA, p.m, p.k)
		x := matrix(r, rows, cols)
		rows, cols = shape(p.transB, p.k, p.n)
		y, c, form := matrix(r, rows, cols), matrix(r, p.m, p.n), p.form()
		scratch := make([]float32, vek.GemmScratch(p.m, p.n, p.k))
		trans := "nn"
		if p.transA {
			trans = "tn"
		} else if p.transB {
			trans = "nt"
		}
		vektest.BenchEachLevel(b, fmt.Sprintf("m=%d/n=%d/k=%d/%s", p.m, p.n, p.k, trans), func(b *testing.B) {
			for b.Loop() {
				vek.Gemm(c, x, y, form, scratch)
			}
			b.ReportMetric(2*float64(p.m*p.n*p.k)/float64(b.Elapsed().Nanoseconds())*float64(b.N), "GFLOP/s")
		})
	}
}
