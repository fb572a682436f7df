package convmode

import "github.com/s4d-fast/s4d-fast/internal/random"

// The places of dropout in a block (docs/maths.md §3.2).
const (
	innerDropout = iota // after the activation
	outerDropout        // on the block's output, before the residual sum
	dropoutPlaces
)

// dropoutStream returns the random numbers of a place; element b·H + h decides on channel h of sequence b, for
// the whole length.
func dropoutStream(s Step, block, place int) random.Stream {
	return random.New(s.Seed, random.Dropout, s.Step, block*dropoutPlaces+place)
}

// dropoutScale returns what an element is multiplied by: 0 with probability p, else 1/(1−p).
func dropoutScale(s random.Stream, element int, p float64) float32 {
	if s.Float64(uint64(element)) < p {
		return 0
	}
	return float32(1 / (1 - p))
}

// dropChannel draws the scales of channel h of the current block for every sequence: two numbers where the block
// computes with a thousand positions or more, which is why the generator has no kernel.
func (n *Net) dropChannel(l *layer, h int) {
	if !n.train || l.inner == nil {
		return
	}
	inner, outer := dropoutStream(n.step, n.block, innerDropout), dropoutStream(n.step, n.block, outerDropout)
	for b := range n.size {
		e := b*n.cfg.DModel + h
		l.inner[e] = dropoutScale(inner, e, n.cfg.Dropout)
		l.outer[e] = dropoutScale(outer, e, n.cfg.Dropout)
	}
}

// scales returns a sequence's part of inner or outer; nil where nothing is dropped.
func (n *Net) scales(place []float32, b int) []float32 {
	if !n.train || place == nil {
		return nil
	}
	return place[b*n.cfg.DModel : (b+1)*n.cfg.DModel]
}
