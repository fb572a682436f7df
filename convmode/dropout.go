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
func (bk *block) dropChannel(h int) {
	if !bk.train || bk.inner == nil {
		return
	}
	inner, outer := dropoutStream(bk.step, bk.index, innerDropout), dropoutStream(bk.step, bk.index, outerDropout)
	first := bk.opt.Shard.Index * bk.size
	for b := range bk.size {
		e, drawn := b*bk.cfg.DModel+h, (first+b)*bk.cfg.DModel+h
		bk.inner[e] = dropoutScale(inner, drawn, bk.cfg.Dropout)
		bk.outer[e] = dropoutScale(outer, drawn, bk.cfg.Dropout)
	}
}

// scales returns a sequence's part of inner or outer, or nil without dropout.
func (p *pass) scales(place []float32, b int) []float32 {
	if !p.train || place == nil {
		return nil
	}
	return place[b*p.cfg.DModel : (b+1)*p.cfg.DModel]
}
