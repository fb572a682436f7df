package convmode

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// A Shard is one of several equal parts of each training batch. A Net of its own computes it.
// Every value of a pass depends only on the sequences of the shard and, with BatchNorm, on sums
// over all shards. It therefore does not depend on where the other shards are computed
// (docs/maths.md §22).
type Shard struct {
	Index, Count int

	// Sum replaces values by their sums over all shards, with the same bits for each of them.
	// ForwardTrain and Backward of networks with BatchNorm call it between parallel loops. The Nets
	// of all shards call it equally often, with equally many values. Required with BatchNorm if
	// Count is more than 1.
	Sum func(values []float64)
}

// validate returns an error for an invalid shard.
func (s *Shard) validate(c model.Config) error {
	switch {
	case s.Index < 0 || s.Index >= s.Count:
		return fmt.Errorf("convmode: Shard %d of %d, expected an Index from 0 to Count − 1", s.Index, s.Count)
	case s.Count > 1 && s.Sum == nil && c.Norm == model.NormBatch:
		return fmt.Errorf("convmode: Shard %d of %d without Sum, which BatchNorm requires", s.Index, s.Count)
	}
	return nil
}

// sharedNorms reports whether BatchNorms normalise over several shards. Such a norm needs the sums
// of all its channels at once, so it has loops of its own. Others run within the loops of the
// blocks.
func (n *Net) sharedNorms() bool { return n.batchNorm() && n.train && n.shard.Count > 1 }

// sharedNorm is the norm over several shards whose loops run.
type sharedNorm struct {
	*norm
	dst, src array     // of the forward pass; in the backward pass ∂y and x
	sums     []float64 // [2][H]
}

// sharedBefore is batchNormBefore for all channels, over several shards.
func (n *Net) sharedBefore(i int) {
	if !n.sharedNorms() {
		return
	}
	if i > 0 && n.exit[i-1] != nil {
		n.sharedForward(n.exit[i-1], n.acts.x[i], n.acts.s[i-1])
	}
	if n.entry[i] != nil {
		n.sharedForward(n.entry[i], n.acts.u[i], n.acts.x[i])
	}
}

func (n *Net) sharedForward(nm *norm, dst, src array) {
	s, h := &n.shared, n.cfg.DModel
	s.norm, s.dst, s.src = nm, dst, src
	n.pool.For(h, n.loops.sharedSum)
	n.shard.Sum(s.sums[:h])
	n.pool.For(h, n.loops.sharedSquares)
	n.shard.Sum(s.sums[:h])
	n.pool.For(h, n.loops.sharedApply)
}

func (n *Net) sharedSumChannel(_, h int) { n.shared.sums[h] = n.channelSum(n.shared.src, h) }

func (n *Net) sharedSquaresChannel(_, h int) {
	s := &n.shared
	s.mean[h] = float32(s.sums[h] / n.normCount())
	s.sums[h] = n.channelSquares(s.src, h, s.mean[h])
}

func (n *Net) sharedApplyChannel(_, h int) {
	s := &n.shared
	n.setVariance(s.norm, h, s.sums[h])
	n.applyBatchNorm(s.norm, s.dst, s.src, h, s.mean[h], s.rstd[h])
}

// sharedBackward is the backward pass of sharedBefore, from the gradients of block i's input, or of
// the pool's.
func (n *Net) sharedBackward(i int) {
	if !n.sharedNorms() {
		return
	}
	if nm := n.entry[i]; nm != nil {
		dy := n.grad // ∂u of the pool
		if i < len(n.layers) {
			dy = n.acts.v[i]
		}
		n.sharedNormGrad(nm, dy, n.acts.x[i])
		if i < len(n.layers) {
			n.pool.For(n.cfg.DModel, n.loops.addNormGrad)
		}
	}
	if i > 0 && n.exit[i-1] != nil {
		n.sharedNormGrad(n.exit[i-1], n.grad, n.acts.s[i-1])
	}
}

// sharedNormGrad is batchNormGrad for all channels, over several shards. The gradients of γ and β
// are the terms of this shard.
func (n *Net) sharedNormGrad(nm *norm, dy, x array) {
	s, h := &n.shared, n.cfg.DModel
	s.norm, s.dst, s.src = nm, dy, x
	n.pool.For(h, n.loops.sharedDots)
	n.shard.Sum(s.sums)
	n.pool.For(h, n.loops.sharedNormGrad)
}

func (n *Net) sharedDotsChannel(_, h int) {
	s := &n.shared
	sum, dot := n.normDots(s.norm, s.dst, s.src, h)
	s.sums[h], s.sums[n.cfg.DModel+h] = sum, dot
}

func (n *Net) sharedNormGradChannel(_, h int) {
	s := &n.shared
	n.applyBatchNormGrad(s.norm, s.dst, s.src, h, s.sums[h], s.sums[n.cfg.DModel+h])
}

// addNormGradChannel adds ∂u of the norm before the current block to ∂x_i.
func (n *Net) addNormGradChannel(_, h int) {
	for b := range n.size {
		g := n.row(n.grad, b, h)
		vek.Add(g, g, n.row(n.acts.v[n.block], b, h))
	}
}
