package ssm

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// routines are those of LAPACK. Package mat would call the same ones, but through an interface, and
// with it all of LAPACK would be linked into programs.
var routines gonum.Implementation

// matrix is a square matrix of float64, row-major.
type matrix struct {
	n      int
	values []float64
}

func newMatrix(n int) matrix { return matrix{n, make([]float64, n*n)} }

func identity(n int) matrix {
	a := newMatrix(n)
	for i := range n {
		a.set(i, i, 1)
	}
	return a
}

func (a matrix) at(i, j int) float64     { return a.values[i*a.n+j] }
func (a matrix) set(i, j int, v float64) { a.values[i*a.n+j] = v }

// add adds v to an element.
func (a matrix) add(i, j int, v float64) { a.values[i*a.n+j] += v }

func (a matrix) clone() matrix { return matrix{a.n, slices.Clone(a.values)} }

// isFinite reports whether the sum of every column's moduli is finite.
func (a matrix) isFinite() bool {
	norm := routines.Dlange(lapack.MaxColumnSum, a.n, a.n, a.values, a.n, make([]float64, a.n))
	return !math.IsNaN(norm) && !math.IsInf(norm, 0)
}

// multiply sets a to bc. It must not be one of these.
func (a matrix) multiply(b, c matrix) {
	general := func(m matrix) blas64.General {
		return blas64.General{Rows: m.n, Cols: m.n, Stride: m.n, Data: m.values}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(b), general(c), 0, general(a))
}

// singularValues returns the singular values in descending order, and the matrices U and Vᵀ of A =
// U·diag(values)·Vᵀ. ok is false if the iteration does not converge.
func (a matrix) singularValues() (values []float64, u, vt matrix, ok bool) {
	const job = lapack.SVDStore
	u, vt = newMatrix(a.n), newMatrix(a.n)
	c, size := a.clone(), make([]float64, 1)
	values = make([]float64, a.n)
	routines.Dgesvd(job, job, a.n, a.n, c.values, a.n, values, u.values, a.n, vt.values, a.n, size, -1)
	work := make([]float64, int(size[0]))
	ok = routines.Dgesvd(job, job, a.n, a.n, c.values, a.n, values, u.values, a.n, vt.values, a.n, work, len(work))
	return values, u, vt, ok
}

// eigenvalues returns the eigenvalues, or nil if the iteration does not converge.
func (a matrix) eigenvalues() (list []complex128) {
	c, size, re, im := a.clone(), make([]float64, 1), make([]float64, a.n), make([]float64, a.n)
	none, noRight := lapack.LeftEVNone, lapack.RightEVNone
	routines.Dgeev(none, noRight, a.n, c.values, a.n, re, im, nil, 1, nil, 1, size, -1)
	work := make([]float64, int(size[0]))
	if routines.Dgeev(none, noRight, a.n, c.values, a.n, re, im, nil, 1, nil, 1, work, len(work)) != 0 {
		return nil
	}
	for i, v := range re {
		list = append(list, complex(v, im[i]))
	}
	return list
}

// factorize replaces a matrix by its factors. It returns a function that replaces b by the solution
// of Aᵀx = b, and the condition number ‖A‖·‖A⁻¹‖, of the sums of rows.
func (a matrix) factorize() (solveTransposed func(b []float64), condition float64) {
	exchanges := make([]int, a.n)
	norm := routines.Dlange(lapack.MaxRowSum, a.n, a.n, a.values, a.n, make([]float64, a.n))
	routines.Dgetrf(a.n, a.n, a.values, a.n, exchanges)
	condition = 1 / routines.Dgecon(lapack.MaxRowSum, a.n, a.values, a.n, norm, make([]float64, 4*a.n), make([]int, a.n))
	return func(b []float64) { routines.Dgetrs(blas.Trans, a.n, 1, a.values, a.n, exchanges, b, 1) }, condition
}
