package convmode

import (
	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// convolution is the sequenceLayer of SSMs with one kernel per channel (docs/maths.md §9.2). The
// work of a channel is one item.
type convolution struct {
	bk      *block
	source  kernelSource
	spectra []float32 // [H][spectrum] of Options.Fixed; else nil
	kernels []float32 // [H][directions][taps] of a pass in training, in its backward pass their gradients; else nil

	loops struct{ forward, backward func(worker, item int) }
}

func (bk *block) newConvolution(source kernelSource) *convolution {
	c := &convolution{bk: bk, source: source}
	c.loops.forward, c.loops.backward = c.convolveChannel, c.convolveGradChannel
	return c
}

func (c *convolution) forward() {
	bk := c.bk
	if !bk.pass.computed {
		c.source.fill(bk.weights)
	}
	bk.net.pool.For(bk.net.cfg.DModel, c.loops.forward)
}

func (c *convolution) backward() {
	c.source.clearGrad()
	c.bk.net.pool.For(c.bk.net.cfg.DModel, c.loops.backward)
	c.source.addGrad(c.bk.grads)
}

// convolveChannel runs the convolution of one channel for the whole batch: v = k ∗ mask(u) + D·u.
func (c *convolution) convolveChannel(w, h int) {
	bk, p := c.bk, c.bk.pass
	ws := &bk.net.workers[w]
	spectrum := c.spectrum(ws, h)
	if !p.computed {
		k0, k1 := c.taps(ws, h)
		c.source.discretize(h)
		c.source.kernels(p.plan.kernel, ws.conv, h, k0, k1)
		k0[0] += bk.weights.D[h] // so the convolution includes D·u
		p.plan.conv.Spectrum(spectrum, k0, k1)
	}
	u, v := bk.in.u, bk.v
	for b := 0; b < p.size; b += 2 {
		u0, u1 := p.pair(ws, u, b, h)
		v0, v1 := p.row(v, b, h), []float32(nil)
		if u1 != nil {
			v1 = p.row(v, b+1, h)
		}
		p.prefetchPair(v, b, h, bk.net.opt.Workers)
		p.prefetchPair(u, b+2, h, bk.net.opt.Workers)
		p.plan.conv.Convolve(fftkernel.Rows{v0, v1}, fftkernel.Rows{u0, u1}, spectrum, ws.conv)
	}
}

// taps returns the memory for the kernel of channel h or its gradient, and for that of its second
// direction, nil if causal: in the layer in training, otherwise in scratch.
func (c *convolution) taps(ws *worker, h int) (k0, k1 []float32) {
	all, taps, directions := ws.taps, c.bk.pass.plan.taps, c.bk.net.cfg.SSM.Directions()
	if c.kernels != nil {
		all = c.kernels[h*directions*taps:]
	}
	if directions == 2 {
		k1 = all[taps : 2*taps]
	}
	return all[:taps], k1
}

// spectrum returns the memory of channel h's spectrum: in the layer if it keeps it, otherwise in
// scratch.
func (c *convolution) spectrum(ws *worker, h int) []float32 {
	size := c.bk.pass.plan.conv.SpectrumLen()
	if c.spectra == nil {
		return ws.spectra[0][:size]
	}
	return c.spectra[h*size : (h+1)*size]
}

// convolveGradChannel computes ∂u of one channel from ∂v, which is stored in v. Without a norm
// between x_i and u_i it adds ∂u to ∂x_i. With a norm it leaves ∂u in v. It also accumulates the
// gradients of the channel's poles, weights and D.
func (c *convolution) convolveGradChannel(w, h int) {
	bk, p := c.bk, c.bk.pass
	ws := &bk.net.workers[w]
	spectrum := c.spectrum(ws, h)
	k0, k1 := c.taps(ws, h)
	p.plan.conv.Spectrum(spectrum, k0, k1) // kept spectra would take four times the memory, and longer to read
	acc := ws.spectra[1][:len(spectrum)]
	clear(acc)
	u, dv := bk.in.u, bk.v
	for b := 0; b < p.size; b += 2 {
		u0, u1 := p.pair(ws, u, b, h)
		d0, d1 := p.row(dv, b, h), []float32(nil)
		if u1 != nil {
			d1 = p.row(dv, b+1, h)
		}
		du0, du1 := d0, d1
		if bk.in.norm == nil { // ∂u is only added to ∂x_i
			du0 = ws.du[0][:p.length]
			if d1 != nil {
				du1 = ws.du[1][:p.length]
			}
		}
		p.prefetchPair(u, b+2, h, bk.net.opt.Workers)
		p.prefetchPair(dv, b+2, h, bk.net.opt.Workers)
		p.plan.conv.ConvolveGrad(fftkernel.Rows{du0, du1}, fftkernel.Rows{d0, d1}, fftkernel.Rows{u0, u1}, acc, spectrum, ws.conv)
		bk.addInputGrad(du0, b, h)
		if d1 != nil {
			bk.addInputGrad(du1, b+1, h)
		}
	}
	c.kernelGrad(ws, h, acc)
}

// kernelGrad adds the gradients of the weights that determine channel h's kernel, from the gradient
// of its spectrum summed over the batch.
func (c *convolution) kernelGrad(ws *worker, h int, acc []float32) {
	plan := c.bk.pass.plan
	dk0, dk1 := c.taps(ws, h)
	plan.conv.KernelGrad(dk0, dk1, acc)
	c.bk.grads.D[h] += dk0[0]
	used := min(c.bk.pass.length, plan.taps) // later taps multiply no sample
	if dk1 != nil {
		dk1 = dk1[:used]
	}
	c.source.kernelGrad(plan.kernel, ws.conv, h, dk0[:used], dk1)
}

// identity is the sequenceLayer of a block without an SSM: v = mask(u).
type identity struct {
	bk      *block
	channel func(worker, h int)
}

func (bk *block) newIdentity() identity {
	l := identity{bk: bk}
	l.channel = l.maskChannel
	return l
}

func (l identity) forward() { l.bk.net.pool.For(l.bk.net.cfg.DModel, l.channel) }

func (l identity) maskChannel(_, h int) {
	bk, p := l.bk, l.bk.pass
	for b := range p.size {
		v, used := p.row(bk.v, b, h), p.trueLen(b)
		copy(v[:used], p.row(bk.in.u, b, h))
		clear(v[used:])
	}
}

func (l identity) backward() { l.bk.net.pool.For(l.bk.net.cfg.DModel, l.bk.loops.inputGrad) }

// inputGradChannel is addInputGrad for ∂u of channel h, which is in v.
func (bk *block) inputGradChannel(_, h int) {
	for b := range bk.pass.size {
		bk.addInputGrad(bk.pass.row(bk.v, b, h), b, h)
	}
}

// addInputGrad zeroes the padding of ∂u of channel h of sequence b, and adds ∂u to ∂x_i unless a
// norm is between them.
func (bk *block) addInputGrad(du []float32, b, h int) {
	clear(du[bk.pass.trueLen(b):])
	if bk.in.norm == nil {
		g := bk.pass.row(bk.net.grad, b, h)
		vek.Add(g, g, du)
	}
}
