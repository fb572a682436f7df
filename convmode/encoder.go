package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// channelBlock is the number of channels whose encoder and decoder gradients one item sums: a cache
// line of floats.
const channelBlock = lineFloats

// channelBlocks is the number of blocks of channels.
func (n *Net) channelBlocks() int { return (n.cfg.DModel + channelBlock - 1) / channelBlock }

// channelRange returns the channels of an item.
func (n *Net) channelRange(item int) (lo, hi int) {
	return item * channelBlock, min((item+1)*channelBlock, n.cfg.DModel)
}

// input views sequence b of the batch as [d_input][Len].
func (p *pass) input(b int) vek.Matrix {
	c := p.cfg.DInput
	return vek.MatrixOf(p.batch.X[b*c*p.length:], c, p.length)
}

// tokens returns sequence b of the batch.
func (p *pass) tokens(b int) []int32 { return p.batch.Tokens[b*p.length : (b+1)*p.length] }

// encodeTile computes x_0 of a tile, and the LayerNorm before the first block.
func (p *pass) encodeTile(w, item int) {
	ws := &p.workers[w]
	b, s := p.tile(item)
	x := p.inputs[0].x.tile(b, s)
	if p.cfg.Encoder == model.EncoderEmbedding {
		vek.Embed(x, p.embedding(p.w.EncoderWeight, 0, p.cfg.DModel), p.tokens(b)[s.lo:s.hi])
	} else {
		for h := range x.Rows { // the product writes faster than the memory takes rows
			prefetchRow(x, h)
		}
		vek.GemmBias(x, p.encoderMatrix(p.w.EncoderWeight, 0, p.cfg.DModel), p.input(b).Columns(s.lo, s.hi), p.w.EncoderBias, ws.gemm)
	}
	p.inputs[0].layerNorm(ws, b, s)
}

// encoderMatrix views rows [lo, hi) of the linear encoder's weight [H][d_input].
func (n *Net) encoderMatrix(weight []float32, lo, hi int) vek.Matrix {
	c := n.cfg.DInput
	return vek.MatrixOf(weight[lo*c:], hi-lo, c)
}

// embedding views channels [lo, hi) of the embedding's weight [d_input][H], one row per token.
func (n *Net) embedding(weight []float32, lo, hi int) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DInput, n.cfg.DModel).Columns(lo, hi)
}

// encodeGradChannels adds the encoder's gradients of a block of channels from ∂x_0, in grad, summed
// over the batch in order.
func (p *pass) encodeGradChannels(w, item int) {
	ws := &p.workers[w]
	lo, hi := p.channelRange(item)
	if p.cfg.Encoder == model.EncoderEmbedding {
		table := p.embedding(p.grads.EncoderWeight, lo, hi)
		for b := range p.size {
			vek.EmbedGrad(table, p.channels(p.grad, b, lo, hi), p.tokens(b))
		}
		return
	}
	dw := p.encoderMatrix(p.grads.EncoderWeight, lo, hi)
	for b := range p.size {
		vek.Gemm(dw, p.channels(p.grad, b, lo, hi), p.input(b), vek.TransposeB|vek.Accumulate, ws.gemm)
		for h := lo; h < hi; h++ {
			p.grads.EncoderBias[h] += vek.Sum(p.row(p.grad, b, h))
		}
	}
}
