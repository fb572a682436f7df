package vek_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// Scalars that are not powers of two, rounded to float32.
const (
	alpha float32 = 1.7
	beta  float32 = -0.3
	gamma float32 = 0.9

	alpha64, beta64, gamma64 = float64(alpha), float64(beta), float64(gamma)
)

var (
	add = pointwise{
		Ins: 2, Alias: [][]int{{0}, {1}},
		Run:   func(out, in [][]float32) { vek.Add(out[0], in[0], in[1]) },
		Truth: func(out, in []float64) { out[0] = in[0] + in[1] },
	}
	mul = pointwise{
		Ins: 2, Alias: [][]int{{0}, {1}},
		Run:   func(out, in [][]float32) { vek.Mul(out[0], in[0], in[1]) },
		Truth: func(out, in []float64) { out[0] = in[0] * in[1] },
	}
	prefetch = pointwise{ // must not fault next to a guard page
		Ins:   1,
		Run:   func(out, in [][]float32) { vek.Prefetch(in[0]); copy(out[0], in[0]) },
		Truth: func(out, in []float64) { out[0] = in[0] },
	}
	fill = pointwise{
		Ins: 1, Updates: true, // the previous values must not matter
		Run:   func(out, _ [][]float32) { vek.Fill(out[0], alpha) },
		Truth: func(out, _ []float64) { out[0] = alpha64 },
	}
	scale = pointwise{
		Ins: 1, Alias: [][]int{{0}},
		Run:   func(out, in [][]float32) { vek.Scale(out[0], alpha, in[0]) },
		Truth: func(out, in []float64) { out[0] = alpha64 * in[0] },
	}
	scaleShift = pointwise{
		Ins: 1, Alias: [][]int{{0}}, ULP: 2,
		Run:   func(out, in [][]float32) { vek.ScaleShift(out[0], in[0], alpha, beta) },
		Truth: func(out, in []float64) { out[0] = alpha64*in[0] + beta64 },
		Scale: func(size, in []float64) { size[0] = abs(alpha64*in[0], beta64) },
	}
	axpy = pointwise{
		Ins: 2, Updates: true, ULP: 2,
		Run:   func(out, in [][]float32) { vek.Axpy(out[0], alpha, in[1]) },
		Truth: func(out, in []float64) { out[0] = in[0] + alpha64*in[1] },
		Scale: func(size, in []float64) { size[0] = abs(in[0], alpha64*in[1]) },
	}
	affineGrad = pointwise{
		Ins: 2, Alias: [][]int{{0}, {1}}, ULP: 3,
		Run:   func(out, in [][]float32) { vek.AffineGrad(out[0], in[0], in[1], alpha, beta, gamma) },
		Truth: func(out, in []float64) { out[0] = alpha64*in[0] + beta64*in[1] + gamma64 },
		Scale: func(size, in []float64) { size[0] = abs(alpha64*in[0], beta64*in[1], gamma64) },
	}
)

// abs returns the sum of the absolute values of terms.
func abs(terms ...float64) float64 {
	sum := 0.0
	for _, v := range terms {
		sum += math.Abs(v)
	}
	return sum
}

func TestAdd(t *testing.T)        { add.Test(t) }
func TestMul(t *testing.T)        { mul.Test(t) }
func TestPrefetch(t *testing.T)   { prefetch.Test(t) }
func TestFill(t *testing.T)       { fill.Test(t) }
func TestScale(t *testing.T)      { scale.Test(t) }
func TestScaleShift(t *testing.T) { scaleShift.Test(t) }
func TestAxpy(t *testing.T)       { axpy.Test(t) }
func TestAffineGrad(t *testing.T) { affineGrad.Test(t) }

func BenchmarkFill(b *testing.B)  { benchUnary(b, func(dst, _ []float32) { vek.Fill(dst, alpha) }) }
func BenchmarkScale(b *testing.B) { benchUnary(b, func(dst, x []float32) { vek.Scale(dst, alpha, x) }) }
func BenchmarkAxpy(b *testing.B)  { benchUnary(b, func(dst, x []float32) { vek.Axpy(dst, alpha, x) }) }

func BenchmarkScaleShift(b *testing.B) {
	benchUnary(b, func(dst, x []float32) { vek.ScaleShift(dst, x, alpha, beta) })
}

func BenchmarkAffineGrad(b *testing.B) {
	benchBinary(b, func(dst, x, y []float32) { vek.AffineGrad(dst, x, y, alpha, beta, gamma) })
}

// blockError bounds the error of a sum of any length in units of ε·Σ|terms|: that of 16 lanes over
// a block of 512.
const blockError = 38

var (
	sum = reduction{
		Ins: 1, Error: blockError,
		Run:  func(in [][]float32) float32 { return vek.Sum(in[0]) },
		Term: func(in []float64) float64 { return in[0] },
	}
	dot = reduction{
		Ins: 2, Error: blockError,
		Run:  func(in [][]float32) float32 { return vek.Dot(in[0], in[1]) },
		Term: func(in []float64) float64 { return in[0] * in[1] },
	}
	// The rounding of a difference adds the absolute value of its term to the bound.
	centralSquares = reduction{
		Ins: 1, Error: blockError + 2,
		Run:  func(in [][]float32) float32 { return vek.CentralSquares(in[0], alpha) },
		Term: func(in []float64) float64 { return (in[0] - alpha64) * (in[0] - alpha64) },
	}
	centralDot = reduction{
		Ins: 2, Error: blockError + 1,
		Run:  func(in [][]float32) float32 { return vek.CentralDot(in[0], in[1], alpha) },
		Term: func(in []float64) float64 { return in[0] * (in[1] - alpha64) },
	}
)

func TestSum(t *testing.T)            { sum.Test(t) }
func TestDot(t *testing.T)            { dot.Test(t) }
func TestCentralSquares(t *testing.T) { centralSquares.Test(t) }
func TestCentralDot(t *testing.T)     { centralDot.Test(t) }

func BenchmarkSum(b *testing.B) { benchUnary(b, func(dst, x []float32) { dst[0] = vek.Sum(x) }) }

func BenchmarkCentralSquares(b *testing.B) {
	benchUnary(b, func(dst, x []float32) { dst[0] = vek.CentralSquares(x, alpha) })
}

func BenchmarkCentralDot(b *testing.B) {
	benchBinary(b, func(dst, x, y []float32) { dst[0] = vek.CentralDot(x, y, alpha) })
}

// The error of a long sum of one sign stays near one rounding, since blocks are added in float64.
// With 16 lanes over the whole length it would be hundreds of ulp.
func TestLongSum(t *testing.T) {
	x, ones := make([]float32, 1<<20), make([]float32, 1<<20)
	want := 0.0
	for i := range x {
		x[i], ones[i] = 0.1+float32(i%7)/64, 1
		want += float64(x[i])
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for name, got := range map[string]float32{"Sum": vek.Sum(x), "Dot": vek.Dot(x, ones)} {
			if e := ulps(got, want, want); e > 8 {
				t.Errorf("%s of %d elements is off by %.1f ulp", name, len(x), e)
			}
		}
	})
}

// generator returns the source of a test's numbers.
func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

// normals returns n standard normal numbers.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// sameBits fails t at the first element whose bits differ from those expected.
func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, expected %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: element %d is %v, expected the bits of %v", what, i, got[i], want[i])
			return
		}
	}
}

// near is a sum in float64 and the sum of the absolute values of its terms.
type near struct {
	value, size float64
	n           int
	relative    float64 // error of a term
}

func (s *near) add(terms ...float64) {
	for _, v := range terms {
		s.value += v
		s.size += math.Abs(v)
		s.n++
	}
}

// check fails t if the error of got exceeds (n+8)·ε·Σ|terms|, the bound for any order of summation,
// and the errors of the terms.
func (s near) check(t testing.TB, got float32, format string, args ...any) bool {
	t.Helper()
	bound := (float64(s.n+8)*epsilon+s.relative)*s.size + 0x1p-126
	if !(math.Abs(float64(got)-s.value) <= bound) {
		t.Errorf(format+": got %v, expected %v ± %.3g", append(args, got, s.value, bound)...)
		return false
	}
	return true
}
