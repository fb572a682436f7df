package reference

import "math/cmplx"

// matrix is a square matrix of complex numbers, by rows.
type matrix [][]complex128

func newMatrix(n int) matrix {
	a := make(matrix, n)
	for i := range a {
		a[i] = make([]complex128, n)
	}
	return a
}

// discrete returns Ā = (I − ΔA/2)⁻¹(I + ΔA/2) and B̄ = (I − ΔA/2)⁻¹ΔB of channel h on the full
// state: the M modes, then their conjugates.
func (s *S4) discrete(h int) (a matrix, b []complex128) {
	dt, _ := s.dt(h)
	half := complex(dt/2, 0)
	k := h % s.Copies * s.M
	p, in := withConj(s.P[k:k+s.M]), withConj(s.B[k:k+s.M])
	left, right := newMatrix(2*s.M), newMatrix(2*s.M)
	for i := range left {
		for j := range left {
			v := -p[i] * cmplx.Conj(p[j])
			if i == j {
				lambda := s.lambda(h, i%s.M)
				if i >= s.M {
					lambda = cmplx.Conj(lambda)
				}
				v += lambda
				left[i][j], right[i][j] = 1, 1
			}
			left[i][j] -= half * v
			right[i][j] += half * v
		}
		right[i] = append(right[i], 2*half*in[i])
	}
	for i, row := range solve(left, right) {
		right[i], b = row[:2*s.M], append(b, row[2*s.M])
	}
	return right, b
}

// Extend makes C the parameter C̃ for kernels of at least length taps at step scale 1. The first
// call sets C̃ = (I − Ā^length)ᵀ·C. Later ones double Length, C̃ ← (I + Ā^Length)ᵀ·C̃, until it
// suffices.
func (s *S4) Extend(length int) {
	if s.Length == 0 {
		s.multiplyC(length, -1)
		s.Length = length
	}
	for s.Length < length {
		s.multiplyC(s.Length, 1)
		s.Length *= 2
	}
}

// multiplyC: C ← (I + sign·Ā^power)ᵀ·C at step scale 1.
func (s *S4) multiplyC(power int, sign complex128) {
	for r := range len(s.C) / s.M {
		row := s.C[r*s.M : (r+1)*s.M]
		for i, v := range s.atUnitScale().powered(r%s.H, power, withConj(row))[:s.M] {
			row[i] += sign * v
		}
	}
}

func (s *S4) atUnitScale() *S4 {
	unit := *s
	unit.StepScale = 1
	return &unit
}

// powered returns (Ā^power)ᵀ·c.
func (s *S4) powered(h, power int, c []complex128) []complex128 {
	a, _ := s.discrete(h)
	for range power {
		next := make([]complex128, len(c))
		for i, row := range a {
			for j, v := range row {
				next[j] += v * c[i]
			}
		}
		c = next
	}
	return c
}

// Recover returns C [directions][H][M] from C̃: the solution of (I − Ā^Length)ᵀ·C = C̃.
func (s *S4) Recover() []complex128 {
	var list []complex128
	for r := range len(s.C) / s.M {
		left, right := newMatrix(2*s.M), newMatrix(2*s.M)
		for i, v := range withConj(s.C[r*s.M : (r+1)*s.M]) {
			unit := make([]complex128, 2*s.M)
			unit[i] = 1
			for j, p := range s.atUnitScale().powered(r%s.H, s.Length, unit) {
				left[j][i] = unit[j] - p
			}
			right[i] = []complex128{v}
		}
		for _, row := range solve(left, right)[:s.M] {
			list = append(list, row[0])
		}
	}
	return list
}

// Recur applies a layer of one direction to u [batch][H][length], sample by sample:
// h ← Ā·h + B̄·u, y = C·h + D·u with the C of Recover.
func (s *S4) Recur(u []float64, length int) []float64 {
	y, c := zeros(len(u)), s.Recover()
	for row := range len(u) / length {
		h := row % s.H
		a, b := s.discrete(h)
		state := make([]complex128, 2*s.M)
		for t := row * length; t < (row+1)*length; t++ {
			next := make([]complex128, len(state))
			for i := range next {
				next[i] = b[i] * complex(u[t], 0)
				for j, v := range state {
					next[i] += a[i][j] * v
				}
			}
			state = next
			y[t] = s.D[h] * u[t]
			for m := range s.M {
				y[t] += 2 * real(c[h*s.M+m]*state[m])
			}
		}
	}
	return y
}

// withConj returns z, then the conjugates.
func withConj(z []complex128) []complex128 {
	list := append([]complex128(nil), z...)
	for _, v := range z {
		list = append(list, cmplx.Conj(v))
	}
	return list
}

// solve returns a⁻¹·b by Gaussian elimination with row pivots. It overwrites a and b.
func solve(a, b matrix) matrix {
	for k := range a {
		pivot := k
		for i := k + 1; i < len(a); i++ {
			if cmplx.Abs(a[i][k]) > cmplx.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
		for i := range a {
			if i == k {
				continue
			}
			f := a[i][k] / a[k][k]
			for j := range a[i] {
				a[i][j] -= f * a[k][j]
			}
			for j := range b[i] {
				b[i][j] -= f * b[k][j]
			}
		}
	}
	for k := range b {
		for j := range b[k] {
			b[k][j] /= a[k][k]
		}
	}
	return b
}
