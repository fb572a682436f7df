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
	return vek.MatrixOf(n.batch.X[b*c*n.length:], c, n.length)
}

// tokens returns sequence b of the batch.
func (n *Net) tokens(b int) []int32 { return n.batch.Tokens[b*n.length : (b+1)*n.length] }

// encodeTile computes x_0 of a tile, and the LayerNorm before the first block.
func (n *Net) encodeTile(w, item int) {
	ws := &n.workers[w]
	b, s := n.tile(item)
	x := n.acts.x[0].tile(b, s)
	if n.cfg.Encoder == model.EncoderEmbedding {
		vek.Embed(x, n.embedding(n.w.EncoderWeight, 0, n.cfg.DModel), n.tokens(b)[s.lo:s.hi])
	} else {
		vek.GemmBias(x, n.encoderMatrix(n.w.EncoderWeight, 0, n.cfg.DModel), n.input(b).Columns(s.lo, s.hi), n.w.EncoderBias, ws.gemm)
	}
	n.layerNormBefore(ws, 0, b, s)
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
		table := n.embedding(n.grads.EncoderWeight, lo, hi)
		for b := range n.size {
			vek.EmbedGrad(table, n.channels(n.grad, b, lo, hi), n.tokens(b))
		}
		return
	}
	dw := n.encoderMatrix(n.grads.EncoderWeight, lo, hi)
	for b := range n.size {
		vek.Gemm(dw, n.channels(n.grad, b, lo, hi), n.input(b), false, true, true, ws.gemm)
		for h := lo; h < hi; h++ {
			n.grads.EncoderBias[h] += vek.Sum(n.row(n.grad, b, h))
		}
	}
}

// channels views channels [lo, hi) of sequence b over the whole length.
func (n *Net) channels(a array, b, lo, hi int) vek.Matrix {
	return a.channels(b, lo, hi).Columns(0, n.length)
}
