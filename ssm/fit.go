package ssm

import (
	"math"
	"math/cmplx"
)

// Fit finds the weights C with which some modes of an SSM come closest to all of them: the
// difference of the outputs for a random input has the least energy (docs/maths.md §8).
type Fit struct {
	kept  []int       // columns of the modes that are kept
	gram  [][]float64 // [2M][2M] covariances of the outputs by Re C and −Im C of each mode
	lower [][]float64 // [len(kept)][…] Cholesky factor of the kept part
}

// fitRidge, a fraction of the mean energy of a mode, keeps C small where modes have almost the same
// pole, or no response to Im C.
const fitRidge = 1e-9

// inputCorrelation is that of neighbouring samples of the input.
const inputCorrelation = 0.9

// Fit prepares to fit the kept modes of SSM h. It returns nil if a mode does not decay.
func (g *ModeGains) Fit(h int, kept []int) *Fit {
	f := &Fit{kept: make([]int, 2*len(kept)), gram: make([][]float64, 2*g.M), lower: make([][]float64, 2*len(kept))}
	for i, n := range kept {
		f.kept[i], f.kept[len(kept)+i] = n, g.M+n
	}
	for i := range f.gram {
		f.gram[i] = make([]float64, 2*g.M)
	}
	for n := range g.M {
		for m := range g.M {
			i, j := h*g.M+n, h*g.M+m
			a, b := g.LogLambda[i], g.LogLambda[j]
			if real(a) >= 0 {
				return nil
			}
			var plain, conj complex128 // sums over the inputs of B̄·B̄ and B̄·B̄*
			for k, x := range g.Input[i*g.Width : (i+1)*g.Width] {
				y := g.Input[j*g.Width+k]
				plain, conj = plain+x*y, conj+x*cmplx.Conj(y)
			}
			plain, conj = plain*covariance(a, b), conj*covariance(a, cmplx.Conj(b))
			f.gram[n][m], f.gram[g.M+n][g.M+m] = real(conj+plain)/2, real(conj-plain)/2
			f.gram[n][g.M+m] = imag(conj-plain) / 2
			f.gram[g.M+m][n] = f.gram[n][g.M+m]
		}
	}
	ridge := 1e-300
	for i := range f.gram {
		ridge += fitRidge * f.gram[i][i] / float64(len(f.gram))
	}
	if !f.factor(ridge) {
		return nil
	}
	return f
}

// covariance returns the sum of λ̄₁^k·λ̄₂^l·r^|k − l| over all k, l ≥ 0, for the logarithms of two
// poles and the correlation r of neighbouring samples.
func covariance(a, b complex128) complex128 {
	const r = inputCorrelation
	x, y := r*cmplx.Exp(a), r*cmplx.Exp(b)
	return (x*y - 1) / (expm1(a+b) * (1 - x) * (1 - y))
}

// factor computes the Cholesky factor. It fails if a mode decays too slowly.
func (f *Fit) factor(ridge float64) bool {
	for i, a := range f.kept {
		f.lower[i] = make([]float64, i+1)
		for j, b := range f.kept[:i+1] {
			x := f.gram[a][b] - dot(f.lower[i][:j], f.lower[j])
			if i > j {
				f.lower[i][j] = x / f.lower[j][j]
				continue
			}
			if x += ridge; !(x > 0) {
				return false
			}
			f.lower[i][i] = math.Sqrt(x)
		}
	}
	return true
}

// Solve returns the new weights of the kept modes, for a row of C. It also returns the energy of
// the row's output, and that of the difference.
func (f *Fit) Solve(c []complex128) (fitted []complex128, energy, lost float64) {
	x := make([]float64, 2*len(c))
	for n, v := range c {
		x[n], x[len(c)+n] = real(v), imag(v)
	}
	y := make([]float64, len(f.kept))
	for i, row := range f.lower {
		y[i] = (dot(f.gram[f.kept[i]], x) - dot(row[:i], y)) / row[i]
	}
	for i := len(y) - 1; i >= 0; i-- {
		y[i] /= f.lower[i][i]
		for j := range i {
			y[j] -= f.lower[i][j] * y[i]
		}
	}
	energy = f.energy(x)
	for i, k := range f.kept {
		x[k] -= y[i]
	}
	fitted = make([]complex128, len(y)/2)
	for i := range fitted {
		fitted[i] = complex(y[i], y[len(fitted)+i])
	}
	return fitted, energy, f.energy(x)
}

func (f *Fit) energy(x []float64) (sum float64) {
	for i, row := range f.gram {
		sum += x[i] * dot(row, x)
	}
	return max(sum, 0)
}

// dot returns the inner product of a and the beginning of b.
func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
