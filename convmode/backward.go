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
	n.single[0] = grads
	n.BackwardShards(dLogits, n.single[:], nil)
}

// BackwardShards is Backward for a batch with a Part. It adds the gradients of each shard to its
// element of grads. It calls done(i) as soon as the gradients of block i are complete, from the
// last block to the first. done(NLayers) is for the final norm, the decoder and what compares
// pairs, done(−1) for the encoder. done may be nil.
func (n *Net) BackwardShards(dLogits []float32, grads []*model.Weights, done func(i int)) {
	if !n.ready {
		panic("convmode: Backward without a ForwardTrain before it")
	}
	if len(dLogits) != n.logitCount() {
		panic(fmt.Sprintf("convmode: %d gradients of logits, expected %d", len(dLogits), n.logitCount()))
	}
	n.checkGrads(grads)
	n.ready = false
	n.shardGrads = grads
	n.dLogits = dLogits
	if done == nil {
		done = func(int) {}
	}

	n.decodeGrad()
	last := len(n.layers)
	if n.shared {
		n.sharedBackward(last)
	} else if n.batchNorm() {
		n.pool.For(n.cfg.DModel, n.loops.topNormGrad)
	}
	for i := last - 1; i >= 0; i-- {
		n.block = i
		n.eachShard(n.sumGroups)
		done(i + 1)
		n.eachShard(n.layers[i].sequence.backward)
		n.sharedBackward(i)
	}
	if n.entry[0] != nil && !n.batchNorm() {
		n.block = -1
		n.eachShard(n.sumGroups)
	}
	done(0)
	n.eachShard(n.encodeGrad)
	done(-1)
}

// encodeGrad adds the encoder's gradients of the current shard.
func (n *Net) encodeGrad() { n.pool.For(n.channelBlocks(), n.loops.encodeGrad) }

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
