package rocket

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ridge is a linear regression with a penalty α‖W‖².
type ridge struct {
	mean, scale []float64  // of the features
	weights     *mat.Dense // [outputs][features]
	offset      []float64  // of the outputs
}

// newRidge fits features x [n][features] to targets y [n][outputs], and changes both. Features are
// centred and divided by their norm. α is the one of ten values from 0.001 to 1000 with the least
// squared error when each sample in turn is left out.
func newRidge(x, y *mat.Dense) *ridge {
	r := &ridge{}
	r.mean, r.scale = normalise(x, true)
	r.offset, _ = normalise(y, false)
	q, qy, lambda := decompose(x, y)
	var best *mat.Dense
	least := math.Inf(1)
	for i := range 10 {
		dual, loss := leaveOneOut(q, qy, lambda, math.Pow(10, -3+6*float64(i)/9))
		if loss < least {
			least, best = loss, dual
		}
	}
	r.weights = &mat.Dense{}
	r.weights.Mul(best.T(), x)
	return r
}

// normalise subtracts the mean of each column, and divides it by its norm if scaled is true.
func normalise(x *mat.Dense, scaled bool) (mean, scale []float64) {
	n, columns := x.Dims()
	for c := range columns {
		column := mat.Col(nil, c, x)
		m, s := floats.Sum(column)/float64(n), 1.0
		floats.AddConst(-m, column)
		if norm := floats.Norm(column, 2); scaled && norm > 0 {
			s = norm
		}
		floats.Scale(1/s, column)
		x.SetCol(c, column)
		mean, scale = append(mean, m), append(scale, s)
	}
	return mean, scale
}

// decompose returns the eigenvectors Q and the eigenvalues of X·Xᵀ, and Qᵀ·Y.
func decompose(x, y *mat.Dense) (q, qy *mat.Dense, lambda []float64) {
	var gram mat.SymDense
	gram.SymOuterK(1, x)
	var eigen mat.EigenSym
	eigen.Factorize(&gram, true)
	q, qy = &mat.Dense{}, &mat.Dense{}
	eigen.VectorsTo(q)
	qy.Mul(q.T(), y)
	return q, qy, eigen.Values(nil)
}

// leaveOneOut fits dual coefficients C, for weights CᵀX and a penalty α, to the eigenvectors Q and
// the eigenvalues λ of X·Xᵀ, and qy = Qᵀ·Y. loss is the sum of the squared errors when each sample
// in turn is left out: C_i / (G⁻¹)_ii with G = X·Xᵀ + α (Rifkin and Lippert, 2007). The intercept
// has no penalty: as X and Y are centred, that is G⁻¹ without its eigenvector 1.
func leaveOneOut(q, qy *mat.Dense, lambda []float64, alpha float64) (dual *mat.Dense, loss float64) {
	n, outputs := qy.Dims()
	scaled := mat.NewDense(n, n, nil) // Q·diag(1/(λ+α))
	dual = &mat.Dense{}
	scaled.Apply(func(_, j int, v float64) float64 { return v / (lambda[j] + alpha) }, q)
	dual.Mul(scaled, qy)
	for i := range n {
		inverse := floats.Dot(scaled.RawRowView(i), q.RawRowView(i)) - 1/(float64(n)*alpha)
		for o := range outputs {
			e := dual.At(i, o) / inverse
			loss += e * e
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
		out[o] = offset + floats.Dot(r.weights.RawRowView(o), x)
	}
	return out
}
