package ssm

import (
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"
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
	u, v, sigma, err := legSSVD(dState)
	if err != nil {
		return nil, nil, err
	}

	freq = make([]float64, dState/2)
	b = make([]complex128, dState/2)
	for k := range freq {
		freq[k] = sigma[2*k]
		b[k] = project(u, v, 2*k)
	}
	return freq, b, nil
}

// legSSVD returns the singular vectors of S as columns, and the singular values, largest first.
func legSSVD(dState int) (u, v *mat.Dense, sigma []float64, err error) {
	var svd mat.SVD
	if !svd.Factorize(legSAntisymmetric(dState), mat.SVDThin) {
		return nil, nil, nil, fmt.Errorf("ssm: d_state: the singular values of HiPPO-LegS of size %d did not converge", dState)
	}
	u, v = new(mat.Dense), new(mat.Dense)
	svd.UTo(u)
	svd.VTo(v)
	return u, v, svd.Values(nil), nil
}

// legSAntisymmetric returns S, S_nk = −½√(2n+1)√(2k+1) for n > k and S_kn = −S_nk.
func legSAntisymmetric(dState int) *mat.Dense {
	s := mat.NewDense(dState, dState, nil)
	for n := range dState {
		for k := range n {
			x := 0.5 * math.Sqrt(float64(2*n+1)) * math.Sqrt(float64(2*k+1))
			s.Set(n, k, -x)
			s.Set(k, n, x)
		}
	}
	return s
}

// project returns w*b, b_n = √(2n+1), for the unit eigenvector w ∝ v − iu of column k whose first
// component is real and positive. The phase matters because Im of the result is clipped.
func project(u, v *mat.Dense, k int) complex128 {
	dState, _ := u.Dims()
	var sum complex128
	var norm float64
	for n := range dState {
		w := complex(v.At(n, k), -u.At(n, k))
		norm += real(w)*real(w) + imag(w)*imag(w)
		sum += cmplx.Conj(w) * complex(math.Sqrt(float64(2*n+1)), 0)
	}
	first := complex(v.At(0, k), -u.At(0, k))
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
