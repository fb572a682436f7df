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
// clipped, both [M].
//
// HiPPO-LegS (S4, arXiv 2111.00396, eq. 2) satisfies A + PPᵀ = −½I + S with S real and
// antisymmetric. A singular pair S v = σu of S also satisfies S u = −σv, hence S(v + iu) = −iσ(v +
// iu), so a real SVD gives the eigenvectors. The singular values come in pairs, and both of a pair
// span the same eigenspace. The modes kept here are those with +iσ, whose eigenvector is the
// conjugate v − iu. B is V*b in that basis.
func legS(dState int) (freq []float64, b []complex128, err error) {
	sigma, u, vt, err := legSSVD(dState)
	if err != nil {
		return nil, nil, err
	}

	freq = make([]float64, dState/2)
	b = make([]complex128, dState/2)
	for k := range freq {
		freq[k] = sigma[2*k]
		b[k] = project(u, vt, 2*k)
	}
	return freq, b, nil
}

// legSSVD returns the singular values of S, largest first, U and Vᵀ.
func legSSVD(dState int) (sigma []float64, u, vt matrix, err error) {
	sigma, u, vt, ok := legSAntisymmetric(dState).singularValues()
	if !ok {
		err = fmt.Errorf("ssm: d_state: the singular values of HiPPO-LegS of size %d did not converge", dState)
	}
	return sigma, u, vt, err
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

// project returns w*b, b_n = √(2n+1), for the unit eigenvector w ∝ v − iu of singular vectors k
// whose first component is real and positive. The phase matters because Im of the result is
// clipped.
func project(u, vt matrix, k int) complex128 {
	var sum complex128
	var norm float64
	for n := range u.n {
		w := complex(vt.at(k, n), -u.at(n, k))
		norm += real(w)*real(w) + imag(w)*imag(w)
		sum += cmplx.Conj(w) * complex(math.Sqrt(float64(2*n+1)), 0)
	}
	first := complex(vt.at(k, 0), -u.at(0, k))
	phase := first / complex(cmplx.Abs(first), 0)
	return sum * phase / complex(math.Sqrt(norm), 0)
}

// clipped returns b with its imaginary parts clipped.
func clipped(b []complex128) []complex128 {
	list := make([]complex128, len(b))
	for i, v := range b {
		list[i] = clipIm(v)
	}
	return list
}

func clipIm(b complex128) complex128 {
	return complex(real(b), min(max(imag(b), -maxImB), maxImB))
}
