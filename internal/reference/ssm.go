package reference

import (
	"math"
	"math/cmplx"
)

// mode is one complex mode of one channel after discretisation: K[l] =
// 2·Re(C·B·step·beta·exp(l·pole)).
type mode struct {
	a           complex128 // the exponent: Δ·A, or −ρξ + iθ
	step        float64    // Δ or ξ; 1 where B̄ is not proportional to it
	byStep      float64    // 1 where it is
	beta, dBeta complex128 // input factor and its derivative by a
	dReal       complex128 // its derivative by Re a, beside dBeta
	pole, dPole complex128 // log λ̄ and its derivative by a
	aDecay      complex128 // ∂a/∂LogDecay
	aStep       complex128 // ∂a/∂LogStep
	aFreq       complex128 // ∂a/∂Freq
}

// discretize returns mode m of channel h (docs/maths.md §1.3, §1.6, §2.4).
func (n *Network) discretize(l *Layer, h, m int) mode {
	k := h%n.Copies*n.M + m
	decay, freq := math.Exp(l.LogDecay[k]), l.Freq[k]
	x := mode{step: math.Exp(l.LogStep[h]), byStep: 1}
	if !n.Discrete {
		x.step *= n.StepScale
	}
	damping := -decay * x.step
	switch {
	case n.Discrete && n.Width:
		x.a = complex(damping, l.Omega[k]+2*decay*x.step*freq)
		x.aFreq = complex(0, 2*decay*x.step)
		x.aDecay = complex(damping, 2*decay*x.step*freq)
		x.aStep = x.aDecay
	case n.Discrete:
		x.a, x.aFreq = complex(damping, freq), 1i
		x.aDecay, x.aStep = complex(damping, 0), complex(damping, 0)
	default:
		x.a, x.aFreq = complex(damping, freq*x.step), complex(0, x.step)
		x.aDecay, x.aStep = complex(damping, 0), x.a
	}
	if n.Bilinear {
		q := 1 - x.a/2
		x.beta, x.dBeta = 1/q, 1/(2*q*q)
		x.pole, x.dPole = cmplx.Log((1+x.a/2)/q), 1/(q*(1+x.a/2))
	} else {
		x.beta, x.dBeta = zohFactor(x.a)
		x.pole, x.dPole = cmplx.Log(cmplx.Exp(x.a)), 1
	}
	if n.Width { // B̄ is proportional to the mode's own 2ρξ = −2·Re a
		own := complex(-2*real(x.a), 0)
		x.step, x.byStep = 1, 0
		x.dReal = -2 * x.beta
		x.beta, x.dBeta = own*x.beta, own*x.dBeta
	}
	if n.Discrete && n.StepScale != 1 { // λ̄^r and r·B̄, or B̄·(λ̄^r − 1)/(λ̄ − 1)
		r := complex(n.StepScale, 0)
		sum, dSum := r, complex(0, 0)
		if !n.Decimate {
			one, dOne := zohFactor(x.pole)
			all, dAll := zohFactor(r * x.pole)
			sum, dSum = r*all/one, r*(r*dAll*one-all*dOne)/(one*one)
		}
		x.dBeta = x.dBeta*sum + x.beta*dSum*x.dPole
		x.beta, x.dReal = x.beta*sum, x.dReal*sum
		x.pole, x.dPole = r*x.pole, r*x.dPole
	}
	angle := imag(x.pole)
	if !n.Discrete && !n.Bilinear {
		angle = imag(x.a)
	}
	if n.Bandlimit > 0 && math.Abs(angle) >= n.Bandlimit*math.Pi {
		x.step = 0
	}
	return x
}

// zohFactor returns (e^a − 1)/a and its derivative, by their series for small a.
func zohFactor(a complex128) (f, df complex128) {
	if cmplx.Abs(a) > 0.5 {
		f = (cmplx.Exp(a) - 1) / a
		return f, (cmplx.Exp(a) - f) / a
	}
	power, factorial := complex(1, 0), 1.0
	for k := range 20 { // Σ a^k/(k+1)!
		factorial *= float64(k + 1)
		f += power / complex(factorial, 0)
		df += power * complex(float64(k+1)/(factorial*float64(k+2)), 0)
		power *= a
	}
	return f, df
}

func (n *Network) directions() int {
	if n.Bidirectional {
		return 2
	}
	return 1
}

// taps returns the length of the kernels for sequences of a length.
func (n *Network) taps(length int) int {
	if n.LMax == 0 {
		return length
	}
	return min(length, max(1, int(math.Round(float64(n.LMax)/n.StepScale))))
}

// kernels returns [directions·H][taps], one tap at a time.
func (n *Network) kernels(l *Layer, length int) [][]float64 {
	list := make([][]float64, n.directions()*n.H)
	for r := range list {
		h := r % n.H
		list[r] = zeros(n.taps(length))
		for m := range n.M {
			x := n.discretize(l, h, m)
			w := l.C[r*n.M+m] * l.B[h%n.Copies*n.M+m] * complex(x.step, 0) * x.beta
			for s := range list[r] {
				list[r][s] += 2 * real(w*cmplx.Exp(x.pole*complex(float64(s), 0)))
			}
		}
	}
	return list
}

// convolve: y[t] = Σ_j k0[j]·u[t−j] + Σ_j k1[j]·u[t+1+j] + D·u[t] for u [.][H][length] and D [H]
// (docs/maths.md §1.5). The kernels are [1][H] or, with k1, [2][H].
func convolve(u, skip []float64, kernels [][]float64, length int) []float64 {
	y := zeros(len(u))
	for row := range len(u) / length {
		h := row % len(skip)
		in, out := u[row*length:(row+1)*length], y[row*length:(row+1)*length]
		for t := range out {
			out[t] = skip[h] * in[t]
			for j, k := range kernels[h] {
				if t-j >= 0 {
					out[t] += k * in[t-j]
				}
			}
			if len(kernels) > len(skip) {
				for j, k := range kernels[len(skip)+h] {
					if t+1+j < length {
						out[t] += k * in[t+1+j]
					}
				}
			}
		}
	}
	return y
}

// convolveBack returns the gradients of u, D and the kernels from ∂loss/∂y.
func convolveBack(dy, u, skip []float64, kernels [][]float64, length int) (du, dSkip []float64, dk [][]float64) {
	du, dSkip, dk = zeros(len(u)), zeros(len(skip)), make([][]float64, len(kernels))
	for r := range dk {
		dk[r] = zeros(len(kernels[r]))
	}
	for row := range len(u) / length {
		h := row % len(skip)
		in, out, dIn := u[row*length:(row+1)*length], dy[row*length:(row+1)*length], du[row*length:(row+1)*length]
		for t, v := range out {
			dSkip[h] += v * in[t]
			dIn[t] += v * skip[h]
			for j, k := range kernels[h] {
				if t-j >= 0 {
					dk[h][j] += v * in[t-j]
					dIn[t-j] += v * k
				}
			}
			if len(kernels) > len(skip) {
				for j, k := range kernels[len(skip)+h] {
					if t+1+j < length {
						dk[len(skip)+h][j] += v * in[t+1+j]
						dIn[t+1+j] += v * k
					}
				}
			}
		}
	}
	return du, dSkip, dk
}

// kernelBack adds the gradients of parameters from ∂loss/∂K of row r, tap by tap, for
// K[s] = 2·Re(C·B·step·beta·exp(s·pole)).
func (n *Network) kernelBack(g, l *Layer, r int, dk []float64) {
	h := r % n.H
	for m := range n.M {
		k := h%n.Copies*n.M + m
		x := n.discretize(l, h, m)
		b, c, step := l.B[k], l.C[r*n.M+m], complex(x.step, 0)
		for s, d := range dk {
			e := cmplx.Exp(x.pole * complex(float64(s), 0))
			tap := complex(2*d, 0)
			g.C[r*n.M+m] += cmplx.Conj(tap * b * step * x.beta * e)
			g.B[k] += cmplx.Conj(tap * c * step * x.beta * e)
			byA := tap * c * b * step * (x.dBeta + x.beta*x.dPole*complex(float64(s), 0)) * e
			// What depends on Re a alone has the derivative dReal beside byA.
			byReal := real(tap * c * b * step * x.dReal * e)
			g.LogDecay[k] += real(byA*x.aDecay) + byReal*real(x.aDecay)
			g.Freq[k] += real(byA * x.aFreq)
			g.LogStep[h] += real(byA*x.aStep) + byReal*real(x.aStep)
			g.LogStep[h] += x.byStep * real(tap*c*b*step*x.beta*e) // through the step
		}
	}
}
