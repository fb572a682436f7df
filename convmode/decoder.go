package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

func (n *Net) newDecoder() {
	size := n.opt.MaxBatch * n.cfg.DOutput
	if n.cfg.Pool == model.PoolNone {
		size *= n.opt.MaxLen
	} else {
		n.pooled = make([]float32, n.opt.MaxBatch*n.cfg.DModel)
		n.dPooled = make([]float32, n.opt.MaxBatch*n.cfg.DModel)
	}
	if n.cfg.Pairs {
		n.pairs = newPairs(n.opt.MaxBatch/2, n.cfg.DModel)
	}
	n.logits = vek.Aligned(size)
}

// logitCount is the number of logits of the batch.
func (n *Net) logitCount() int {
	if n.cfg.Pool == model.PoolNone {
		return n.size * n.cfg.DOutput * n.length
	}
	return n.outputCount() * n.cfg.DOutput
}

// outputCount is the number of outputCount of a pooled batch, one a sequence or one a pair.
func (n *Net) outputCount() int { return n.size / n.cfg.Towers() }

// decoderMatrix views the decoder's weight [d_output][H].
func (n *Net) decoderMatrix(weight []float32) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DOutput, n.cfg.DModel)
}

// decode pools u_N and applies the decoder: logits = W·f + bias, where f are the pooled sequences,
// or the result of comparing pairs of them.
func (n *Net) decode() []float32 {
	logits := n.logits[:n.logitCount()]
	if n.cfg.Pool == model.PoolNone {
		n.pool.For(n.items(), n.loops.decode)
		return logits
	}
	n.pool.For(n.size*n.channelBlocks(), n.loops.pool)
	f := vek.MatrixOf(n.pooled, n.size, n.cfg.DModel)
	if n.cfg.Pairs {
		f = n.compare()
	}
	out := vek.MatrixOf(logits, n.outputCount(), n.cfg.DOutput)
	for b := range out.Rows {
		copy(out.Row(b), n.w.DecoderBias)
	}
	vek.Gemm(out, f, n.decoderMatrix(n.w.DecoderWeight), false, true, true, n.workers[0].gemm)
	return logits
}

// poolChannels pools a block of channels of one sequence: the mean over the true length, or the
// last true position.
func (n *Net) poolChannels(_, item int) {
	b := item / n.channelBlocks()
	lo, hi := n.channelRange(item % n.channelBlocks())
	last := len(n.layers)
	for h := lo; h < hi; h++ {
		row := n.row(n.acts.u[last], b, h)[:n.trueLen(b)]
		p := &n.pooled[b*n.cfg.DModel+h]
		if n.cfg.Pool == model.PoolLast {
			*p = row[len(row)-1]
		} else {
			*p = vek.Sum(row) / float32(len(row))
		}
	}
}

// logitTile views the logits, or their gradients, of a tile of positions: [d_output][width].
func (n *Net) logitTile(logits []float32, b int, s span) vek.Matrix {
	o := n.cfg.DOutput
	return vek.MatrixOf(logits[b*o*n.length:], o, n.length).Columns(s.lo, s.hi)
}

// decodeTile applies the decoder at every position of a tile (pool none).
func (n *Net) decodeTile(w, item int) {
	b, s := n.tile(item)
	out := n.logitTile(n.logits, b, s)
	u := n.acts.u[len(n.layers)].tile(b, s)
	vek.GemmBias(out, n.decoderMatrix(n.w.DecoderWeight), u, n.w.DecoderBias, n.workers[w].gemm)
}

// decodeGrad adds the decoder's gradients and fills grad with ∂u_N.
func (n *Net) decodeGrad() {
	if n.cfg.Pool == model.PoolNone {
		for b := range n.size {
			d := n.logitTile(n.dLogits, b, span{0, n.length})
			for o := range d.Rows {
				n.grads.DecoderBias[o] += vek.Sum(d.Row(o))
			}
		}
		n.pool.For(n.channelBlocks(), n.loops.decodeGrad)
	} else {
		n.pooledGrad()
	}
	n.pool.For(n.items(), n.loops.topGrad)
}

// pooledGrad adds the decoder's gradients and computes ∂pooled.
func (n *Net) pooledGrad() {
	count := n.outputCount()
	d := vek.MatrixOf(n.dLogits, count, n.cfg.DOutput)
	for b := range d.Rows {
		vek.Add(n.grads.DecoderBias, n.grads.DecoderBias, d.Row(b))
	}
	scratch := n.workers[0].gemm
	f, df := vek.MatrixOf(n.pooled, n.size, n.cfg.DModel), vek.MatrixOf(n.dPooled, n.size, n.cfg.DModel)
	if n.cfg.Pairs {
		f, df = n.pairs.active.to(count), n.pairs.dActive.to(count)
	}
	vek.Gemm(n.decoderMatrix(n.grads.DecoderWeight), d, f, true, false, true, scratch)
	vek.Gemm(df, d, n.decoderMatrix(n.w.DecoderWeight), false, false, false, scratch)
	if n.cfg.Pairs {
		n.compareGrad()
	}
}

// decodeGradChannels adds a block of columns of ∂W of the decoder, summed over the batch in order
// (pool none).
func (n *Net) decodeGradChannels(w, item int) {
	lo, hi := n.channelRange(item)
	dw := n.decoderMatrix(n.grads.DecoderWeight).Columns(lo, hi)
	for b := range n.size {
		u := n.channels(n.acts.u[len(n.layers)], b, lo, hi)
		vek.Gemm(dw, n.logitTile(n.dLogits, b, span{0, n.length}), u, false, true, true, n.workers[w].gemm)
	}
}

// topGradTile fills a tile of grad with ∂u_N.
func (n *Net) topGradTile(w, item int) {
	b, s := n.tile(item)
	grad := n.grad.tile(b, s)
	if n.cfg.Pool == model.PoolNone {
		vek.Gemm(grad, n.decoderMatrix(n.w.DecoderWeight), n.logitTile(n.dLogits, b, s), true, false, false, n.workers[w].gemm)
		return
	}
	used, share := span{0, n.trueLen(b)}, 1/float32(n.trueLen(b))
	if n.cfg.Pool == model.PoolLast {
		used, share = span{used.hi - 1, used.hi}, 1
	}
	lo, hi := max(used.lo, s.lo)-s.lo, min(used.hi, s.hi)-s.lo
	for h := range grad.Rows {
		row := grad.Row(h)
		clear(row)
		if lo < hi {
			vek.Fill(row[lo:hi], share*n.dPooled[b*n.cfg.DModel+h])
		}
	}
}
