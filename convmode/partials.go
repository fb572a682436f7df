package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// The weight gradients of a block are sums over the tiles of a batch. The tiles form at most
// maxGroups groups. One worker sums a group in order, in a partial of its own, and the partials are
// added in order. The groups follow from the number of tiles, so the bits do not depend on the
// number of workers.
const maxGroups = 32

// partial holds the sums of one group.
type partial struct {
	all                   []float32 // the memory of all sums, those of the norms first
	entryGamma, entryBeta []float32 // of the norm before the next block, or before the pool
	exitGamma, exitBeta   []float32 // of the norm after the block
	mixBias               []float32
	mixing                vek.Matrix // ∂W, if mixed
	mixed                 bool       // a tile has set mixing
}

// clear sets the sums to 0, except mixing, which the first tile sets.
func (p *partial) clear() {
	clear(p.all[:len(p.all)-len(p.mixing.Data)])
	p.mixed = false
}

// partialFloats is the length of partial.all: 2H²+6H with GLU, 4H without mixing.
func partialFloats(c model.Config) int {
	rows := c.MixingRows()
	return rows*c.DModel + rows + 4*c.DModel
}

// maxPartials is the largest number of groups of a batch.
func (o Options) maxPartials(c model.Config) int {
	width := tileWidth(c.DModel)
	return min(maxGroups, o.MaxBatch*((o.MaxLen+width-1)/width))
}

func newPartials(c model.Config, o Options) []partial {
	h, rows := c.DModel, c.MixingRows()
	list := make([]partial, o.maxPartials(c))
	for i := range list {
		all := vek.Aligned(partialFloats(c))
		rest := all
		take := func(size int) []float32 {
			s := rest[:size]
			rest = rest[size:]
			return s
		}
		list[i] = partial{
			all: all, entryGamma: take(h), entryBeta: take(h), exitGamma: take(h), exitBeta: take(h),
			mixBias: take(rows), mixing: vek.MatrixOf(rest, rows, h),
		}
	}
	return list
}

// sumChunk is the part of the partials that one item adds up.
const sumChunk = 2048
