package convmode

import "github.com/s4d-fast/s4d-fast/internal/random"

// The places of dropout in a block (docs/maths.md §3.2).
const (
	innerDropout = iota // after the activation
	outerDropout        // on the block's output, before the residual sum
	dropoutPlaces
)

// dropoutStream returns the random numbers of a place. Element b·H + h is for channel h of sequence
// b of the whole batch, over the whole length.
func dropoutStream(s Step, block, place int) random.Stream {
	return random.New(s.Seed, random.Dropout, s.Step, block*dropoutPlaces+place)
}

// dropoutScale returns the factor of an element: 0 with probability p, otherwise 1/(1−p).
func dropoutScale(s random.Stream, element int, p float64) float32 {
	if s.Float64(uint64(element)) < p {
		return 0
	}
	return float32(1 / (1 - p))
}

// dropChannel draws the scales of channel h for every sequence. These are two
// numbers per row of positions, too few to need a kernel.
func (bk *block) dropChannel(_, h int) {
	inner, outer := dropoutStream(bk.pass.step, bk.index, innerDropout), dropoutStream(bk.pass.step, bk.index, outerDropout)
	first := bk.net.opt.Shard.Index * bk.pass.size
	for b := range bk.pass.size {
		e, drawn := b*bk.net.cfg.DModel+h, (first+b)*bk.net.cfg.DModel+h
		bk.inner[e] = dropoutScale(inner, drawn, bk.net.cfg.Dropout)
		bk.outer[e] = dropoutScale(outer, drawn, bk.net.cfg.Dropout)
	}
}
