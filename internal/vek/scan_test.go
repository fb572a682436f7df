package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// recurrences are the arguments of Scan and ScanGrad, for rows of 2P values.
type recurrences struct {
	rows, past         vek.Matrix
	h, lambda, dLambda []float32
	lo, hi             int
	backwards, grad    bool
}

// newRecurrences draws P modes, |λ| between 0.4 and 1.
func newRecurrences(r *rand.Rand, rows, modes int) recurrences {
	s := recurrences{
		rows: vek.MatrixOf(normals(r, rows*2*modes), rows, 2*modes), past: vek.MatrixOf(normals(r, rows*2*modes), rows, 2*modes),
		h: normals(r, 2*modes), lambda: make([]float32, 2*modes), dLambda: normals(r, 2*modes), hi: modes,
	}
	for p := range modes {
		lam := cmplx.Exp(complex(-0.9*r.Float64()*r.Float64(), 6*r.Float64()))
		s.lambda[p], s.lambda[modes+p] = float32(real(lam)), float32(imag(lam))
	}
	return s
}

// clone returns recurrences with their own rows, state and gradient.
func (s recurrences) clone() recurrences {
	s.rows.Data = slices.Clone(s.rows.Data)
	s.h, s.dLambda = slices.Clone(s.h), slices.Clone(s.dLambda)
	return s
}

func (s recurrences) run() {
	if s.grad {
		vek.ScanGrad(s.rows, s.past, s.h, s.lambda, s.dLambda, s.lo, s.hi, vek.Direction(s.backwards))
	} else {
		vek.Scan(s.rows, s.h, s.lambda, s.lo, s.hi, vek.Direction(s.backwards))
	}
}

// part returns the recurrences for rows [from, to).
func (s recurrences) part(from, to int) recurrences {
	cut := func(m vek.Matrix) vek.Matrix {
		m.Data, m.Rows = m.Data[min(from*m.Stride, len(m.Data)):], to-from
		return m
	}
	s.rows, s.past = cut(s.rows), cut(s.past)
	return s
}

func (s recurrences) String() string {
	return fmt.Sprintf("%d rows, modes %d to %d of %d, backwards %t, grad %t", s.rows.Rows, s.lo, s.hi, len(s.h)/2, s.backwards, s.grad)
}

// complexNear is an expected complex number.
type complexNear struct {
	value complex128
	size  float64
	n     int
}

func (c complexNear) check(t *testing.T, got []float32, p int, format string, args ...any) {
	t.Helper()
	modes := len(got) / 2
	near{value: real(c.value), size: c.size, n: c.n}.check(t, got[p], "re "+format, args...)
	near{value: imag(c.value), size: c.size, n: c.n}.check(t, got[modes+p], "im "+format, args...)
}

// truth runs mode p in complex128.
func (s recurrences) truth(p int) (rows []complexNear, h, d complexNear) {
	modes := len(s.h) / 2
	at := func(x []float32) complex128 { return complex(float64(x[p]), float64(x[modes+p])) }
	lambda := at(s.lambda)
	if s.grad {
		lambda = cmplx.Conj(lambda)
	}
	rows = make([]complexNear, s.rows.Rows)
	h, d = complexNear{at(s.h), cmplx.Abs(at(s.h)), 1}, complexNear{at(s.dLambda), cmplx.Abs(at(s.dLambda)), 2}
	for i := range rows {
		t := i
		if s.backwards {
			t = len(rows) - 1 - i
		}
		x := at(s.rows.Row(t))
		h.value = lambda*h.value + x
		// Every step adds a few roundings of |h|; the bound of a sum counts them all.
		h.size = h.size*cmplx.Abs(lambda) + cmplx.Abs(x) + cmplx.Abs(h.value)/2
		rows[t] = h
		past := at(s.past.Row(t))
		d.value += h.value * cmplx.Conj(past)
		d.size += 2 * h.size * cmplx.Abs(past)
		d.n++
	}
	return rows, h, d
}

// check runs the recurrences in guarded memory and compares them with the truth.
func (s recurrences) check(t *testing.T, call *kernelCall, gap int) {
	t.Helper()
	call.Again()
	modes, got := len(s.h)/2, s
	got.rows = call.InOutMatrix(s.rows, 2*modes+gap)
	got.past = call.InMatrix(s.past, 2*modes+gap/2)
	got.h, got.lambda, got.dLambda = call.InOut(s.h), call.In(s.lambda), call.InOut(s.dLambda)
	call.Do(got.run)
	for p := range modes {
		rows, h, d := s.truth(p)
		if outside := p < s.lo || p >= s.hi; outside {
			rows, h = make([]complexNear, len(rows)), complexNear{value: complex(float64(s.h[p]), float64(s.h[modes+p]))}
			for i := range rows {
				rows[i].value = complex(float64(s.rows.Row(i)[p]), float64(s.rows.Row(i)[modes+p]))
			}
		}
		if !s.grad || p < s.lo || p >= s.hi {
			d = complexNear{value: complex(float64(s.dLambda[p]), float64(s.dLambda[modes+p]))}
		}
		for i, want := range rows {
			want.check(t, got.rows.Row(i), p, "%v: row %d, mode %d", s, i, p)
		}
		h.check(t, got.h, p, "%v: h[%d]", s, p)
		d.check(t, got.dLambda, p, "%v: dLambda[%d]", s, p)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestScan(t *testing.T) {
	eachCall(t, func(t *testing.T, call *kernelCall) {
		r := generator(1)
		for i, modes := range []int{0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 33, 65, 80} {
			for _, rows := range []int{0, 1, 2, 12, 17} {
				s := newRecurrences(r, rows, modes)
				s.backwards, s.grad = (i+rows)%2 == 0, (i+rows)%4 > 1
				if modes > 4 && rows == 17 {
					s.lo, s.hi = 1+i%3, modes-i%2
				}
				s.check(t, call, i%5)
				s.grad = !s.grad
				s.check(t, call, i%4)
			}
		}
	})
}

// Any division of the rows, and of the modes, gives the same bits.
func TestScanDivisions(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(2)
		for _, modes := range []int{1, 5, 16, 33, 70} {
			for _, grad := range []bool{false, true} {
				for _, backwards := range []bool{false, true} {
					const rows = 150
					whole := newRecurrences(r, rows, modes)
					whole.grad, whole.backwards = grad, backwards
					parts := whole.clone()
					whole.run()
					for from := 0; from < modes; {
						parts.lo, parts.hi = from, min(from+1+r.IntN(20), modes)
						for at := 0; at < rows; {
							n := min(1+r.IntN(60), rows-at)
							if backwards {
								parts.part(rows-at-n, rows-at).run()
							} else {
								parts.part(at, at+n).run()
							}
							at += n
						}
						from = parts.hi
					}
					sameBits(t, "rows", parts.rows.Data, whole.rows.Data)
					sameBits(t, "h", parts.h, whole.h)
					sameBits(t, "dLambda", parts.dLambda, whole.dLambda)
				}
			}
		}
	})
}

// More rows than one call of assembly processes.
func TestScanManyRows(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		const rows = 8192 + 5
		s := newRecurrences(generator(3), rows, 1)
		s.lambda[0], s.lambda[1] = 0.5, 0.25
		for _, s.backwards = range []bool{false, true} {
			for _, s.grad = range []bool{false, true} {
				got := s.clone()
				got.run()
				want, h, d := s.truth(0)
				for i := range want {
					want[i].check(t, got.rows.Row(i), 0, "%v: row %d", s, i)
				}
				h.check(t, got.h, 0, "%v: h", s)
				if s.grad {
					d.check(t, got.dLambda, 0, "%v: dLambda", s)
				}
			}
		}
	})
}

// In silence a state decays to exactly 0 and never is a denormal number.
func TestScanFlushesState(t *testing.T) {
	const smallest = 0x1p-126 // of the normal numbers
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, modes := range []int{1, 3, 16, 33} {
			s := newRecurrences(generator(4), 300, modes)
			clear(s.rows.Data)
			for p := range modes {
				s.lambda[p], s.lambda[modes+p] = 0.4, -0.3 // halves the state
			}
			for _, s.grad = range []bool{false, true} {
				got := s.clone()
				got.run()
				for i, v := range got.rows.Data {
					if v != 0 && math.Abs(float64(v)) < smallest {
						t.Fatalf("%v: element %d is %v, expected 0", s, i, v)
					}
				}
				for p, v := range got.h {
					if v != 0 {
						t.Errorf("%v: h[%d] = %v after 300 halvings", s, p, v)
					}
				}
			}
		}
	})
}
