package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

func (p *pass) newDecoder() {
	size := p.opt.MaxBatch * p.cfg.DOutput
	if p.cfg.Pool == model.PoolNone {
		size *= p.opt.MaxLen
	} else {
		p.pooled = make([]float32, p.opt.MaxBatch*p.cfg.DModel)
		p.dPooled = make([]float32, p.opt.MaxBatch*p.cfg.DModel)
	}
	if p.cfg.Pool == model.PoolMeanMax {
		p.peaks = make([]int, p.opt.MaxBatch*p.cfg.DModel)
	}
	if p.cfg.Pairs {
		p.pairs = newPairs(p.opt.MaxBatch/2, p.cfg.DModel)
	}
	p.logits = vek.Aligned(size)
}

// logitCount is the number of logits of the batch.
func (p *pass) logitCount() int {
	if p.cfg.Pool == model.PoolNone {
		return p.size * p.cfg.DOutput * p.length
	}
	return p.outputCount() * p.cfg.DOutput
}

// outputCount is the number of outputs of a pooled batch, one a sequence or one a pair.
func (p *pass) outputCount() int { return p.size / p.cfg.Towers() }

// decoderMatrix views the decoder's weight [d_output][H].
func (n *Net) decoderMatrix(weight []float32) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DOutput, n.cfg.DModel)
}

// decode pools u_N and applies the decoder: logits = W·f + bias, where f are the pooled sequences,
// or the result of comparing pairs of them.
func (p *pass) decode() []float32 {
	logits := p.logits[:p.logitCount()]
	if p.cfg.Pool == model.PoolNone {
		p.pool.For(p.items(), p.loops.decode)
		return logits
	}
	p.pool.For(p.size*p.channelBlocks(), p.loops.pool)
	f := vek.MatrixOf(p.pooled, p.size, p.cfg.DModel)
	if p.cfg.Pairs {
		f = p.compare()
	}
	out := vek.MatrixOf(logits, p.outputCount(), p.cfg.DOutput)
	for b := range out.Rows {
		copy(out.Row(b), p.w.DecoderBias)
	}
	vek.Gemm(out, f, p.decoderMatrix(p.w.DecoderWeight), vek.TransposeB|vek.Accumulate, p.workers[0].gemm)
	return logits
}

// poolChannels pools a block of channels of one sequence: the mean over the true length, with the
// maximum added or not, or the last true position.
func (p *pass) poolChannels(_, item int) {
	b := item / p.channelBlocks()
	lo, hi := p.channelRange(item % p.channelBlocks())
	for h := lo; h < hi; h++ {
		row := p.row(p.top().u, b, h)[:p.trueLen(b)]
		value := &p.pooled[b*p.cfg.DModel+h]
		if p.cfg.Pool == model.PoolLast {
			*value = row[len(row)-1]
		} else {
			*value = vek.Sum(row) / float32(len(row))
		}
		if p.cfg.Pool == model.PoolMeanMax {
			peak := model.ArgMax(row)
			p.peaks[b*p.cfg.DModel+h] = peak
			*value += row[peak]
		}
	}
}

// logitTile views the logits, or their gradients, of a tile of positions: [d_output][width].
func (p *pass) logitTile(logits []float32, b int, s span) vek.Matrix {
	o := p.cfg.DOutput
	return vek.MatrixOf(logits[b*o*p.length:], o, p.length).Columns(s.lo, s.hi)
}

// decodeTile applies the decoder at every position of a tile (pool none).
func (p *pass) decodeTile(w, item int) {
	b, s := p.tile(item)
	out := p.logitTile(p.logits, b, s)
	u := p.top().u.tile(b, s)
	vek.GemmBias(out, p.decoderMatrix(p.w.DecoderWeight), u, p.w.DecoderBias, p.workers[w].gemm)
}

// decodeGrad adds the decoder's gradients and fills grad with ∂u_N.
func (p *pass) decodeGrad() {
	if p.cfg.Pool == model.PoolNone {
		for b := range p.size {
			d := p.logitTile(p.dLogits, b, span{0, p.length})
			for o := range d.Rows {
				p.grads.DecoderBias[o] += vek.Sum(d.Row(o))
			}
		}
		p.pool.For(p.channelBlocks(), p.loops.decodeGrad)
	} else {
		p.pooledGrad()
	}
	p.pool.For(p.items(), p.loops.topGrad)
}

// pooledGrad adds the decoder's gradients and computes ∂pooled.
func (p *pass) pooledGrad() {
	count := p.outputCount()
	d := vek.MatrixOf(p.dLogits, count, p.cfg.DOutput)
	for b := range d.Rows {
		vek.Add(p.grads.DecoderBias, p.grads.DecoderBias, d.Row(b))
	}
	scratch := p.workers[0].gemm
	f, df := vek.MatrixOf(p.pooled, p.size, p.cfg.DModel), vek.MatrixOf(p.dPooled, p.size, p.cfg.DModel)
	if p.cfg.Pairs {
		f, df = p.pairs.active.to(count), p.pairs.dActive.to(count)
	}
	vek.Gemm(p.decoderMatrix(p.grads.DecoderWeight), d, f, vek.TransposeA|vek.Accumulate, scratch)
	vek.Gemm(df, d, p.decoderMatrix(p.w.DecoderWeight), vek.Plain, scratch)
	if p.cfg.Pairs {
		p.compareGrad()
	}
}

// decodeGradChannels adds a block of columns of ∂W of the decoder, summed over the batch in order
// (pool none).
func (p *pass) decodeGradChannels(w, item int) {
	lo, hi := p.channelRange(item)
	dw := p.decoderMatrix(p.grads.DecoderWeight).Columns(lo, hi)
	for b := range p.size {
		u := p.channels(p.top().u, b, lo, hi)
		vek.Gemm(dw, p.logitTile(p.dLogits, b, span{0, p.length}), u, vek.TransposeB|vek.Accumulate, p.workers[w].gemm)
	}
}

// topGradTile fills a tile of grad with ∂u_N.
func (p *pass) topGradTile(w, item int) {
	b, s := p.tile(item)
	grad := p.grad.tile(b, s)
	if p.cfg.Pool == model.PoolNone {
		vek.Gemm(grad, p.decoderMatrix(p.w.DecoderWeight), p.logitTile(p.dLogits, b, s), vek.TransposeA, p.workers[w].gemm)
		return
	}
	used, share := span{0, p.trueLen(b)}, 1/float32(p.trueLen(b))
	if p.cfg.Pool == model.PoolLast {
		used, share = span{used.hi - 1, used.hi}, 1
	}
	lo, hi := max(used.lo, s.lo)-s.lo, min(used.hi, s.hi)-s.lo
	for h := range grad.Rows {
		row, item := grad.Row(h), b*p.cfg.DModel+h
		clear(row)
		if lo < hi {
			vek.Fill(row[lo:hi], share*p.dPooled[item])
		}
		if p.cfg.Pool == model.PoolMeanMax {
			if peak := p.peaks[item]; s.lo <= peak && peak < s.hi {
				row[peak-s.lo] += p.dPooled[item]
			}
		}
	}
}
