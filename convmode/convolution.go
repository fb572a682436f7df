package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// keepSpectraBatch is the smallest batch for which the spectra of kernels, four rows per channel,
// are kept from forward to backward. In smaller batches they would take as much memory as the
// activations and are computed again.
const keepSpectraBatch = 4

// convolution is the sequenceLayer of SSMs with one kernel per channel (docs/maths.md §9.2), and of
// blocks without an SSM. The work of a channel is one item.
type convolution struct{ n *Net }

func (c convolution) forward() {
	n := c.n
	if l := &n.layers[n.block]; l.source != nil && !n.kept.valid {
		l.source.fill(&n.w.Layers[n.block])
	}
	n.pool.For(n.cfg.DModel, n.loops.conv)
}

func (c convolution) backward() {
	n := c.n
	source := n.layers[n.block].source
	if source != nil {
		source.clearGrad()
	}
	n.pool.For(n.cfg.DModel, n.loops.convGrad)
	if source != nil {
		source.addGrad(&n.grads.Layers[n.block])
	}
}

// convChannel runs the convolution of one channel of the current block for the whole batch: v = k ∗
// mask(u) + D·u, or v = mask(u) in a block without an SSM.
func (n *Net) convChannel(w, h int) {
	ws, l := &n.workers[w], &n.layers[n.block]
	n.batchNormBefore(n.block, h)
	n.dropChannel(l, h)
	if l.source == nil {
		n.passChannel(h)
		return
	}
	khat := n.khat(ws, l, h)
	if !n.kept.valid {
		l.source.discretize(h)
		khat = n.spectrum(ws, l, h)
	}
	u, v := n.acts.u[n.block], n.acts.v[n.block]
	for b := 0; b < n.size; b += 2 {
		u0, u1 := n.pair(ws, u, b, h)
		v0, v1 := n.row(v, b, h), []float32(nil)
		if u1 != nil {
			v1 = n.row(v, b+1, h)
		}
		n.prefetchPair(v, b, h)
		n.prefetchPair(u, b+2, h)
		n.plan.conv.Pair(v0, v1, u0, u1, khat, ws.conv)
	}
}

// passChannel sets v = mask(u).
func (n *Net) passChannel(h int) {
	for b := range n.size {
		v, used := n.row(n.acts.v[n.block], b, h), n.trueLen(b)
		copy(v[:used], n.row(n.acts.u[n.block], b, h))
		clear(v[used:])
	}
}

// spectrum computes the spectrum of channel h's discretised kernel. D is added to the first tap of
// the kernel, so the convolution includes D·u.
func (n *Net) spectrum(ws *worker, l *layer, h int) []float32 {
	k0, k1 := n.taps(ws)
	l.source.kernels(n.plan.kernel, ws.conv, h, k0, k1)
	k0[0] += n.w.Layers[n.block].D[h]
	khat := n.khat(ws, l, h)
	n.plan.conv.Spectrum(khat, k0, k1)
	return khat
}

// taps returns the memory of a channel's kernel and of that of its second direction, nil if causal.
func (n *Net) taps(ws *worker) (k0, k1 []float32) {
	if n.cfg.SSM.Bidirectional {
		k1 = ws.taps[1][:n.plan.taps]
	}
	return ws.taps[0][:n.plan.taps], k1
}

// khat returns the memory of channel h's spectrum: in the layer if it is kept, otherwise in
// scratch.
func (n *Net) khat(ws *worker, l *layer, h int) []float32 {
	size := n.plan.conv.SpectrumLen()
	if l.spectra == nil {
		return ws.spectra[0][:size]
	}
	return l.spectra[h*size : (h+1)*size]
}

// pair returns channel h of sequences b and b+1 (nil past the last) with the padding zeroed.
func (n *Net) pair(ws *worker, a array, b, h int) (u0, u1 []float32) {
	u0 = n.maskedRow(ws.masked[0], a, b, h)
	if b+1 < n.size {
		u1 = n.maskedRow(ws.masked[1], a, b+1, h)
	}
	return u0, u1
}

// longestPrefetch is the length in floats of the longest row (8 KiB) that is prefetched. A few such
// rows fit in the L1 cache beside a transform. Processors prefetch longer rows by themselves.
const longestPrefetch = 2048

// prefetchPair prefetches channel h of sequences b and b+1 of the batch, unless rows are too long.
func (n *Net) prefetchPair(a array, b, h int) {
	if n.length > longestPrefetch {
		return
	}
	for i := b; i < min(b+2, n.size); i++ {
		vek.Prefetch(n.row(a, i, h))
	}
}

func (n *Net) maskedRow(buf []float32, a array, b, h int) []float32 {
	row, used := n.row(a, b, h), n.trueLen(b)
	if used == n.length {
		return row
	}
	buf = buf[:n.length]
	clear(buf[copy(buf, row[:used]):])
	return buf
}

// convGradChannel computes ∂u of one channel from ∂v, which is stored in v. Without a
// norm between x_i and u_i it adds ∂u to ∂x_i. With a norm it leaves ∂u in v. It also accumulates
// the gradients of the channel's poles, weights and D.
func (n *Net) convGradChannel(w, h int) {
	ws, l := &n.workers[w], &n.layers[n.block]
	if l.source == nil {
		for b := range n.size {
			n.addInputGrad(n.row(n.acts.v[n.block], b, h), b, h)
		}
		n.inputGrad(h)
		return
	}
	khat := n.khat(ws, l, h)
	if l.spectra == nil {
		khat = n.spectrum(ws, l, h)
	}
	acc := ws.spectra[1][:n.plan.conv.SpectrumLen()]
	clear(acc)
	u, dv := n.acts.u[n.block], n.acts.v[n.block]
	for b := 0; b < n.size; b += 2 {
		u0, u1 := n.pair(ws, u, b, h)
		d0, d1 := n.row(dv, b, h), []float32(nil)
		if u1 != nil {
			d1 = n.row(dv, b+1, h)
		}
		du0, du1 := d0, d1
		if n.entry[n.block] == nil { // ∂u is only added to ∂x_i
			du0 = ws.du[0][:n.length]
			if d1 != nil {
				du1 = ws.du[1][:n.length]
			}
		}
		n.prefetchPair(u, b+2, h)
		n.prefetchPair(dv, b+2, h)
		n.plan.conv.PairGrad(du0, du1, acc, d0, d1, u0, u1, khat, ws.conv)
		n.addInputGrad(du0, b, h)
		if d1 != nil {
			n.addInputGrad(du1, b+1, h)
		}
	}
	n.kernelGrad(ws, l, h, acc)
	n.inputGrad(h)
}

// kernelGrad adds the gradients of the weights that determine channel h's kernel, from the gradient
// of its spectrum summed over the batch.
func (n *Net) kernelGrad(ws *worker, l *layer, h int, acc []float32) {
	dk0, dk1 := n.taps(ws)
	n.plan.conv.KernelGrad(dk0, dk1, acc)
	n.grads.Layers[n.block].D[h] += dk0[0]
	used := min(n.length, n.plan.taps) // later taps multiply no sample
	if dk1 != nil {
		dk1 = dk1[:used]
	}
	l.source.kernelGrad(n.plan.kernel, ws.conv, h, dk0[:used], dk1)
}

// addInputGrad zeroes the padding of ∂u of channel h of sequence b, and adds ∂u to ∂x_i unless a
// norm is between them.
func (n *Net) addInputGrad(du []float32, b, h int) {
	clear(du[n.trueLen(b):])
	if n.entry[n.block] == nil {
		g := n.row(n.grad, b, h)
		vek.Add(g, g, du)
	}
}

// inputGrad is the backward pass, on channel h, of the BatchNorms between block i−1 and the SSM of
// block i. The backward pass of a LayerNorm needs all channels, so the next loop computes it by
// tiles. That of a BatchNorm over several shards is sharedBackward.
func (n *Net) inputGrad(h int) {
	if n.sharedNorms() {
		return
	}
	if n.batchNorm() && n.entry[n.block] != nil {
		du := n.acts.v[n.block]
		n.batchNormGrad(n.entry[n.block], du, n.acts.x[n.block], h)
		for b := range n.size {
			g := n.row(n.grad, b, h)
			vek.Add(g, g, n.row(du, b, h))
		}
	}
	if n.block > 0 {
		n.exitBatchNormGrad(n.block-1, h)
	}
}
