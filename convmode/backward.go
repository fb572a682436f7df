package convmode

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
)

// Backward adds the gradients of all weights to grads (from model.NewWeights with the same
// configuration). dLogits is the gradient of a loss with respect to the logits of the last
// ForwardTrain, in the same shape. Backward overwrites what ForwardTrain kept.
func (n *Net) Backward(dLogits []float32, grads *model.Weights) {
	p := &n.pass
	if !p.ready {
		panic("convmode: Backward without a ForwardTrain before it")
	}
	if len(dLogits) != n.head.logitCount() {
		panic(fmt.Sprintf("convmode: %d gradients of logits, expected %d", len(dLogits), n.head.logitCount()))
	}
	p.ready = false
	p.dLogits = dLogits
	n.attach(grads)
	n.backward()
}

func (n *Net) backward() {
	n.head.decodeGrad()
	for _, nm := range slices.Backward(n.top().batchNorms) {
		nm.batchBackward()
	}
	for i := len(n.blocks) - 1; i >= 0; i-- {
		bk := n.blocks[i]
		bk.out.backwardTiles()
		bk.sequence.backward()
		for _, nm := range slices.Backward(bk.in.batchNorms) {
			nm.batchBackward()
		}
	}
	if first := n.inputs[0]; first.norm != nil && !n.batchNorm() {
		first.backwardTiles()
	}
	n.pool.For(n.channelBlocks(), n.loops.encodeGrad)
}
