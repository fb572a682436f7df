package convmode

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// Backward adds the gradients of all weights to grads (from model.NewWeights with the same
// configuration). dLogits is the gradient of a loss with respect to the logits of the last
// ForwardTrain, in the same shape. Backward overwrites what ForwardTrain kept, except for
// BlockOutput.
func (n *Net) Backward(dLogits []float32, grads *model.Weights) {
	if !n.ready {
		panic("convmode: Backward without a ForwardTrain before it")
	}
	if len(dLogits) != n.logitCount() {
		panic(fmt.Sprintf("convmode: %d gradients of logits, expected %d", len(dLogits), n.logitCount()))
	}
	n.checkGrads(grads)
	n.ready = false
	n.dLogits = dLogits
	n.attach(grads)

	n.decodeGrad()
	last := len(n.layers)
	if n.sharedNorms() {
		n.sharedBackward(last)
	} else if n.batchNorm() {
		n.pool.For(n.cfg.DModel, n.loops.topNormGrad)
	}
	for i := last - 1; i >= 0; i-- {
		n.block = i
		n.sumGroups()
		n.layers[i].sequence.backward()
		n.sharedBackward(i)
	}
	if n.entry[0] != nil && !n.batchNorm() {
		n.block = -1
		n.sumGroups()
	}
	n.pool.For(n.channelBlocks(), n.loops.encodeGrad)
}

// checkGrads panics unless grads has the shape of the weights.
func (n *Net) checkGrads(grads *model.Weights) {
	have, want := grads.Tensors(), n.w.Tensors()
	if len(have) != len(want) {
		panic(fmt.Sprintf("convmode: gradients of %d tensors, expected %d", len(have), len(want)))
	}
	for i := range want {
		if have[i].Name != want[i].Name || len(have[i].Data) != len(want[i].Data) {
			panic(fmt.Sprintf("convmode: gradient of %q has %d values, expected %d of %q", have[i].Name, len(have[i].Data), len(want[i].Data), want[i].Name))
		}
	}
}

// attach makes layers and norms refer to their gradients.
func (n *Net) attach(grads *model.Weights) {
	n.grads = grads
	for i := range n.layers {
		l, g := &n.layers[i], &grads.Layers[i]
		l.dMixing, l.dMixBias = n.mixingMatrix(g.MixWeight), g.MixBias
		for _, nm := range []*norm{n.entry[i], n.exit[i]} {
			if nm != nil {
				nm.dGamma, nm.dBeta = g.NormWeight, g.NormBias
			}
		}
	}
	if nm := n.entry[len(n.layers)]; nm != nil {
		nm.dGamma, nm.dBeta = grads.NormWeight, grads.NormBias
	}
}
