package convmode

import (
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// input is what block i reads, or last the pool: x_i, the output of the block before it or of the
// encoder, as u_i = norm(x_i).
type input struct {
	*pass
	x, u array
	norm *norm  // nil: u is x
	from *block // whose output is x; nil: the encoder's
	to   *block // that reads u; nil: the pool

	// The BatchNorms between the block before and the reader of u: that at the block's end, and
	// norm.
	batchNorms []*norm

	loops struct{ batchNorms, batchNormsGrad, addGrad, groupGrad, sumRoots func(worker, item int) }
}

func (in *input) init() {
	l := &in.loops
	l.batchNorms, l.batchNormsGrad, l.addGrad = in.batchNormsChannel, in.batchNormsGradChannel, in.addGradChannel
	l.groupGrad, l.sumRoots = in.groupGradItem, in.sumRootsChunk
}

// layerNorm applies the LayerNorm between x and u, if there is one, to a tile.
func (in *input) layerNorm(ws *worker, b int, s span) {
	if in.norm != nil && !in.batchNorm() {
		in.norm.layerNorm(ws, in.u.tile(b, s), in.x.tile(b, s), b, s)
	}
}

// layerNormGrad is the backward pass of layerNorm. It adds ∂x to that of the residual path, which
// is in grad. ∂u of the pool is in grad itself.
func (in *input) layerNormGrad(ws *worker, part *partial, b int, s span) {
	if in.norm == nil || in.batchNorm() {
		return
	}
	grad, dy := in.grad.tile(b, s), in.norm.dy.tile(b, s)
	in.norm.layerNormGrad(ws, dy, in.x.tile(b, s), part.entryGamma, part.entryBeta, b, s)
	if in.to != nil {
		for h := range grad.Rows {
			vek.Add(grad.Row(h), grad.Row(h), dy.Row(h))
		}
	}
}

// batchNormsChannel applies the BatchNorms to channel h. Those over several shards are applied by
// sharedNorms.
func (in *input) batchNormsChannel(_, h int) {
	if in.overShards() {
		return
	}
	for _, nm := range in.batchNorms {
		nm.batchForward(h)
	}
}

// batchNormsGradChannel is the backward pass of batchNormsChannel.
func (in *input) batchNormsGradChannel(worker, h int) {
	if in.overShards() {
		return
	}
	for _, nm := range slices.Backward(in.batchNorms) {
		nm.batchBackward(h)
		if nm == in.norm {
			in.addGradChannel(worker, h)
		}
	}
}

// addGradChannel adds channel h of ∂x, which the backward pass of the norm leaves in the memory of
// ∂u, to that of the residual path. For the pool it is in grad already.
func (in *input) addGradChannel(_, h int) {
	if in.to == nil {
		return
	}
	for b := range in.size {
		g := in.row(in.grad, b, h)
		vek.Add(g, g, in.row(in.norm.dy, b, h))
	}
}

// sharedNorms is batchNormsChannel for all channels, over several shards.
func (in *input) sharedNorms() {
	if !in.overShards() {
		return
	}
	h := in.cfg.DModel
	for _, nm := range in.batchNorms {
		in.pool.For(h, nm.loops.sum)
		in.opt.Shard.Sum(nm.sums[:h])
		in.pool.For(h, nm.loops.squares)
		in.opt.Shard.Sum(nm.sums[:h])
		in.pool.For(h, nm.loops.apply)
	}
}

// sharedNormsGrad is the backward pass of sharedNorms. The gradients of γ and β are the terms of
// this shard.
func (in *input) sharedNormsGrad() {
	if !in.overShards() {
		return
	}
	for _, nm := range slices.Backward(in.batchNorms) {
		in.pool.For(in.cfg.DModel, nm.loops.dots)
		in.opt.Shard.Sum(nm.sums)
		in.pool.For(in.cfg.DModel, nm.loops.grad)
		if nm == in.norm {
			in.pool.For(in.cfg.DModel, in.loops.addGrad)
		}
	}
}

// groupGradItem runs the backward pass of one group of tiles, in order: the LayerNorm between x and
// u, then the block before it, down to ∂v.
func (in *input) groupGradItem(w, group int) {
	ws, part := &in.workers[w], in.partials.take()
	groups, items, floats := in.groups(), in.items(), in.groupFloats()
	part.clear()
	for item := group * items / groups; item < (group+1)*items/groups; item++ {
		next := item + 1
		if (group+1)*items/groups == next {
			next = (group + in.opt.Workers) * items / groups
		}
		in.lookAhead(ws, next)
		b, s := in.tile(item)
		in.layerNormGrad(ws, part, b, s)
		if in.from != nil {
			in.from.tileGrad(ws, part, b, s)
		}
	}
	in.partials.add(group, groups, floats, part)
}

// lookAhead sets ws.ahead to what the backward pass of an item reads first.
func (in *input) lookAhead(ws *worker, item int) {
	ws.ahead = ws.ahead[:0]
	if item >= in.items() || in.batchNorm() {
		return
	}
	b, s := in.tile(item)
	if in.norm != nil {
		ws.ahead = append(ws.ahead, in.norm.dy.tile(b, s), in.x.tile(b, s))
	}
	ws.ahead = append(ws.ahead, in.grad.tile(b, s))
	if in.from != nil && in.from.norm != nil {
		ws.ahead = append(ws.ahead, in.from.sum.tile(b, s))
	}
}

// groups is the number of groups of the batch's tiles.
func (p *pass) groups() int { return min(maxGroups, p.items()) }

// groupFloats is the number of floats that a group sums. After the encoder there is at most a norm.
func (in *input) groupFloats() int {
	if in.from == nil {
		return 4 * in.cfg.DModel
	}
	return partialFloats(in.cfg)
}

// backwardTiles runs the backward pass of all groups of tiles, and adds their sums to the gradients
// of the norm and of the block before it.
func (in *input) backwardTiles() {
	in.partials.reset()
	in.pool.For(in.groups(), in.loops.groupGrad)
	in.pool.For((in.groupFloats()+sumChunk-1)/sumChunk, in.loops.sumRoots)
	sums := in.partials.roots[0]
	addTo := func(dst, src []float32) {
		if dst != nil {
			vek.Add(dst, dst, src)
		}
	}
	if bk := in.from; bk != nil {
		addTo(bk.grads.MixWeight, sums.mixing.Data)
		addTo(bk.grads.MixBias, sums.mixBias)
		if bk.norm != nil {
			addTo(bk.norm.dGamma, sums.exitGamma)
			addTo(bk.norm.dBeta, sums.exitBeta)
		}
	}
	if in.norm != nil {
		addTo(in.norm.dGamma, sums.entryGamma)
		addTo(in.norm.dBeta, sums.entryBeta)
	}
}

// sumRootsChunk adds one chunk of all roots to the first.
func (in *input) sumRootsChunk(_, chunk int) {
	first := in.partials.roots[0].all[:in.groupFloats()]
	lo, hi := chunk*sumChunk, min((chunk+1)*sumChunk, len(first))
	for _, root := range in.partials.roots[1:roots(in.groups())] {
		vek.Add(first[lo:hi], first[lo:hi], root.all[lo:hi])
	}
}
