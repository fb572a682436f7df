package convmode

import (
	"fmt"

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
	if len(dLogits) != p.head.logitCount() {
		panic(fmt.Sprintf("convmode: %d gradients of logits, expected %d", len(dLogits), p.head.logitCount()))
	}
	p.ready = false
	p.dLogits = dLogits
	p.attach(grads)
	p.backward()
}

func (p *pass) backward() {
	p.head.decodeGrad()
	top := p.top()
	top.sharedNormsGrad()
	if p.batchNorm() && !p.overShards() {
		p.pool.For(p.cfg.DModel, top.loops.batchNormsGrad)
	}
	for i := len(p.blocks) - 1; i >= 0; i-- {
		bk := p.blocks[i]
		bk.out.backwardTiles()
		bk.sequence.backward()
		bk.in.sharedNormsGrad()
	}
	if first := p.inputs[0]; first.norm != nil && !p.batchNorm() {
		first.backwardTiles()
	}
	p.pool.For(p.channelBlocks(), p.loops.encodeGrad)
}
