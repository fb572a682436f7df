package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
)

// maxImB is the bound to which v4 of the official code clips Im B (docs/maths.md §2.2). Without it
// the leading modes of LegS dominate all others.
const maxImB = 2

// legS returns S4D-LegS (docs/maths.md §2.2): Im A_n > 0, largest first, and B before it is
// clipped, both [M]. B is V*b, b_n = √(2n+1), for eigenvectors whose first component is real and
// positive. The phase matters because Im B is clipped.
func legS(dState int) (freq []float64, b []complex128, err error) {
	freq, vectors, err := legSEigenvectors(dState)
	for _, w := range vectors {
		var sum complex128 // the vectors are the conjugates of those with Im A_n > 0
		for n, v := range w {
			sum += v * complex(math.Sqrt(float64(2*n+1)), 0)
		}
		b = append(b, sum*cmplx.Conj(w[0])/complex(cmplx.Abs(w[0]), 0))
	}
	return freq, b, err
}

// legSEigenvectors returns |Im λ| of the eigenvalues of HiPPO-LegS, largest first, [size/2], and
// the unit eigenvectors of those with Im λ < 0, [size/2][size].
//
// HiPPO-LegS (S4, arXiv 2111.00396, eq. 2) satisfies A + PPᵀ = −½I + S with S real and
// antisymmetric. A singular pair S v = σu of S also satisfies S u = −σv, hence S(v + iu) = −iσ(v +
// iu), so a real SVD gives the eigenvectors. The singular values come in pairs, and both of a pair
// span the same eigenspace.
func legSEigenvectors(size int) (freq []float64, vectors [][]complex128, err error) {
	sigma, u, vt, ok := legSAntisymmetric(size).singularValues()
	if !ok {
		return nil, nil, fmt.Errorf("ssm: d_state: the singular values of HiPPO-LegS of size %d did not converge", size)
	}
	for k := 0; k < size; k += 2 {
		w, norm := make([]complex128, size), 0.0
		for n := range w {
			w[n] = complex(vt.at(k, n), u.at(n, k))
			norm += square(w[n])
		}
		for n := range w {
			w[n] /= complex(math.Sqrt(norm), 0)
		}
		freq, vectors = append(freq, sigma[k]), append(vectors, w)
	}
	return freq, vectors, nil
}

// legSAntisymmetric returns S, S_nk = −½√(2n+1)√(2k+1) for n > k and S_kn = −S_nk.
func legSAntisymmetric(dState int) matrix {
	s := newMatrix(dState)
	for n := range dState {
		for k := range n {
			x := 0.5 * math.Sqrt(float64(2*n+1)) * math.Sqrt(float64(2*k+1))
			s.set(n, k, -x)
			s.set(k, n, x)
		}
	}
	return s
}

func clipIm(b complex128) complex128 {
	return complex(real(b), min(max(imag(b), -maxImB), maxImB))
}
