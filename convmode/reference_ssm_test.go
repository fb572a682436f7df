package convmode

import (
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// addMode adds mode m of a row of S4D or DSS to its kernel, tap by tap: Re(w·e^{a(l − first)}).
func addMode(p *ssm.Params, stepScale float64, row, m int, kernel []float64) {
	mode := s4dMode
	if p.Layer == ssm.LayerDSS {
		mode = dssMode
	}
	k := row%p.DModel%p.Copies()*p.Modes() + m
	a, w, first := mode(p, stepScale, row%p.DModel, k)
	w *= p.C[row*p.Modes()+m] * p.B[k]
	for l := range kernel {
		kernel[l] += real(w * cmplx.Exp(a*complex(float64(l-first), 0)))
	}
}

// s4dMode returns log λ̄ and 2B̄/B of a mode of channel h with the index k into [S][M]
// (docs/maths.md §1.3, §1.6, §2.4, §15).
func s4dMode(p *ssm.Params, r float64, h, k int) (pole, weight complex128, first int) {
	decay, freq, step := math.Exp(p.Decay[k]), p.Freq[k], math.Exp(p.Step[h])
	if !p.Discrete() {
		step *= r
	}
	angle := freq * step
	if p.Discrete() {
		angle = freq
	}
	a := complex(-decay*step, angle)
	weight, pole = zohFactor(a), a
	if p.Disc == ssm.Bilinear {
		weight, pole = 1/(1-a/2), cmplx.Log((1+a/2)/(1-a/2))
		angle = imag(pole)
	}
	weight *= complex(2*step, 0)
	if p.Discrete() {
		pole = complex(real(pole), math.Remainder(imag(pole), 2*math.Pi))
		angle = imag(pole) * r
	}
	if p.Discrete() && r != 1 { // λ̄^r and B̄·(λ̄^r − 1)/(λ̄ − 1)
		scale := complex(r, 0)
		weight *= scale * zohFactor(scale*pole) / zohFactor(pole)
		pole *= scale
	}
	return pole, weight * audible(p, angle), 0
}

// audible is 0 for a mode that turns beyond the band limit, else 1.
func audible(p *ssm.Params, angle float64) complex128 {
	if p.Bandlimit > 0 && math.Abs(angle) >= p.Bandlimit*math.Pi {
		return 0
	}
	return 1
}

// zohFactor returns (e^a − 1)/a, by its series Σ a^k/(k+1)! for small a.
func zohFactor(a complex128) (f complex128) {
	if cmplx.Abs(a) > 0.5 {
		return (cmplx.Exp(a) - 1) / a
	}
	power, factorial := complex(1, 0), 1.0
	for k := range 20 {
		factorial *= float64(k + 1)
		f += power / complex(factorial, 0)
		power *= a
	}
	return f
}

// dssMode is s4dMode for the layer of Gupta et al. (arXiv 2203.14343), as version 4 of the official
// S4 code computes it: with a = Δ·A and L taps, the weight is (e^ã − 1)·ρ, ρ = X̄/(|X|² + 1e-7), X =
// (e^(ãL) − 1)·A, where ã = a and first = 0, but ã = −a and first = L−1 for modes with Re A > 0.
func dssMode(p *ssm.Params, r float64, h, k int) (a, weight complex128, first int) {
	lambda, span := complex(-p.Decay[k], p.Freq[k]), p.DSSTaps(r)
	a = complex(math.Exp(p.Step[h])*r, 0) * lambda
	towards := a
	if real(lambda) > 0 {
		towards, first = -a, span-1
	}
	x := (cmplx.Exp(towards*complex(float64(span), 0)) - 1) * lambda
	rho := cmplx.Conj(x) / (x*cmplx.Conj(x) + 1e-7)
	return a, (cmplx.Exp(towards) - 1) * rho * audible(p, imag(a)), first
}

// s4Kernel sets the kernel of a row of S4 (arXiv 2111.00396), where A = diag(Λ) − P·P* on the M
// modes and their conjugates, with the bilinear rule: the inverse discrete Fourier transform of K̂ =
// 2/(1+ω)·(r_BC̃ − r_BP̄·r_PC̃/(1 + r_PP̄)) at ω = e^(−2πik/n), cut to the kernel's taps.
func s4Kernel(p *ssm.Params, stepScale float64, row int, kernel []float64) {
	n, h, modes := int(math.Round(float64(p.LKernel)/stepScale)), row%p.DModel, p.Modes()
	dt := complex(math.Exp(p.Step[h])*stepScale, 0)
	for node := range n/2 + 1 {
		z := complex(0, 2*math.Tan(math.Pi*float64(node)/float64(n))) // 2(1−ω)/(1+ω)
		var r [4]complex128                                           // sums of BC̃, BP̄, PC̃, PP̄
		limit := 0.0                                                  // K̂ at ω = −1
		for m := range modes {
			k := h%p.Copies()*modes + m
			a := dt * complex(-math.Exp(p.Decay[k]), p.Freq[k])
			b, c, q := p.B[k], p.C[row*modes+m], p.P[k]
			limit += real(dt * b * c)
			for i, v := range []complex128{b * c, b * cmplx.Conj(q), q * c, q * cmplx.Conj(q)} {
				v *= dt
				r[i] += v/(z-a) + cmplx.Conj(v)/(z-cmplx.Conj(a))
			}
		}
		value := (1 + z/2) * (r[0] - r[1]*r[2]/(1+r[3]))
		if 2*node == n {
			value = complex(limit, 0)
		}
		if node == 0 || 2*node == n {
			value /= 2
		}
		for l := range kernel {
			kernel[l] += real(value * cmplx.Rect(2/float64(n), 2*math.Pi*float64(node*l%n)/float64(n)))
		}
	}
}

// convolve: y[t] = Σ_j k0[j]·u[t−j] + Σ_j k1[j]·u[t+1+j] + D·u[t] for u [·][H][length] and D [H]
// (docs/maths.md §1.5). The kernels are [1][H] or, with k1, [2][H].
func convolve(u, skip []float64, kernels [][]float64, length int) []float64 {
	return each(u, func(k int, v float64) float64 {
		in, t, h := u[k/length*length:][:length], k%length, k/length%len(skip)
		sum := skip[h] * v
		for j, tap := range kernels[h][:min(t+1, len(kernels[h]))] {
			sum += tap * in[t-j]
		}
		if len(kernels) > len(skip) {
			future := kernels[len(skip)+h]
			for j, tap := range future[:min(length-t-1, len(future))] {
				sum += tap * in[t+1+j]
			}
		}
		return sum
	})
}

// scan is the layer of S5 (arXiv 2208.04933) or the LRU (arXiv 2303.06349), for u [·][H][length]:
// h[t] = λ̄⊙h[t−1] + g⊙(B·u[t]), y[t] = κ·Re(C·h[t]) + D⊙u[t] (docs/maths.md §19.1). With two
// directions, y also has κ·Re(C₁·h₁[t]), where h₁ runs backwards in time.
func scan(p *ssm.Params, stepScale float64, u []float64, length int) []float64 {
	h, modes := p.DModel, p.Modes()
	y := each(u, func(k int, v float64) float64 { return p.D[k/length%h] * v })
	for from := 0; from < len(u); from += h * length {
		for dir := range p.Directions() {
			for n := range modes {
				lambda, gain, factor := scanMode(p, stepScale, n)
				state := complex128(0)
				for step := range length {
					t := step
					if dir == 1 {
						t = length - 1 - step
					}
					var input complex128
					for c, b := range p.B[n*h : (n+1)*h] {
						input += b * complex(u[from+c*length+t], 0)
					}
					state = lambda*state + gain*input
					for c := range h {
						y[from+c*length+t] += factor * real(p.C[(dir*h+c)*modes+n]*state)
					}
				}
			}
		}
	}
	return y
}

// scanMode returns λ̄, the factor of B and κ of a mode. An LRU has λ̄ = exp(−e^ν + i·e^θ) and e^γ.
func scanMode(p *ssm.Params, stepScale float64, n int) (lambda, gain complex128, factor float64) {
	if p.Layer == ssm.LayerLRU {
		return cmplx.Exp(complex(-math.Exp(p.Decay[n]), math.Exp(p.Freq[n]))), complex(math.Exp(p.Gamma[n]), 0), 1
	}
	re := p.Decay[n]
	if p.ClipEigs {
		re = min(re, -1e-4)
	}
	step := complex(stepScale*math.Exp(p.Step[n]), 0)
	a := complex(re, p.Freq[n]) * step
	if p.Disc == ssm.Bilinear {
		return (1 + a/2) / (1 - a/2), step / (1 - a/2), 2
	}
	return cmplx.Exp(a), step * zohFactor(a), 2
}
