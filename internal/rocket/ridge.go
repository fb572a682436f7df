package rocket

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// matrix is row-major. Package mat has its operations, too, but with it all of LAPACK would be
// linked into programs.
type matrix struct{ blas64.General }

func newMatrix(rows, columns int) matrix {
	return matrix{blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}}
}

func (m matrix) row(i int) []float64 { return m.Data[i*m.Stride:][:m.Cols] }

// product returns AB, or AᵀB.
func product(transposed blas.Transpose, a, b matrix) matrix {
	rows := a.Rows
	if transposed == blas.Trans {
		rows = a.Cols
	}
	c := newMatrix(rows, b.Cols)
	blas64.Gemm(transposed, blas.NoTrans, 1, a.General, b.General, 0, c.General)
	return c
}

// ridge is a linear regression with a penalty α‖W‖².
type ridge struct {
	mean, scale []float64 // of the features
	weights     matrix    // [outputs][features]
	offset      []float64 // of the outputs
}

// newRidge fits features x [n][features] to targets y [n][outputs], and changes both. Features are
// centred and divided by their norm. α is the one of ten values from 0.001 to 1000 with the least
// squared error when each sample in turn is left out.
func newRidge(x, y matrix) *ridge {
	r := &ridge{}
	r.mean, r.scale = normalise(x, true)
	r.offset, _ = normalise(y, false)
	q, qy, lambda := decompose(x, y)
	var best matrix
	least := math.Inf(1)
	for i := range 10 {
		dual, loss := leaveOneOut(q, qy, lambda, math.Pow(10, -3+6*float64(i)/9))
		if loss < least {
			least, best = loss, dual
		}
	}
	r.weights = product(blas.Trans, best, x)
	return r
}

// normalise subtracts the mean of each column, and divides it by its norm if scaled is true.
func normalise(x matrix, scaled bool) (mean, scale []float64) {
	column := make([]float64, x.Rows)
	for c := range x.Cols {
		for i := range column {
			column[i] = x.row(i)[c]
		}
		m, s := floats.Sum(column)/float64(x.Rows), 1.0
		floats.AddConst(-m, column)
		if norm := floats.Norm(column, 2); scaled && norm > 0 {
			s = norm
		}
		for i, v := range column {
			x.row(i)[c] = v / s
		}
		mean, scale = append(mean, m), append(scale, s)
	}
	return mean, scale
}

// decompose returns the eigenvectors Q and the eigenvalues of X·Xᵀ, and Qᵀ·Y.
func decompose(x, y matrix) (q, qy matrix, lambda []float64) {
	n := x.Rows
	q, lambda = newMatrix(n, n), make([]float64, n)
	blas64.Syrk(blas.NoTrans, 1, x.General, 0, blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: q.Data})
	var routines gonum.Implementation
	size := make([]float64, 1)
	routines.Dsyev(lapack.EVCompute, blas.Upper, n, q.Data, n, lambda, size, -1)
	routines.Dsyev(lapack.EVCompute, blas.Upper, n, q.Data, n, lambda, make([]float64, int(size[0])), int(size[0]))
	return q, product(blas.Trans, q, y), lambda
}

// leaveOneOut fits dual coefficients C, for weights CᵀX and a penalty α, to the eigenvectors Q and
// the eigenvalues λ of X·Xᵀ, and qy = Qᵀ·Y. loss is the sum of the squared errors when each sample
// in turn is left out: C_i / (G⁻¹)_ii with G = X·Xᵀ + α (Rifkin and Lippert, 2007). The intercept
// has no penalty: as X and Y are centred, that is G⁻¹ without its eigenvector 1.
func leaveOneOut(q, qy matrix, lambda []float64, alpha float64) (dual matrix, loss float64) {
	scaled := newMatrix(q.Rows, q.Cols) // Q·diag(1/(λ+α))
	for i, v := range q.Data {
		scaled.Data[i] = v / (lambda[i%q.Cols] + alpha)
	}
	dual = product(blas.NoTrans, scaled, qy)
	for i := range q.Rows {
		inverse := floats.Dot(scaled.row(i), q.row(i)) - 1/(float64(q.Rows)*alpha)
		for _, c := range dual.row(i) {
			loss += (c / inverse) * (c / inverse)
		}
	}
	return dual, loss
}

// predict returns the outputs for the features x, which it changes.
func (r *ridge) predict(x []float64) []float64 {
	floats.Sub(x, r.mean)
	floats.Div(x, r.scale)
	out := make([]float64, len(r.offset))
	for o, offset := range r.offset {
		out[o] = offset + floats.Dot(r.weights.row(o), x)
	}
	return out
}
