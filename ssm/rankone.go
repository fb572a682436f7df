package ssm

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
)

// RankOne is the bilinear system of one channel of an S4 layer, A = diag(Λ) − P·P*, on the M kept
// modes (docs/maths.md §17.3). With ⟨u,v⟩ = 2·Re Σ u·v,
//
//	h ← E·h − P·⟨U,h⟩ + B·x,  y = ⟨C,h⟩.
type RankOne struct {
	E, P, U, B []complex128 // [M]
}

// pair is ⟨u,v⟩, the sum over the modes and their conjugates.
func pair(u, v []complex128) float64 {
	sum := 0.0
	for n, x := range u {
		sum += real(x)*real(v[n]) - imag(x)*imag(v[n])
	}
	return 2 * sum
}

// NewRankOne allocates the system of a channel.
func NewRankOne(modes int) *RankOne {
	all := make([]complex128, 4*modes)
	return &RankOne{E: all[:modes], P: all[modes : 2*modes], U: all[2*modes : 3*modes], B: all[3*modes:]}
}

// RankOne sets r to the system of channel h. It allocates nothing.
func (p *Params) RankOne(r *RankOne, h int, stepScale float64) {
	dt := complex(p.step(h, stepScale), 0)
	at := h % p.Copies() * p.Modes()
	ps, bs := p.P[at:at+p.Modes()], p.B[at:at+p.Modes()]
	for n := range r.E {
		lambda := p.pole(at + n)
		f := 1 / (2/dt - lambda)
		r.E[n] = f * (2/dt + lambda)
		r.P[n] = f * ps[n]
		r.U[n] = f * cmplx.Conj(ps[n])
	}
	rho, input := pair(r.U, ps), pair(r.U, bs)
	for n := range r.E {
		r.B[n] = 2*bs[n]/(2/dt-p.pole(at+n)) - 2*r.P[n]*complex(input/(1+rho), 0)
		r.U[n] *= 4 / dt * complex(1/(1+rho), 0)
	}
}

// Poles writes Λ of channel h, [M], and returns its step at a step scale.
func (p *Params) Poles(lambda []complex128, h int, stepScale float64) (step float64) {
	for n := range lambda {
		lambda[n] = p.pole(h%p.Copies()*p.Modes() + n)
	}
	return p.step(h, stepScale)
}

// pole returns Λ of mode i of [S][M].
func (p *Params) pole(i int) complex128 {
	return complex(-math.Exp(p.Decay[i]), p.Freq[i])
}

// transposed sets c to (Ā^power)ᵀ·c: Āᵀ·c = E·c − U·⟨P,c⟩.
func (r *RankOne) transposed(c []complex128, power int) {
	for range power {
		w := complex(pair(r.P, c), 0)
		for n := range c {
			c[n] = r.E[n]*c[n] - r.U[n]*w
		}
	}
}

// output returns C of channel h in a direction, [M].
func (p *Params) output(dir, h int) []complex128 {
	m := p.Modes()
	at := (dir*p.DModel + h) * m
	return p.C[at : at+m]
}

// TruncateChannels replaces C of channels [lo, hi) by C̃ = (I − Ā^length)ᵀ·C, with which the
// transform of length nodes gives the kernel's first length taps (S4, arXiv 2111.00396, appendix
// C.3).
func (p *Params) TruncateChannels(stepScale float64, length, lo, hi int) {
	p.addPower(stepScale, -1, length, lo, hi)
}

// ExtendChannels replaces the C̃ of channels [lo, hi), which belongs to LKernel taps, by that of
// length taps, which KernelLength returns: C̃ ← (I + Ā^L)ᵀ·C̃ doubles L. If LKernel is 0, it
// truncates.
func (p *Params) ExtendChannels(length, lo, hi int) {
	if p.LKernel == 0 {
		p.TruncateChannels(1, length, lo, hi)
		return
	}
	for l := p.LKernel; l < length; l *= 2 {
		p.addPower(1, 1, l, lo, hi)
	}
}

// addPower sets C ← C + sign·(Ā^power)ᵀ·C.
func (p *Params) addPower(stepScale, sign float64, power, lo, hi int) {
	r, moved := NewRankOne(p.Modes()), make([]complex128, p.Modes())
	for h := lo; h < hi; h++ {
		p.RankOne(r, h, stepScale)
		for dir := range p.Directions() {
			c := p.output(dir, h)
			copy(moved, c)
			r.transposed(moved, power)
			for n, v := range moved {
				c[n] += complex(sign, 0) * v
			}
		}
	}
}

// KernelLength returns the length that C̃ has after it is doubled until it is at least need:
// LKernel times a power of two, or need if LKernel is 0.
func (c Config) KernelLength(need int) int {
	if c.LKernel == 0 {
		return need
	}
	length := c.LKernel
	for length < need {
		length *= 2
	}
	return length
}

// RecoverChannels replaces the C̃ of channels [lo, hi), which belongs to LKernel taps, by C. It
// returns the error of the first channel for which that is impossible.
func (p *Params) RecoverChannels(lo, hi int) error {
	if p.LKernel == 0 {
		return nil
	}
	r := NewRankOne(p.Modes())
	for h := lo; h < hi; h++ {
		p.RankOne(r, h, 1)
		if err := p.recoverChannel(r, h); err != nil {
			return fmt.Errorf("ssm: channel %d: l_kernel %d: C cannot be recovered from C̃: %w", h, p.LKernel, err)
		}
	}
	return nil
}

// maxCondition bounds the condition number of I − Ā^L. Beyond it, C has less than three correct
// digits. At the start of training the number is below 1e11, also for steps of 1e-12.
const maxCondition = 1e13

// recoverChannel solves (I − Ā^L)ᵀ·C = C̃ for channel h, on real and imaginary parts.
func (p *Params) recoverChannel(r *RankOne, h int) error {
	m, a := p.Modes(), r.complement(p.LKernel)
	if !a.isFinite() {
		return errors.New("the matrix Ā^l_kernel is not finite")
	}
	solveTransposed, condition := a.factorize()
	if !(condition <= maxCondition) {
		return fmt.Errorf("the condition number of I − Ā^l_kernel is %.2g, expected at most %.0g", condition, maxCondition)
	}
	x := make([]float64, 2*m)
	for dir := range p.Directions() {
		c := p.output(dir, h)
		for n, v := range c {
			x[n], x[m+n] = real(v), -imag(v)
		}
		solveTransposed(x)
		for n := range c {
			c[n] = complex(x[n], -x[m+n])
		}
	}
	return nil
}

// matrix returns Ā on the real parts of h, then the imaginary ones: ⟨C,h⟩/2 is the product of the
// row (Re C, −Im C) with such a vector.
func (r *RankOne) matrix() matrix {
	m := len(r.E)
	square := newMatrix(2 * m)
	for i, e := range r.E {
		for j, u := range r.U {
			re, im := 2*real(r.P[i]), 2*imag(r.P[i])
			square.set(i, j, -re*real(u))
			square.set(i, m+j, re*imag(u))
			square.set(m+i, j, -im*real(u))
			square.set(m+i, m+j, im*imag(u))
		}
		square.add(i, i, real(e))
		square.add(i, m+i, -imag(e))
		square.add(m+i, i, imag(e))
		square.add(m+i, m+i, real(e))
	}
	return square
}

// complement returns I − Ā^power, in the form of matrix.
func (r *RankOne) complement(power int) matrix {
	m, square := len(r.E), r.matrix()
	result, next := identity(2*m), newMatrix(2*m)
	for ; power > 0; power >>= 1 { // the powers of two of Ā
		if power&1 == 1 {
			next.multiply(result, square)
			result, next = next, result
		}
		if power > 1 {
			next.multiply(square, square)
			square, next = next, square
		}
	}
	for i, v := range identity(2 * m).values {
		result.values[i] = v - result.values[i]
	}
	return result
}

// The products of the Cauchy sums: of B or P with C̃ or P̄ (docs/maths.md §17.1).
const (
	pairBC = iota
	pairBP
	pairPC
	pairPP

	// RankOnePairs is the number of products.
	RankOnePairs
)

// BackwardRankOne adds the gradients of row row of C (direction·H + channel) to grad's Step,
// Decay, Freq, B, P and C. byPair and byPole, both [4][M] for the products BC̃, BP̄, PC̃ and PP̄,
// are S1 and S2 of docs/maths.md §17.2. C̃ is the parameter, so nothing passes through its set-up.
// Channels that share poles add to the same entries.
func (p *Params) BackwardRankOne(grad *Params, byPair, byPole []complex128, row int) {
	m, h := p.Modes(), row%p.DModel
	step := p.step(h, 1)
	dt := complex(step, 0)
	byStep := 0.0
	for n := range m {
		i := h%p.Copies()*m + n
		b, q, c, lambda := p.B[i], p.P[i], p.C[row*m+n], p.pole(i)
		conj := cmplx.Conj(q)
		s := [RankOnePairs]complex128{byPair[n], byPair[m+n], byPair[2*m+n], byPair[3*m+n]}
		grad.C[row*m+n] += cmplx.Conj(dt * (b*s[pairBC] + q*s[pairPC]))
		grad.B[i] += cmplx.Conj(dt * (c*s[pairBC] + conj*s[pairBP]))
		grad.P[i] += cmplx.Conj(dt*(c*s[pairPC]+conj*s[pairPP])) + dt*(b*s[pairBP]+q*s[pairPP])
		var t, direct complex128
		for k, v := range [RankOnePairs]complex128{b * c, b * conj, q * c, q * conj} {
			t += dt * v * byPole[k*m+n]
			direct += v * s[k]
		}
		dLambda := cmplx.Conj(dt * t)
		grad.Decay[i] += real(dLambda) * real(lambda)
		grad.Freq[i] += imag(dLambda)
		byStep += real(direct + t*lambda)
	}
	grad.Step[h] += step * byStep
}
