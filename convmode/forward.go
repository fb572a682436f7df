package convmode

import (
	"fmt"
	"slices"
)

// Forward runs a batch in inference: with running statistics and without dropout. It returns logits
// [Size][d_output], for pairs [Size/2][d_output], and without pooling [Size][d_output][Len]. Those
// of a regression are standardised. They are valid until the next call. With Options.Fixed, Forward
// panics if the SSMs' weights have changed since the first call. A batch for which Check returns an
// error panics with it.
func (n *Net) Forward(b Batch) []float32 {
	n.begin(b, false)
	if !n.opt.Fixed {
		return n.forward()
	}
	n.kept.find(n)
	logits := n.forward()
	n.kept.plan = n.plan
	return logits
}

// ForwardTrain runs a batch in training: BatchNorm uses the statistics of the batch, from which
// UpdateStatistics updates the running ones. Dropout draws the numbers of s. ForwardTrain keeps
// what Backward needs, including the slices of b. It returns logits as Forward does.
func (n *Net) ForwardTrain(b Batch, s Step) []float32 {
	if !n.opt.Training {
		panic("convmode: ForwardTrain of a Net without Options.Training")
	}
	n.begin(b, true)
	n.step = s
	logits := n.forward()
	n.ready = true
	return logits
}

func (n *Net) forward() []float32 {
	n.pool.For(n.items(), n.loops.encode)
	for i := range n.layers {
		n.block = i
		if w := n.layers[i].mixing; w != nil {
			w.Pack()
		}
		n.sharedBefore(i)
		n.layers[i].sequence.forward()
		n.pool.For(n.items(), n.loops.block)
	}
	n.sharedBefore(len(n.layers))
	if n.batchNorm() && !n.sharedNorms() {
		n.pool.For(n.cfg.DModel, n.loops.closeNorm)
	}
	return n.decode()
}

// BlockOutput returns a copy of x_{i+1}, the output of block i, [Size][H][Len]. It panics unless
// the last forward pass was a ForwardTrain.
func (n *Net) BlockOutput(i int) []float32 {
	if n.acts != &n.keep || i < 0 || i >= len(n.layers) {
		panic(fmt.Sprintf("convmode: no output of block %d is kept", i))
	}
	out := make([]float32, 0, n.size*n.cfg.DModel*n.length)
	for b := range n.size {
		for h := range n.cfg.DModel {
			out = append(out, n.row(n.keep.x[i+1], b, h)...)
		}
	}
	return out
}

// NonFinite returns where the last ForwardTrain first computed NaN or an infinity, in the order of
// the computation: the input, the output of the encoder, of a block or of the decoder. It returns
// the index of a sequence as well. If every value is finite, it returns "" and −1. It panics unless
// the last forward pass was a ForwardTrain.
func (n *Net) NonFinite() (place string, sequence int) {
	if n.acts != &n.keep {
		panic("convmode: NonFinite: no activations are kept")
	}
	bad := func(v float32) bool { return v-v != 0 }
	channels, names := n.cfg.DInput, []string{"the input"}
	if n.batch.X == nil {
		channels = 0
	}
	rows := []func(b, c int) []float32{func(b, c int) []float32 { return n.input(b).Row(c) }}
	counts := []int{channels}
	for i, x := range n.keep.x {
		name := "the output of the encoder"
		if i > 0 {
			name = fmt.Sprintf("the output of \"layers.%d\"", i-1)
		}
		names, counts = append(names, name), append(counts, n.cfg.DModel)
		rows = append(rows, func(b, h int) []float32 { return n.row(x, b, h) })
	}
	for i, row := range rows {
		for b := range n.size {
			for c := range counts[i] {
				if at := slices.IndexFunc(row(b, c)[:n.trueLen(b)], bad); at >= 0 {
					return fmt.Sprintf("%s is %v at channel %d, position %d", names[i], row(b, c)[at], c, at), b
				}
			}
		}
	}
	if at := slices.IndexFunc(n.logits, bad); at >= 0 {
		return fmt.Sprintf("the output of the decoder is %v", n.logits[at]), at * n.size / len(n.logits)
	}
	return "", -1
}
