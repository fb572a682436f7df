package vek_test

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// useAMX selects level amx until t ends, and skips t where it is not available.
func useAMX(t *testing.T) {
	t.Helper()
	vektest.Levels(t) // checks S4D_REQUIRE_LEVELS
	if !slices.Contains(vek.Levels(), vek.AMX) {
		t.Skip("no level amx")
	}
	before := vek.CurrentLevel()
	t.Cleanup(func() { must.Do(t, vek.SetLevel(before)) })
	must.Do(t, vek.SetLevel(vek.AMX))
}

// Products on the matrix units, with every kind of edge.
func TestSplit(t *testing.T) {
	useAMX(t)
	c, r := newCall(t), generator(11)
	places := allPlacements()
	for _, m := range []int{0, 1, 31, 32, 33, 70} {
		for _, n := range []int{0, 1, 17, 64, 300} {
			for _, k := range []int{0, 1, 17, 32, 33, 300} {
				p := product{m: m, n: n, k: k, gap: r.IntN(2), split: true}
				p.transA, p.transB, p.acc = r.IntN(2) > 0, r.IntN(2) > 0, r.IntN(2) > 0
				c.Begin(places[r.IntN(len(places))])
				p.check(t, c, r)
			}
		}
	}
}

// Blocks of columns or rows have the bits of the whole product, and so have Weights, from when they
// are packed at level amx. Prefetches change nothing.
func TestSplitBits(t *testing.T) {
	useAMX(t)
	r := generator(12)
	const m, n, k = 70, 301, 290
	a, b, noBias := matrix(r, m, k), matrix(r, k, n), make([]float32, m)
	scratch := make([]float32, max(vek.GemmScratch(m, n, k), vek.GemmScratch(k, m, n)))
	got, want := matrix(r, m, n), matrix(r, m, n)
	vek.Gemm(want, a, b, vek.Split, scratch)
	for i := range m {
		row := vek.MatrixOf(got.Row(i), 1, n)
		for j := 0; j < n; j += 43 {
			w := min(43, n-j)
			vek.Gemm(columns(row, j, w), vek.MatrixOf(a.Row(i), 1, k), columns(b, j, w), vek.Split, scratch)
		}
	}
	sameBits(t, "blocks", got.Data, want.Data)
	must.Do(t, vek.SetLevel(vek.AVX512))
	vek.Gemm(want, a, b, vek.Split, scratch)
	w := vek.NewWeights(a, vek.ForProducts|vek.ForTransposedProducts|vek.ForSplitProducts)
	w.GemmBias(got, b, noBias, scratch)
	sameBits(t, "weights at level avx512", got.Data, want.Data)
	must.Do(t, vek.SetLevel(vek.AMX))
	vek.Gemm(want, a, b, vek.Split, scratch)
	w.Pack()
	w.GemmBias(got, b, noBias, scratch, b, columns(b, 3, 70))
	sameBits(t, "weights", got.Data, want.Data)
	turned, wantTurned := matrix(r, k, n), matrix(r, k, n)
	w.GemmTransposed(turned, want, vek.Plain, scratch, a)
	vek.Gemm(wantTurned, a, want, vek.TransposeA|vek.Split, scratch)
	sameBits(t, "transposed weights", turned.Data, wantTurned.Data)
	bias := normals(r, m)
	w.GemmBias(got, b, bias, scratch)
	for i, v := range got.Data {
		sum := float64(want.Data[i]) + float64(bias[i/n])
		if d := math.Abs(float64(v) - sum); !(d <= 1e-4) {
			t.Fatalf("with a bias, element %d: %v, expected %v", i, v, sum)
		}
	}
	must.Equal(t, testing.AllocsPerRun(3, func() {
		w.Pack()
		w.GemmBias(got, b, bias, scratch)
		vek.Gemm(want, a, b, vek.Split, scratch)
	}), 0, "allocations")
}

// A NaN stays in its row, and an infinity in its column.
func TestSplitContainsNaN(t *testing.T) {
	useAMX(t)
	r := generator(13)
	x, y, c := matrix(r, 40, 3), matrix(r, 3, 40), matrix(r, 40, 40)
	x.Row(35)[1], y.Row(2)[34] = float32(math.NaN()), float32(math.Inf(1))
	vek.Gemm(c, x, y, vek.Split, make([]float32, vek.GemmScratch(40, 40, 3)))
	for i := range c.Rows {
		for j, v := range c.Row(i) {
			if finite := v-v == 0; finite == (i == 35 || j == 34) {
				t.Errorf("c[%d][%d] = %v", i, j, v)
			}
		}
	}
}

// Signals, which preempt goroutines and start garbage collections, do not disturb the tiles.
func TestSplitPreempted(t *testing.T) {
	useAMX(t)
	r := generator(14)
	a, b, want := matrix(r, 256, 128), matrix(r, 128, 256), matrix(r, 256, 256)
	need := vek.GemmScratch(256, 256, 128)
	vek.Gemm(want, a, b, vek.Split, make([]float32, need))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c, scratch := vek.MatrixOf(make([]float32, 256*256), 256, 256), make([]float32, need)
			for i := range 60 {
				vek.Gemm(c, a, b, vek.Split, scratch)
				sameBits(t, "product", c.Data, want.Data)
				if i%20 == 0 {
					runtime.GC()
				}
			}
		})
	}
	all.Wait()
}
