package convmode

import (
	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// convolution is the sequenceLayer of SSMs with one kernel per channel (docs/maths.md §9.2), and of
// blocks without an SSM. The work of a channel is one item.
type convolution struct{ *block }

func (c convolution) forward() {
	if c.source != nil && !c.computed {
		c.source.fill(c.weights)
	}
	c.pool.For(c.cfg.DModel, c.loops.conv)
}

func (c convolution) backward() {
	if c.source != nil {
		c.source.clearGrad()
	}
	c.pool.For(c.cfg.DModel, c.loops.convGrad)
	if c.source != nil {
		c.source.addGrad(c.grads)
	}
}

// convChannel runs the convolution of one channel for the whole batch: v = k ∗
// mask(u) + D·u, or v = mask(u) in a block without an SSM.
func (bk *block) convChannel(w, h int) {
	ws := &bk.workers[w]
	bk.in.batchNormsChannel(w, h)
	bk.dropChannel(h)
	if bk.source == nil {
		bk.passChannel(h)
		return
	}
	khat := bk.khat(ws, h)
	if !bk.computed {
		k0, k1 := bk.kernels(ws, h)
		bk.plan.conv.Spectrum(khat, k0, k1)
	}
	u, v := bk.in.u, bk.v
	for b := 0; b < bk.size; b += 2 {
		u0, u1 := bk.pair(ws, u, b, h)
		v0, v1 := bk.row(v, b, h), []float32(nil)
		if u1 != nil {
			v1 = bk.row(v, b+1, h)
		}
		bk.prefetchPair(v, b, h)
		bk.prefetchPair(u, b+2, h)
		bk.plan.conv.Convolve(fftkernel.Rows{v0, v1}, fftkernel.Rows{u0, u1}, khat, ws.conv)
	}
}

// passChannel sets v = mask(u).
func (bk *block) passChannel(h int) {
	for b := range bk.size {
		v, used := bk.row(bk.v, b, h), bk.trueLen(b)
		copy(v[:used], bk.row(bk.in.u, b, h))
		clear(v[used:])
	}
}

// kernels computes the kernel of channel h and that of its second direction, nil if causal. D is
// added to the first tap, so the convolution includes D·u.
func (bk *block) kernels(ws *worker, h int) (k0, k1 []float32) {
	k0, k1 = bk.taps(ws, h)
	bk.source.discretize(h)
	bk.source.kernels(bk.plan.kernel, ws.conv, h, k0, k1)
	k0[0] += bk.weights.D[h]
	return k0, k1
}

// taps returns the memory of channel h's kernels: in training in the layer, which keeps them from
// forward to backward, otherwise in scratch.
func (bk *block) taps(ws *worker, h int) (k0, k1 []float32) {
	if bk.kept == nil {
		return bk.scratchTaps(ws)
	}
	stride := rowStride(bk.plan.taps)
	at := h * bk.cfg.SSM.Directions() * stride
	if bk.cfg.SSM.Bidirectional {
		k1 = bk.kept[at+stride:][:bk.plan.taps]
	}
	return bk.kept[at:][:bk.plan.taps], k1
}

// scratchTaps returns a worker's memory for the kernels of a channel or their gradients.
func (bk *block) scratchTaps(ws *worker) (k0, k1 []float32) {
	if bk.cfg.SSM.Bidirectional {
		k1 = ws.taps[1][:bk.plan.taps]
	}
	return ws.taps[0][:bk.plan.taps], k1
}

// khat returns the memory of channel h's spectrum: in the layer if it is Fixed, otherwise in
// scratch.
func (bk *block) khat(ws *worker, h int) []float32 {
	size := bk.plan.conv.SpectrumLen()
	if bk.spectra == nil {
		return ws.spectra[0][:size]
	}
	return bk.spectra[h*size : (h+1)*size]
}

// pair returns channel h of sequences b and b+1 (nil past the last) with the padding zeroed.
func (bk *block) pair(ws *worker, a array, b, h int) (u0, u1 []float32) {
	u0 = bk.maskedRow(ws.masked[0], a, b, h)
	if b+1 < bk.size {
		u1 = bk.maskedRow(ws.masked[1], a, b+1, h)
	}
	return u0, u1
}

// longestPrefetch is the length in floats of the longest row (8 KiB) that is prefetched. A few such
// rows fit in the L1 cache beside a transform. Processors prefetch longer rows by themselves.
const longestPrefetch = 2048

// prefetchPair prefetches channel h of sequences b and b+1 of the batch, unless rows are too long.
func (bk *block) prefetchPair(a array, b, h int) {
	if bk.length > longestPrefetch {
		return
	}
	for i := b; i < min(b+2, bk.size); i++ {
		vek.Prefetch(bk.row(a, i, h))
	}
}

func (bk *block) maskedRow(buf []float32, a array, b, h int) []float32 {
	row, used := bk.row(a, b, h), bk.trueLen(b)
	if used == bk.length {
		return row
	}
	buf = buf[:bk.length]
	clear(buf[copy(buf, row[:used]):])
	return buf
}

// convGradChannel computes ∂u of one channel from ∂v, which is stored in v. Without a
// norm between x_i and u_i it adds ∂u to ∂x_i. With a norm it leaves ∂u in v. It also accumulates
// the gradients of the channel's poles, weights and D.
func (bk *block) convGradChannel(w, h int) {
	ws := &bk.workers[w]
	if bk.source == nil {
		for b := range bk.size {
			bk.addInputGrad(bk.row(bk.v, b, h), b, h)
		}
		bk.in.batchNormsGradChannel(w, h)
		return
	}
	khat := bk.khat(ws, h)
	k0, k1 := bk.taps(ws, h)
	bk.plan.conv.Spectrum(khat, k0, k1)
	acc := ws.spectra[1][:bk.plan.conv.SpectrumLen()]
	clear(acc)
	u, dv := bk.in.u, bk.v
	for b := 0; b < bk.size; b += 2 {
		u0, u1 := bk.pair(ws, u, b, h)
		d0, d1 := bk.row(dv, b, h), []float32(nil)
		if u1 != nil {
			d1 = bk.row(dv, b+1, h)
		}
		du0, du1 := d0, d1
		if bk.in.norm == nil { // ∂u is only added to ∂x_i
			du0 = ws.du[0][:bk.length]
			if d1 != nil {
				du1 = ws.du[1][:bk.length]
			}
		}
		bk.prefetchPair(u, b+2, h)
		bk.prefetchPair(dv, b+2, h)
		bk.plan.conv.ConvolveGrad(fftkernel.Rows{du0, du1}, fftkernel.Rows{d0, d1}, fftkernel.Rows{u0, u1}, acc, khat, ws.conv)
		bk.addInputGrad(du0, b, h)
		if d1 != nil {
			bk.addInputGrad(du1, b+1, h)
		}
	}
	bk.kernelGrad(ws, h, acc)
	bk.in.batchNormsGradChannel(w, h)
}

// kernelGrad adds the gradients of the weights that determine channel h's kernel, from the gradient
// of its spectrum summed over the batch.
func (bk *block) kernelGrad(ws *worker, h int, acc []float32) {
	dk0, dk1 := bk.scratchTaps(ws)
	bk.plan.conv.KernelGrad(dk0, dk1, acc)
	bk.grads.D[h] += dk0[0]
	used := min(bk.length, bk.plan.taps) // later taps multiply no sample
	if dk1 != nil {
		dk1 = dk1[:used]
	}
	bk.source.kernelGrad(bk.plan.kernel, ws.conv, h, dk0[:used], dk1)
}

// addInputGrad zeroes the padding of ∂u of channel h of sequence b, and adds ∂u to ∂x_i unless a
// norm is between them.
func (bk *block) addInputGrad(du []float32, b, h int) {
	clear(du[bk.trueLen(b):])
	if bk.in.norm == nil {
		g := bk.row(bk.grad, b, h)
		vek.Add(g, g, du)
	}
}
