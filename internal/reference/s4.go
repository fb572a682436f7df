package reference

import (
	"math"
	"math/cmplx"
)

// S4 is the layer with diagonal plus rank one matrices (arXiv 2111.00396) as the official code,
// version 4, has it: A = diag(Λ) − P·P* on the M modes and their conjugates, with
// Λ = −exp(AReal) − i·AImag, discretised by the bilinear rule.
//
// C is the parameter C̃ = (I − Ā^Length)ᵀ·C.
type S4 struct {
	KernelLayer
	P      []complex128 // [Copies][M]
	Length int          // l_kernel: the taps that C̃ belongs to
}

// lambda returns Λ of mode m of channel h.
func (s *S4) lambda(h, m int) complex128 {
	k := h%s.Copies*s.M + m
	return complex(-math.Exp(s.AReal[k]), -s.AImag[k])
}

// pairs returns the products BC̃, BP̄, PC̃ and PP̄ of mode m of row r.
func (s *S4) pairs(r, m int) [4]complex128 {
	k, c := r%s.H%s.Copies*s.M+m, s.C[r*s.M+m]
	b, p := s.B[k], s.P[k]
	return [4]complex128{b * c, b * cmplx.Conj(p), p * c, p * cmplx.Conj(p)}
}

// node is the transform K̂ of a row at ω = e^(−2πik/n).
type node struct {
	z, s  complex128    // 2(1−ω)/(1+ω) and 2/(1+ω)
	r     [4]complex128 // sums for the products of pairs
	value complex128    // K̂ = s·(r_BC̃ − r_BP̄·r_PC̃/(1 + r_PP̄))
}

// node computes K̂ of row r at node k < n/2.
func (s *S4) node(r, k, n int) node {
	h := r % s.H
	dt, _ := s.dt(h)
	z := complex(0, 2*math.Tan(math.Pi*float64(k)/float64(n)))
	v := node{z: z, s: 1 + z/2}
	for m := range s.M {
		a := complex(dt, 0) * s.lambda(h, m)
		for i, p := range s.pairs(r, m) {
			p *= complex(dt, 0)
			v.r[i] += p/(z-a) + cmplx.Conj(p)/(z-cmplx.Conj(a))
		}
	}
	v.value = v.s * (v.r[0] - v.r[1]*v.r[2]/(1+v.r[3]))
	return v
}

// limit is K̂ at ω = −1.
func (s *S4) limit(r int) float64 {
	dt, _ := s.dt(r % s.H)
	sum := 0.0
	for m := range s.M {
		sum += dt * real(s.pairs(r, m)[0])
	}
	return sum
}

// nodes returns the length n of the kernel before it is cut.
func (s *S4) nodes() int { return int(math.Round(float64(s.Length) / s.StepScale)) }

// weight returns the factor of K̂_k·e^(2πikl/n) in K[l], of which the real part is taken.
func weight(k, l, n int) complex128 {
	w := cmplx.Rect(2/float64(n), 2*math.Pi*float64(k*l%n)/float64(n))
	if k == 0 || 2*k == n {
		w /= 2
	}
	return w
}

// Kernels returns [directions·H][taps]: the inverse discrete Fourier transform of K̂.
func (s *S4) Kernels(length int) [][]float64 {
	n := s.nodes()
	list := make([][]float64, len(s.C)/s.M)
	for r := range list {
		list[r] = zeros(s.taps(length))
		for k := range n/2 + 1 {
			value := complex(s.limit(r), 0)
			if 2*k < n {
				value = s.node(r, k, n).value
			}
			for l := range list[r] {
				list[r][l] += real(value * weight(k, l, n))
			}
		}
	}
	return list
}

// Forward applies the layer to u [batch][H][length].
func (s *S4) Forward(u []float64, length int) *KernelTape {
	return s.forward(u, s.Kernels(length), length)
}

// Backward returns the gradients of the parameters and of u from ∂loss/∂y. C̃ is the parameter:
// the gradient of C is that of C̃.
func (s *S4) Backward(t *KernelTape, dy []float64) (g *S4, du []float64) {
	g = &S4{KernelLayer: s.zeroLike(), P: make([]complex128, len(s.P)), Length: s.Length}
	var dk [][]float64
	du, g.D, dk = convolveBack(dy, t.U, s.D, t.Kernels, t.length)
	for r, row := range dk {
		s.kernelBack(g, r, row)
	}
	return g, du
}

// kernelBack adds the gradients of row r from ∂loss/∂K, node by node.
func (s *S4) kernelBack(g *S4, r int, dk []float64) {
	n := s.nodes()
	for k := range n/2 + 1 {
		var q complex128 // dloss = Re(q·dK̂)
		for l, d := range dk {
			q += complex(d, 0) * weight(k, l, n)
		}
		if 2*k == n {
			for m := range s.M {
				s.modeBack(g, r, m, [4]complex128{complex(real(q), 0)}, [4]complex128{})
			}
			continue
		}
		v := s.node(r, k, n)
		q *= v.s
		kappa := 1 / (1 + v.r[3])
		by := [4]complex128{q, -q * kappa * v.r[2], -q * kappa * v.r[1], q * kappa * kappa * v.r[1] * v.r[2]}
		dt, _ := s.dt(r % s.H)
		for m := range s.M {
			a := complex(dt, 0) * s.lambda(r%s.H, m)
			var byPair, byPole [4]complex128
			for i, q := range by {
				one, other := v.z-a, v.z-cmplx.Conj(a)
				byPair[i] = q/one + cmplx.Conj(q/other)
				byPole[i] = q/(one*one) + cmplx.Conj(q/(other*other))
			}
			s.modeBack(g, r, m, byPair, byPole)
		}
	}
}

// modeBack adds the gradients of mode m of row r. For the products v of pairs,
// dloss = Re Σ byPair·d(Δv) + byPole·Δv·d(ΔΛ).
func (s *S4) modeBack(g *S4, r, m int, byPair, byPole [4]complex128) {
	h := r % s.H
	k := h%s.Copies*s.M + m
	step, slope := s.dt(h)
	dt, lambda := complex(step, 0), s.lambda(h, m)
	b, p, c := s.B[k], s.P[k], s.C[r*s.M+m]
	g.C[r*s.M+m] += cmplx.Conj(dt * (b*byPair[0] + p*byPair[2]))
	g.B[k] += cmplx.Conj(dt * (c*byPair[0] + cmplx.Conj(p)*byPair[1]))
	g.P[k] += cmplx.Conj(dt*(c*byPair[2]+cmplx.Conj(p)*byPair[3])) + dt*(b*byPair[1]+p*byPair[3])
	var byA, byDt complex128
	for i, v := range s.pairs(r, m) {
		byA += dt * v * byPole[i]
		byDt += v * byPair[i]
	}
	dLambda := cmplx.Conj(dt * byA)
	g.AReal[k] += real(dLambda) * real(lambda)
	g.AImag[k] -= imag(dLambda)
	g.InvDt[h] += slope * real(byDt+byA*lambda)
}
