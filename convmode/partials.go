package convmode

import (
	"sync"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// The weight gradients of a block are sums over the tiles of a batch. The
// tiles form at most maxGroups groups, and one worker sums a group in order. Neighbouring groups
// are added in pairs, at most pairLevels times, until at most maxRoots sums remain, which are added
// in order. The order of summation follows from the number of tiles, so the bits do not depend on
// the number of workers; maxGroups/2 workers get two groups each.
const (
	maxGroups  = 128
	pairLevels = 3
	maxRoots   = maxGroups >> pairLevels
)

// partial holds the sums of one group or of several.
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

// partials sums the groups in a bounded number of arrays (maxPartials).
type partials struct {
	mu      sync.Mutex
	memory  []partial
	free    []*partial
	waiting [pairLevels][maxGroups / 2]*partial // for the other sum of the pair
	roots   [maxRoots]*partial
}

// partialFloats is the length of partial.all: 2H²+6H with GLU, 4H without mixing.
func partialFloats(c model.Config) int {
	rows := c.MixingRows()
	return rows*c.DModel + rows + 4*c.DModel
}

// maxPartials is the largest number of partials in use at once. A finished root takes one. Under an
// unfinished root every worker takes one, and keeps at most one per level waiting for it.
func (o Options) maxPartials(c model.Config) int {
	width := tileWidth(c.DModel)
	groups := min(maxGroups, o.MaxBatch*((o.MaxLen+width-1)/width))
	return min(maxRoots+pairLevels*par.Workers(o.Workers), groups)
}

func newPartials(c model.Config, o Options) *partials {
	h, rows := c.DModel, c.MixingRows()
	p := &partials{memory: make([]partial, o.maxPartials(c))}
	for i := range p.memory {
		all := vek.Aligned(partialFloats(c))
		rest := all
		take := func(size int) []float32 {
			s := rest[:size]
			rest = rest[size:]
			return s
		}
		p.memory[i] = partial{
			all: all, entryGamma: take(h), entryBeta: take(h), exitGamma: take(h), exitBeta: take(h),
			mixBias: take(rows), mixing: vek.MatrixOf(rest, rows, h),
		}
	}
	p.free = make([]*partial, 0, len(p.memory))
	return p
}

// reset makes all partials free.
func (p *partials) reset() {
	p.free = p.free[:0]
	for i := range p.memory {
		p.free = append(p.free, &p.memory[i])
	}
	clear(p.waiting[:])
}

func (p *partials) take() *partial {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	part := p.free[last]
	p.free = p.free[:last]
	return part
}

// add adds the first floats of a group's sums to the tree over so many groups.
func (p *partials) add(group, groups, floats int, part *partial) {
	for level := 0; groups > maxRoots; level++ {
		if group^1 < groups { // the last of an odd number has no sibling
			sibling := p.meet(&p.waiting[level][group/2], part)
			if sibling == nil {
				return // the sibling's worker continues
			}
			vek.Add(part.all[:floats], part.all[:floats], sibling.all[:floats])
			p.release(sibling)
		}
		group, groups = group/2, (groups+1)/2
	}
	p.roots[group] = part
}

// meet returns the sum that waits in the slot, or nil after leaving part there.
func (p *partials) meet(slot **partial, part *partial) *partial {
	p.mu.Lock()
	defer p.mu.Unlock()
	sibling := *slot
	*slot = nil
	if sibling == nil {
		*slot = part
	}
	return sibling
}

func (p *partials) release(part *partial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, part)
}

// roots is the number of sums that are left of so many groups.
func roots(groups int) int {
	for groups > maxRoots {
		groups = (groups + 1) / 2
	}
	return groups
}

// sumChunk is the part of the roots that one item adds up.
const sumChunk = 2048
