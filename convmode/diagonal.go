package convmode

import (
	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// diagonal is the kernelSource of S4D: K[l] = 2·Re Σ W λ̄^l (docs/maths.md §1.4; S4D, arXiv
// 2206.11893, §3.2).
type diagonal struct {
	parameters
	disc *ssm.Discrete // after discretisation
}

// parameters are those of a block's SSMs, with their gradients.
type parameters struct {
	params    *ssm.Params // the weights in float64
	stepScale float64
	grad      *poleGrad // nil without training
}

// poleGrad is the memory of the gradients of a block's poles. Blocks share it, since their backward
// passes do not overlap.
type poleGrad struct {
	params *ssm.Params  // the gradients
	g      []complex128 // [directions·H][M] G_n (docs/maths.md §7); for S4 [directions·H][4][M] S1
	m      []complex128 // [directions·H][M] M_n; for S4 [directions·H][4][M] S2 (§17.2)
}

func newDiagonal(c model.Config, stepScale float64, grad *poleGrad) *diagonal {
	p := c.NewSSMParams()
	disc := ssm.NewDiscrete(p.Config, stepScale)
	if grad != nil && p.Layer != ssm.LayerDSS {
		disc.KeepModes()
	}
	return &diagonal{parameters{p, stepScale, grad}, disc}
}

func newPoleGrad(c model.Config) *poleGrad {
	p := c.NewSSMParams()
	modes := p.Directions() * p.DModel * p.Modes()
	if c.SSM.Layer == ssm.LayerS4 {
		modes *= ssm.RankOnePairs
	}
	return &poleGrad{params: p, g: make([]complex128, modes), m: make([]complex128, modes)}
}

func (d *diagonal) discretize(h int) {
	d.params.DiscretizeChannels(d.disc, d.params.Disc, d.stepScale, h, h+1)
}

// row returns the range of the modes of channel h in the given direction.
func (d *diagonal) row(dir, h int) (lo, hi int) {
	lo = (dir*d.disc.H + h) * d.disc.M
	return lo, lo + d.disc.M
}

func (d *diagonal) kernels(p kernelPlan, scratch []float32, h int, k0, k1 []float32) {
	plan := p.(*fftkernel.Vandermonde)
	lo, hi := d.row(0, h)
	lambda := d.disc.LogLambda[lo:hi]
	plan.Kernel(k0, lambda, d.disc.W[lo:hi], scratch)
	if k1 != nil {
		lo, hi = d.row(1, h)
		plan.Kernel(k1, lambda, d.disc.W[lo:hi], scratch)
	}
}

func (d *diagonal) kernelGrad(p kernelPlan, scratch []float32, h int, dk0, dk1 []float32) {
	d.sums(p.(*fftkernel.Vandermonde), scratch, h, dk0, dk1)
	d.backward(h)
}

// sums computes G_n and M_n of docs/maths.md §7.
func (d *diagonal) sums(plan *fftkernel.Vandermonde, scratch []float32, h int, dk0, dk1 []float32) {
	grad := d.grad
	lo, hi := d.row(0, h)
	lambda := d.disc.LogLambda[lo:hi]
	for dir, dk := range [2][]float32{dk0, dk1} {
		if dk != nil {
			lo, hi = d.row(dir, h)
			plan.Grad(grad.g[lo:hi], grad.m[lo:hi], dk, lambda, scratch)
		}
	}
}

// backward computes the gradients of channel h's parameters, unless it shares its poles.
func (d *diagonal) backward(h int) {
	if grad := d.grad; d.ownPoles() {
		d.params.BackwardChannels(grad.params, d.disc, grad.g, grad.m, h, h+1)
	}
}

// addGrad completes the gradients of channels that share poles.
func (d *diagonal) addGrad(grad *model.Layer) {
	if p := d.grad; !d.ownPoles() {
		d.params.BackwardChannels(p.params, d.disc, p.g, p.m, 0, d.params.DModel)
	}
	d.parameters.addGrad(grad)
}

func (p *parameters) fill(w *model.Layer) { w.FillSSM(p.params) }

// ownPoles reports whether every channel has its own copy of the poles, so that channels are
// independent. Channels that share poles add to the same gradients, so addGrad runs them one after
// the other.
func (p *parameters) ownPoles() bool { return p.params.Copies() == p.params.DModel }

func (p *parameters) addGrad(grad *model.Layer) { grad.AddSSM(p.grad.params) }

// clearGrad zeroes the gradients to which channels add.
func (p *parameters) clearGrad() {
	g := p.grad.params
	clear(g.Step)
	clear(g.Decay)
	clear(g.Freq)
	clear(g.B)
	clear(g.P)
	clear(g.C)
}
