package convmode

import (
	"fmt"

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

// overShards reports whether BatchNorms normalise over several shards. Such a norm needs the sums
// of all its channels at once, so it has loops of its own. Others run within the loops of the
// blocks.
func (p *pass) overShards() bool { return p.batchNorm() && p.train && p.shard.Count > 1 }

// sharedForward is batchForward for all channels, over several shards.
func (nm *norm) sharedForward() {
	h := nm.cfg.DModel
	nm.pool.For(h, nm.loops.sum)
	nm.shard.Sum(nm.sums[:h])
	nm.pool.For(h, nm.loops.squares)
	nm.shard.Sum(nm.sums[:h])
	nm.pool.For(h, nm.loops.apply)
}

func (nm *norm) sumChannel(_, h int) { nm.sums[h] = nm.channelSum(h) }

func (nm *norm) squaresChannel(_, h int) {
	nm.mean[h] = float32(nm.sums[h] / nm.count())
	nm.sums[h] = nm.channelSquares(h)
}

func (nm *norm) applyChannel(_, h int) {
	nm.setVariance(h, nm.sums[h])
	nm.apply(h, nm.mean[h], nm.rstd[h])
}

// sharedBackward is batchBackward for all channels, over several shards. The gradients of γ and β
// are the terms of this shard.
func (nm *norm) sharedBackward() {
	h := nm.cfg.DModel
	nm.pool.For(h, nm.loops.dots)
	nm.shard.Sum(nm.sums)
	nm.pool.For(h, nm.loops.grad)
}

func (nm *norm) dotsChannel(_, h int) {
	nm.sums[h], nm.sums[nm.cfg.DModel+h] = nm.channelDots(h)
}

func (nm *norm) gradChannel(_, h int) {
	nm.applyGrad(h, nm.sums[h], nm.sums[nm.cfg.DModel+h])
}
