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
func (n *Net) input(b int) vek.Matrix {
	c := n.cfg.DInput
	return vek.MatrixOf(n.pass.batch.X[b*c*n.pass.length:], c, n.pass.length)
}

// tokens returns sequence b of the batch.
func (n *Net) tokens(b int) []int32 {
	return n.pass.batch.Tokens[b*n.pass.length : (b+1)*n.pass.length]
}

// encodeTile computes x_0 of a tile, and the LayerNorm before the first block.
func (n *Net) encodeTile(w, item int) {
	ws := &n.workers[w]
	b, s := n.pass.tile(item)
	x := n.inputs[0].x.tile(b, s)
	if n.cfg.Encoder == model.EncoderEmbedding {
		vek.Embed(x, n.embedding(n.w.EncoderWeight, 0, n.cfg.DModel), n.tokens(b)[s.lo:s.hi])
	} else {
		for h := range x.Rows { // the product writes faster than the memory takes rows
			prefetchRow(x, h)
		}
		vek.GemmBias(x, n.encoderMatrix(n.w.EncoderWeight, 0, n.cfg.DModel), n.input(b).Columns(s.lo, s.hi), n.w.EncoderBias, ws.gemm)
	}
	n.inputs[0].layerNorm(ws, b, s)
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
func (n *Net) encodeGradChannels(w, item int) {
	ws := &n.workers[w]
	lo, hi := n.channelRange(item)
	if n.cfg.Encoder == model.EncoderEmbedding {
		table := n.embedding(n.pass.grads.EncoderWeight, lo, hi)
		for b := range n.pass.size {
			vek.EmbedGrad(table, n.pass.channels(n.grad, b, lo, hi), n.tokens(b))
		}
		return
	}
	dw := n.encoderMatrix(n.pass.grads.EncoderWeight, lo, hi)
	for b := range n.pass.size {
		vek.Gemm(dw, n.pass.channels(n.grad, b, lo, hi), n.input(b), vek.TransposeB|vek.Accumulate, ws.gemm)
		for h := lo; h < hi; h++ {
			n.pass.grads.EncoderBias[h] += vek.Sum(n.pass.row(n.grad, b, h))
		}
	}
}
