package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// input is what block i reads, or last the pool: x_i, the output of the block before it or of the
// encoder, as u_i = norm(x_i).
type input struct {
	net  *Net
	pass *pass
	x, u array
	norm *norm  // nil: u is x
	from *block // whose output is x; nil: the encoder's
	to   *block // that reads u; nil: the pool

	// The BatchNorms between the block before and the reader of u: that at the block's end, and
	// norm.
	batchNorms []*norm

	loops struct{ groupGrad, sumPartials func(worker, item int) }
}

func (in *input) init() {
	in.loops.groupGrad, in.loops.sumPartials = in.groupGradItem, in.sumPartialsChunk
}

// layerNorm applies the LayerNorm between x and u, if there is one, to a tile.
func (in *input) layerNorm(ws *worker, b int, s span) {
	if in.norm != nil && !in.net.batchNorm() {
		in.norm.layerNorm(ws, in.u.tile(b, s), in.x.tile(b, s), b, s)
	}
}

// layerNormGrad is the backward pass of layerNorm. It adds ∂x to that of the residual path, which
// is in grad. ∂u of the pool is in grad itself.
func (in *input) layerNormGrad(ws *worker, part *partial, b int, s span) {
	if in.norm == nil || in.net.batchNorm() {
		return
	}
	grad, dy := in.net.grad.tile(b, s), in.norm.dy.tile(b, s)
	in.norm.layerNormGrad(ws, dy, in.x.tile(b, s), part.entryGamma, part.entryBeta, b, s)
	if in.to != nil {
		for h := range grad.Rows {
			vek.Add(grad.Row(h), grad.Row(h), dy.Row(h))
		}
	}
}

// groupGradItem runs the backward pass of one group of tiles, in order: the LayerNorm between x and
// u, then the block before it, down to ∂v.
func (in *input) groupGradItem(w, group int) {
	ws, part := &in.net.workers[w], &in.net.partials[group]
	groups, items := in.pass.groups(), in.pass.items()
	part.clear()
	for item := group * items / groups; item < (group+1)*items/groups; item++ {
		next := item + 1
		if (group+1)*items/groups == next {
			next = (group + in.net.opt.Workers) * items / groups
		}
		in.lookAhead(ws, next)
		b, s := in.pass.tile(item)
		in.layerNormGrad(ws, part, b, s)
		if in.from != nil {
			in.from.tileGrad(ws, part, b, s)
		}
	}
}

// lookAhead sets ws.ahead to what the backward pass of an item reads first.
func (in *input) lookAhead(ws *worker, item int) {
	ws.ahead = ws.ahead[:0]
	if item >= in.pass.items() || in.net.batchNorm() {
		return
	}
	b, s := in.pass.tile(item)
	if in.norm != nil {
		ws.ahead = append(ws.ahead, in.norm.dy.tile(b, s), in.x.tile(b, s))
	}
	ws.ahead = append(ws.ahead, in.net.grad.tile(b, s))
	if in.from != nil && in.from.norm != nil {
		ws.ahead = append(ws.ahead, in.from.sum.tile(b, s))
	}
}

// groups is the number of groups of the batch's tiles.
func (p *pass) groups() int { return min(maxGroups, p.items()) }

// groupFloats is the number of floats that a group sums. After the encoder there is at most a norm.
func (in *input) groupFloats() int {
	if in.from == nil {
		return 4 * in.net.cfg.DModel
	}
	return partialFloats(in.net.cfg)
}

// backwardTiles runs the backward pass of all groups of tiles, and adds their sums to the gradients
// of the norm and of the block before it.
func (in *input) backwardTiles() {
	in.net.pool.For(in.pass.groups(), in.loops.groupGrad)
	in.net.pool.For((in.groupFloats()+sumChunk-1)/sumChunk, in.loops.sumPartials)
	sums := &in.net.partials[0]
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

// sumPartialsChunk adds one chunk of all partials to the first.
func (in *input) sumPartialsChunk(_, chunk int) {
	lo, hi := chunk*sumChunk, min((chunk+1)*sumChunk, in.groupFloats())
	first := in.net.partials[0].all[lo:hi]
	for _, part := range in.net.partials[1:in.pass.groups()] {
		vek.Add(first, first, part.all[lo:hi])
	}
}
