package convmode

import (
	"fmt"
	"slices"
)

// Forward runs a batch in inference: with running statistics and without dropout. It returns logits
// [Size][d_output], for pairs [Size/2][d_output], and without pooling [Size][d_output][Len]. Those
// of a regression are standardised. They are valid until the next call. A batch for which Check
// returns an error panics with it.
func (n *Net) Forward(b Batch) []float32 {
	n.begin(b, false)
	if !n.opt.Fixed {
		return n.forward()
	}
	n.pass.computed = n.kept == n.pass.plan
	n.kept = nil // incomplete until the pass ends
	logits := n.forward()
	n.kept = n.pass.plan
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
	n.pass.step = s
	logits := n.forward()
	n.pass.ready = true
	return logits
}

func (n *Net) forward() []float32 {
	n.pool.For(n.pass.items(), n.loops.encode)
	for _, bk := range n.blocks {
		if bk.mixing != nil && !n.pass.computed {
			bk.mixing.Pack()
		}
		for _, nm := range bk.in.batchNorms {
			nm.batchForward()
		}
		if bk.inner != nil && n.pass.train {
			n.pool.For(n.cfg.DModel, bk.loops.drop)
		}
		bk.sequence.forward()
		n.pool.For(n.pass.items(), bk.loops.tile)
	}
	for _, nm := range n.top().batchNorms {
		nm.batchForward()
	}
	return n.head.decode()
}

// NonFinite returns where the last ForwardTrain first computed NaN or an infinity, in the order of
// the computation: the input, the output of the encoder, of a block or of the decoder. It returns
// the index of a sequence as well. If every value is finite, it returns "" and −1. It panics unless
// the last forward pass was a ForwardTrain.
func (n *Net) NonFinite() (place string, sequence int) {
	p := &n.pass
	if !p.train {
		panic("convmode: NonFinite: no activations are kept")
	}
	bad := func(v float32) bool { return v-v != 0 }
	find := func(name string, channels int, row func(b, c int) []float32) bool {
		for sequence = range p.size {
			for c := range channels {
				x := row(sequence, c)[:p.trueLen(sequence)]
				if at := slices.IndexFunc(x, bad); at >= 0 {
					place = fmt.Sprintf("%s is %v at channel %d, position %d", name, x[at], c, at)
					return true
				}
			}
		}
		return false
	}
	if p.batch.X != nil && find("the input", n.cfg.DInput, func(b, c int) []float32 { return n.input(b).Row(c) }) {
		return place, sequence
	}
	name := "the output of the encoder"
	for i, in := range n.inputs {
		if find(name, n.cfg.DModel, func(b, h int) []float32 { return p.row(in.x, b, h) }) {
			return place, sequence
		}
		name = fmt.Sprintf("the output of \"layers.%d\"", i)
	}
	if at := slices.IndexFunc(n.head.logits, bad); at >= 0 {
		return fmt.Sprintf("the output of the decoder is %v", n.head.logits[at]), at * p.size / len(n.head.logits)
	}
	return "", -1
}
