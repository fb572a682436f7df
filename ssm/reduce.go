package ssm

import "math/cmplx"

const (
	// inputCorrelation is the one of neighbouring samples that Reduce assumes of the input.
	inputCorrelation = 0.9
	// slowestDecay, of log λ̄, replaces that of modes that decay more slowly.
	slowestDecay = -1e-6
	// reduceRidge is the part of a mode's energy by which C stays small where poles are equal.
	reduceRidge = 1e-7
)

// Reduce removes modes of SSM h until keep of them remain: each time the one without which the
// output for a random input changes least if C is fitted anew (docs/maths.md §8). rows are the rows
// of C of the SSM, which are changed: C of removed modes becomes 0. The modes that remain are in
// ascending order. energy is that of the output, and lost that of its change.
func (g *ModeGains) Reduce(h, keep int, rows [][]complex128) (kept []int, energy, lost float64) {
	gram, m := g.covariances(h), g.M
	x := make([][]float64, len(rows)) // [Re C, Im C]
	for r, c := range rows {
		x[r] = make([]float64, 2*m)
		for n, v := range c {
			x[r][n], x[r][m+n] = real(v), imag(v)
		}
		for i, row := range gram {
			for j, v := range row {
				energy += x[r][i] * v * x[r][j]
			}
		}
	}
	for n := range m {
		kept = append(kept, n)
	}
	inverse := invert(gram)
	for len(kept) > keep {
		best, least := 0, 0.0
		for i, n := range kept {
			if cost := removalCost(inverse, x, n, m+n); i == 0 || cost < least {
				best, least = i, cost
			}
		}
		n := kept[best]
		removeMode(inverse, x, n, m+n)
		lost += max(least, 0)
		kept = append(kept[:best], kept[best+1:]...)
	}
	for r, c := range rows {
		for n := range c {
			c[n] = complex(x[r][n], x[r][m+n])
		}
	}
	return kept, energy, lost
}

// covariances returns those of the outputs that Re C and Im C of each mode weight, [2M][2M].
func (g *ModeGains) covariances(h int) [][]float64 {
	gram := make([][]float64, 2*g.M)
	for i := range gram {
		gram[i] = make([]float64, 2*g.M)
	}
	for n := range g.M {
		for m := range g.M {
			i, j := h*g.M+n, h*g.M+m
			a, b := decaying(g.LogLambda[i]), decaying(g.LogLambda[j])
			var plain, conj complex128 // sums over the inputs of B̄·B̄ and B̄·B̄*
			for k, x := range g.Input[i*g.Width : (i+1)*g.Width] {
				y := g.Input[j*g.Width+k]
				plain, conj = plain+x*y, conj+x*cmplx.Conj(y)
			}
			plain, conj = plain*covariance(a, b), conj*covariance(a, cmplx.Conj(b))
			gram[n][m], gram[g.M+n][g.M+m] = real(conj+plain)/2, real(conj-plain)/2
			gram[n][g.M+m] = imag(conj-plain) / 2
			gram[g.M+m][n] = gram[n][g.M+m]
		}
	}
	for n := range g.M {
		ridge := reduceRidge*(gram[n][n]+gram[g.M+n][g.M+n])/2 + 1e-300
		gram[n][n], gram[g.M+n][g.M+n] = gram[n][n]+ridge, gram[g.M+n][g.M+n]+ridge
	}
	return gram
}

func decaying(logLambda complex128) complex128 {
	return complex(min(real(logLambda), slowestDecay), imag(logLambda))
}

// covariance returns the sum of λ̄₁^k·λ̄₂^l·r^|k − l| over all k, l ≥ 0, for the logarithms of two
// poles and the correlation r of neighbouring samples.
func covariance(a, b complex128) complex128 {
	const r = inputCorrelation
	x, y := r*cmplx.Exp(a), r*cmplx.Exp(b)
	return (x*y - 1) / (expm1(a+b) * (1 - x) * (1 - y))
}

// invert replaces a positive definite matrix by its inverse.
func invert(a [][]float64) [][]float64 {
	for k, row := range a {
		pivot := 1 / row[k]
		row[k] = 1
		for j := range row {
			row[j] *= pivot
		}
		for i, other := range a {
			if i == k {
				continue
			}
			f := other[k]
			other[k] = 0
			for j, v := range row {
				other[j] -= f * v
			}
		}
	}
	return a
}

// both returns ([G⁻¹]ₛₛ)⁻¹·v for the two columns of a mode.
func both(inverse [][]float64, i, j int, v, w float64) (p, q float64) {
	a, b, c := inverse[i][i], inverse[i][j], inverse[j][j]
	det := a*c - b*b
	return (c*v - b*w) / det, (a*w - b*v) / det
}

func removalCost(inverse, x [][]float64, i, j int) (cost float64) {
	for _, row := range x {
		p, q := both(inverse, i, j, row[i], row[j])
		cost += row[i]*p + row[j]*q
	}
	return cost
}

// removeMode fits the other columns of x without those of a mode, and updates the inverse.
func removeMode(inverse, x [][]float64, i, j int) {
	for _, row := range x {
		p, q := both(inverse, i, j, row[i], row[j])
		for k := range row {
			row[k] -= inverse[k][i]*p + inverse[k][j]*q
		}
		row[i], row[j] = 0, 0
	}
	for k, row := range inverse {
		if k == i || k == j {
			continue
		}
		p, q := both(inverse, i, j, row[i], row[j])
		for l := range row {
			row[l] -= p*inverse[i][l] + q*inverse[j][l]
		}
		row[i], row[j] = 0, 0
	}
	clear(inverse[i])
	clear(inverse[j])
}
