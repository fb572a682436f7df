package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// head is what follows the blocks: the pool, the comparison of pairs and the decoder. It reads u_N
// and leaves ∂u_N in grad.
type head struct {
	net             *Net
	pass            *pass
	u               array     // of the last input
	pooled, dPooled []float32 // [B][H]
	peaks           []int     // [B][H] positions of the maxima (pool mean-max)
	pairs           pairs     // of networks that compare two sequences
	logits          []float32
	loops           struct{ pool, decode, topGrad, decodeGrad func(worker, item int) }
}

func (n *Net) newHead() *head {
	hd := &head{net: n, pass: &n.pass, u: n.top().u}
	size := n.opt.MaxBatch * n.cfg.DOutput
	if n.cfg.Pool == model.PoolNone {
		size *= n.opt.MaxLen
	} else {
		hd.pooled = make([]float32, n.opt.MaxBatch*n.cfg.DModel)
		hd.dPooled = make([]float32, n.opt.MaxBatch*n.cfg.DModel)
	}
	if n.cfg.Pool == model.PoolMeanMax {
		hd.peaks = make([]int, n.opt.MaxBatch*n.cfg.DModel)
	}
	if n.cfg.Pairs {
		hd.pairs = newPairs(n.opt.MaxBatch/2, n.cfg.DModel)
	}
	hd.logits = vek.Aligned(size)
	l := &hd.loops
	l.pool, l.decode, l.topGrad, l.decodeGrad = hd.poolChannels, hd.decodeTile, hd.topGradTile, hd.decodeGradChannels
	return hd
}

// logitCount is the number of logits of the batch.
func (hd *head) logitCount() int {
	if hd.net.cfg.Pool == model.PoolNone {
		return hd.pass.size * hd.net.cfg.DOutput * hd.pass.length
	}
	return hd.outputCount() * hd.net.cfg.DOutput
}

// outputCount is the number of outputs of a pooled batch, one a sequence or one a pair.
func (hd *head) outputCount() int { return hd.pass.size / hd.net.cfg.Towers() }

// decoderMatrix views the decoder's weight [d_output][H].
func (n *Net) decoderMatrix(weight []float32) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DOutput, n.cfg.DModel)
}

// decode pools u_N and applies the decoder: logits = W·f + bias, where f are the pooled sequences,
// or the result of comparing pairs of them.
func (hd *head) decode() []float32 {
	logits := hd.logits[:hd.logitCount()]
	if hd.net.cfg.Pool == model.PoolNone {
		hd.net.pool.For(hd.pass.items(), hd.loops.decode)
		return logits
	}
	hd.net.pool.For(hd.pass.size*hd.net.channelBlocks(), hd.loops.pool)
	f := vek.MatrixOf(hd.pooled, hd.pass.size, hd.net.cfg.DModel)
	if hd.net.cfg.Pairs {
		f = hd.compare()
	}
	out := vek.MatrixOf(logits, hd.outputCount(), hd.net.cfg.DOutput)
	for b := range out.Rows {
		copy(out.Row(b), hd.net.w.DecoderBias)
	}
	vek.Gemm(out, f, hd.net.decoderMatrix(hd.net.w.DecoderWeight), vek.TransposeB|vek.Accumulate, hd.net.workers[0].gemm)
	return logits
}

// poolChannels pools a block of channels of one sequence: the mean over the true length, with the
// maximum added or not, or the last true position.
func (hd *head) poolChannels(_, item int) {
	b := item / hd.net.channelBlocks()
	lo, hi := hd.net.channelRange(item % hd.net.channelBlocks())
	for h := lo; h < hi; h++ {
		row := hd.pass.row(hd.u, b, h)[:hd.pass.trueLen(b)]
		value := &hd.pooled[b*hd.net.cfg.DModel+h]
		if hd.net.cfg.Pool == model.PoolLast {
			*value = row[len(row)-1]
		} else {
			*value = vek.Sum(row) / float32(len(row))
		}
		if hd.net.cfg.Pool == model.PoolMeanMax {
			peak := model.ArgMax(row)
			hd.peaks[b*hd.net.cfg.DModel+h] = peak
			*value += row[peak]
		}
	}
}

// logitTile views the logits, or their gradients, of a tile of positions: [d_output][width].
func (hd *head) logitTile(logits []float32, b int, s span) vek.Matrix {
	o := hd.net.cfg.DOutput
	return vek.MatrixOf(logits[b*o*hd.pass.length:], o, hd.pass.length).Columns(s.lo, s.hi)
}

// decodeTile applies the decoder at every position of a tile (pool none).
func (hd *head) decodeTile(w, item int) {
	b, s := hd.pass.tile(item)
	out := hd.logitTile(hd.logits, b, s)
	u := hd.u.tile(b, s)
	vek.GemmBias(out, hd.net.decoderMatrix(hd.net.w.DecoderWeight), u, hd.net.w.DecoderBias, hd.net.workers[w].gemm)
}

// decodeGrad adds the decoder's gradients and fills grad with ∂u_N.
func (hd *head) decodeGrad() {
	if hd.net.cfg.Pool == model.PoolNone {
		for b := range hd.pass.size {
			d := hd.logitTile(hd.pass.dLogits, b, span{0, hd.pass.length})
			for o := range d.Rows {
				hd.pass.grads.DecoderBias[o] += vek.Sum(d.Row(o))
			}
		}
		hd.net.pool.For(hd.net.channelBlocks(), hd.loops.decodeGrad)
	} else {
		hd.pooledGrad()
	}
	hd.net.pool.For(hd.pass.items(), hd.loops.topGrad)
}

// pooledGrad adds the decoder's gradients and computes ∂pooled.
func (hd *head) pooledGrad() {
	count := hd.outputCount()
	d := vek.MatrixOf(hd.pass.dLogits, count, hd.net.cfg.DOutput)
	for b := range d.Rows {
		vek.Add(hd.pass.grads.DecoderBias, hd.pass.grads.DecoderBias, d.Row(b))
	}
	scratch := hd.net.workers[0].gemm
	f, df := vek.MatrixOf(hd.pooled, hd.pass.size, hd.net.cfg.DModel), vek.MatrixOf(hd.dPooled, hd.pass.size, hd.net.cfg.DModel)
	if hd.net.cfg.Pairs {
		f, df = hd.pairs.active.RowRange(0, count), hd.pairs.dActive.RowRange(0, count)
	}
	vek.Gemm(hd.net.decoderMatrix(hd.pass.grads.DecoderWeight), d, f, vek.TransposeA|vek.Accumulate, scratch)
	vek.Gemm(df, d, hd.net.decoderMatrix(hd.net.w.DecoderWeight), vek.Plain, scratch)
	if hd.net.cfg.Pairs {
		hd.compareGrad()
	}
}

// decodeGradChannels adds a block of columns of ∂W of the decoder, summed over the batch in order
// (pool none).
func (hd *head) decodeGradChannels(w, item int) {
	lo, hi := hd.net.channelRange(item)
	dw := hd.net.decoderMatrix(hd.pass.grads.DecoderWeight).Columns(lo, hi)
	for b := range hd.pass.size {
		u := hd.pass.channels(hd.u, b, lo, hi)
		vek.Gemm(dw, hd.logitTile(hd.pass.dLogits, b, span{0, hd.pass.length}), u, vek.TransposeB|vek.Accumulate, hd.net.workers[w].gemm)
	}
}

// topGradTile fills a tile of grad with ∂u_N.
func (hd *head) topGradTile(w, item int) {
	b, s := hd.pass.tile(item)
	grad := hd.net.grad.tile(b, s)
	if hd.net.cfg.Pool == model.PoolNone {
		vek.Gemm(grad, hd.net.decoderMatrix(hd.net.w.DecoderWeight), hd.logitTile(hd.pass.dLogits, b, s), vek.TransposeA, hd.net.workers[w].gemm)
		return
	}
	used, share := span{0, hd.pass.trueLen(b)}, 1/float32(hd.pass.trueLen(b))
	if hd.net.cfg.Pool == model.PoolLast {
		used, share = span{used.hi - 1, used.hi}, 1
	}
	lo, hi := max(used.lo, s.lo)-s.lo, min(used.hi, s.hi)-s.lo
	for h := range grad.Rows {
		row, item := grad.Row(h), b*hd.net.cfg.DModel+h
		clear(row)
		if lo < hi {
			vek.Fill(row[lo:hi], share*hd.dPooled[item])
		}
		if hd.net.cfg.Pool == model.PoolMeanMax {
			if peak := hd.peaks[item]; s.lo <= peak && peak < s.hi {
				row[peak-s.lo] += hd.dPooled[item]
			}
		}
	}
}
