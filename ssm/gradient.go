package ssm

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
	modes, s, all, discrete := p.Modes(), p.Copies(), p.Directions()*len(d.modes), p.Discrete()
	for c := lo; c < hi; c++ {
		step := p.step(c, 1)
		var logStep float64
		for n := range modes {
			own, shared := c*modes+n, c%s*modes+n
			forward, b := &d.modes[own], p.B[shared]
			bBar, slope := b*forward.gain.value, b*forward.gain.slope

			// T = Σ ∂W/∂a·G + W·M·∂log λ̄/∂a, so that ∂loss = 2·Re(T·∂a), and Re Σ W·G, because W is
			// also proportional to the step. Both sums are over the directions.
			var t complex128
			var wg float64
			for i := own; i < all; i += len(d.modes) {
				cg := p.C[i] * g[i]
				t += cg*slope + p.C[i]*bBar*m[i]*forward.dLog
				wg += real(cg * bBar)
				gradC, gradB := bBar*g[i], forward.gain.value*cg
				grad.C[i] += complex(2*real(gradC), -2*imag(gradC))
				grad.B[shared] += complex(2*real(gradB), -2*imag(gradB))
			}

			// Re a = −exp(Decay)·step, and Im a is θ or Im A·step
			turn, turned := step, imag(forward.a) // derivatives of Im a with respect to Freq and log step
			if discrete {
				turn, turned = 1, 0
			}
			grad.Freq[shared] -= 2 * imag(t) * turn
			grad.Decay[shared] += 2 * real(t) * real(forward.a)
			logStep += 2 * (real(t)*real(forward.a) - imag(t)*turned + wg)
		}
		grad.Step[c] += logStep
	}
}
