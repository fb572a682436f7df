package ssm

import "math/cmplx"

// BackwardChannels computes the gradients of the parameters of channels [lo, hi) from the gradient
// of the kernel, and adds them to grad's Step, Decay, Freq, B and C (docs/maths.md §7). D is
// not part of the kernel. d is the discretisation of these parameters at the step scale 1, which
// keeps its modes.
//
// g and m, both [directions·H][M], are G_n = Σ_l K′[l]·λ̄_n^l and M_n = Σ_l l·K′[l]·λ̄_n^l with K′
// = ∂loss/∂K. For a growing mode of DSS, l − (Taps − 1) replaces l as factor and exponent. A
// complex gradient holds ∂/∂Re in its real part and ∂/∂Im in its imaginary part. BackwardChannels
// allocates nothing. Channels that share poles add to the same entries, so ranges may run
// concurrently only if S = H.
func (p *Params) BackwardChannels(grad *Params, d *Discrete, g, m []complex128, lo, hi int) {
	if p.Layer == LayerDSS {
		p.backwardDSS(grad, g, m, lo, hi)
		return
	}
	modes, s := p.Modes(), p.Copies()
	for c := lo; c < hi; c++ {
		step := p.step(c, 1)
		var logStep float64
		for n := range modes {
			shared := c%s*modes + n
			forward := &d.modes[c*modes+n]
			a := forward.a
			t, wg := p.backwardMode(grad, forward, g, m, c*modes+n, shared)

			// Re a = −exp(Decay)·step, and Im a is θ or Im A·step
			turn, turned := 1.0, 0.0 // derivatives of Im a with respect to Freq and log step
			if !p.Discrete() {
				turn, turned = step, imag(a)
			}
			grad.Freq[shared] -= 2 * imag(t) * turn
			grad.Decay[shared] += 2 * real(t) * real(a)
			logStep += 2 * (real(t)*real(a) - imag(t)*turned + wg)
		}
		grad.Step[c] += logStep
	}
}

// backwardMode adds one mode's gradients of C and B. It returns T = Σ ∂W/∂a·G + W·M·∂log λ̄/∂a, so
// that ∂loss = 2·Re(T·∂a), and Re Σ W·G, because W is also proportional to the step. Both sums are
// over the directions. own indexes [H][M], shared [S][M].
func (p *Params) backwardMode(grad *Params, forward *mode, g, m []complex128, own, shared int) (t complex128, wg float64) {
	b, k := p.B[shared], forward.gain
	for dir := range p.Directions() {
		i := dir*p.DModel*p.Modes() + own
		cg := p.C[i] * g[i]
		w := p.C[i] * b * k.value
		t += cg*b*k.slope + w*m[i]*forward.dLog
		wg += real(w * g[i])
		grad.C[i] += 2 * cmplx.Conj(b*k.value*g[i])
		grad.B[shared] += 2 * cmplx.Conj(k.value*cg)
	}
	return t, wg
}
