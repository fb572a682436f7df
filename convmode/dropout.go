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

// dropChannel draws the scales of channel h of the current block for every sequence. These are two
// numbers per row of positions, too few to need a kernel.
func (n *Net) dropChannel(l *layer, h int) {
	if !n.train || l.inner == nil {
		return
	}
	inner, outer := dropoutStream(n.step, n.block, innerDropout), dropoutStream(n.step, n.block, outerDropout)
	first := n.shard.Index * n.size
	for b := range n.size {
		e, drawn := b*n.cfg.DModel+h, (first+b)*n.cfg.DModel+h
		l.inner[e] = dropoutScale(inner, drawn, n.cfg.Dropout)
		l.outer[e] = dropoutScale(outer, drawn, n.cfg.Dropout)
	}
}

// scales returns a sequence's part of inner or outer, or nil without dropout.
func (n *Net) scales(place []float32, b int) []float32 {
	if !n.train || place == nil {
		return nil
	}
	return place[b*n.cfg.DModel : (b+1)*n.cfg.DModel]
}
