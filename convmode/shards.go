package convmode

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/shard"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// Part describes a training batch whose gradients are summed by shards, or which is part of a
// larger batch. A shard is a range of sequences. Every value that Backward computes for a shard
// depends only on its sequences and on sums over all shards, so that it has the same bits on any
// number of processes (docs/maths.md §22).
type Part struct {
	First int   // index of the first sequence in the whole batch
	Size  int   // sequences in the whole batch
	Ends  []int // exclusive end of each shard of this part, in sequences of this part; the last is Batch.Size
}

// A Gatherer joins the processes that share the shards of a batch.
type Gatherer interface {
	// GatherShards returns the values of the shards of all processes, in the order of the shards,
	// from those of this process. Every process passes the same number of values per shard, and
	// makes the same calls. Passes of networks with BatchNorms call it, between parallel loops. The
	// caller may change the result, which is valid until the next call.
	GatherShards(values []float64) []float64
}

// check returns an error for a part that does not fit a batch of the given size, of a network with
// that number of towers.
func (p *Part) check(size, towers int) error {
	if p.First < 0 || p.First+size > p.Size {
		return fmt.Errorf("convmode: sequences %d to %d of a batch of %d", p.First, p.First+size, p.Size)
	}
	lo := 0
	for _, hi := range p.Ends {
		if hi <= lo || hi > size || hi%towers != 0 {
			return fmt.Errorf("convmode: shards of %d sequences end at %v, expected an ascending list", size, p.Ends)
		}
		lo = hi
	}
	if lo != size {
		return fmt.Errorf("convmode: shards end at sequence %d, expected %d", lo, size)
	}
	return nil
}

// setPart sets the shards of the current batch.
func (n *Net) setPart(p *Part) {
	n.first, n.whole, n.shared = 0, n.size, p != nil
	n.shards = append(n.shards[:0], span{0, n.size})
	if n.shared {
		n.first, n.whole = p.First, p.Size
		lo := 0
		n.shards = n.shards[:0]
		for _, hi := range p.Ends {
			n.shards = append(n.shards, span{lo, hi})
			lo = hi
		}
	}
	n.seqs = span{0, n.size}
}

// eachShard calls f for every shard, with its sequences and its gradients as the current ones.
func (n *Net) eachShard(f func()) {
	for i, s := range n.shards {
		n.seqs = s
		n.attach(n.shardGrads[i])
		f()
	}
	n.seqs = span{0, n.size}
}

// sharedNorms holds the sums of a BatchNorm over shards, and the norm whose loop runs.
type sharedNorms struct {
	local, total []float64 // [shards of this process][2][H], [2][H]
	terms        int       // 1 or 2 sums per channel
	order        []shard.Addition

	nm       *norm
	dst, src array // of the forward pass; in the backward pass ∂y and x
}

// sumShards adds up the terms of all shards, of all processes.
func (n *Net) sumShards() {
	s, width := &n.norms, n.norms.terms*n.cfg.DModel
	all := s.local[:len(n.shards)*width]
	if n.opt.Gatherer != nil {
		all = n.opt.Gatherer.GatherShards(all)
	}
	if count := len(all) / width; len(s.order) != count-1 {
		s.order = shard.Additions(shard.Leaves(shard.Span{Hi: count}))
	}
	for _, a := range s.order {
		to, from := all[a.To*width:(a.To+1)*width], all[a.From*width:(a.From+1)*width]
		for i, v := range from {
			to[i] += v
		}
	}
	s.total = append(s.total[:0], all[:width]...)
}

// eachShardRow stores in the local sums, for channel h and every shard, the sum of f over its
// sequences.
func (n *Net) eachShardRow(h, term int, f func(b int) float64) {
	s, width := &n.norms, n.norms.terms*n.cfg.DModel
	for i, rows := range n.shards {
		sum := 0.0
		for b := rows.lo; b < rows.hi; b++ {
			sum += f(b)
		}
		s.local[i*width+term*n.cfg.DModel+h] = sum
	}
}

// sharedBefore applies the BatchNorms between block i−1 and the reader of x_i over all shards, as
// batchNormBefore does for one channel of an undivided batch.
func (n *Net) sharedBefore(i int) {
	if !n.shared || !n.batchNorm() {
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
	s, h := &n.norms, n.cfg.DModel
	s.nm, s.dst, s.src, s.terms = nm, dst, src, 1
	s.local = grown(s.local, len(n.shards)*2*h)
	n.pool.For(h, n.loops.sharedSum)
	n.sumShards()
	n.pool.For(h, n.loops.sharedSquares)
	n.sumShards()
	n.pool.For(h, n.loops.sharedApply)
}

func (n *Net) sharedSumChannel(_, h int) {
	n.eachShardRow(h, 0, func(b int) float64 { return float64(vek.Sum(n.row(n.norms.src, b, h))) })
}

func (n *Net) sharedSquaresChannel(_, h int) {
	mean := float32(n.norms.total[h] / n.normCount())
	n.norms.nm.mean[h] = mean
	n.eachShardRow(h, 0, func(b int) float64 { return float64(vek.CentralSquares(n.row(n.norms.src, b, h), mean)) })
}

func (n *Net) sharedApplyChannel(_, h int) {
	s := &n.norms
	s.nm.rstd[h] = n.updateStatistics(s.nm, h, s.nm.mean[h], s.total[h])
	n.applyBatchNorm(s.nm, s.dst, s.src, h, s.nm.mean[h], s.nm.rstd[h])
}

// sharedBackward is the backward pass of sharedBefore, from the gradients of block i's input, or of
// the pool's.
func (n *Net) sharedBackward(i int) {
	if !n.shared || !n.batchNorm() {
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

// sharedNormGrad is batchNormGrad over all shards. A shard's gradients of γ and β are the terms of
// its own sequences.
func (n *Net) sharedNormGrad(nm *norm, dy, x array) {
	s, h := &n.norms, n.cfg.DModel
	s.nm, s.dst, s.src, s.terms = nm, dy, x, 2
	n.pool.For(h, n.loops.sharedDots)
	for i := range n.shards {
		n.attach(n.shardGrads[i])
		terms := s.local[i*2*h:]
		for c := range h {
			nm.addGrad(c, terms[c], terms[h+c])
		}
	}
	n.sumShards()
	n.pool.For(h, n.loops.sharedNormGrad)
}

func (n *Net) sharedDotsChannel(_, h int) {
	s, mean := &n.norms, n.norms.nm.mean[h]
	n.eachShardRow(h, 0, func(b int) float64 { return float64(vek.Sum(n.row(s.dst, b, h))) })
	n.eachShardRow(h, 1, func(b int) float64 {
		return float64(vek.CentralDot(n.row(s.dst, b, h), n.row(s.src, b, h), mean))
	})
}

func (n *Net) sharedNormGradChannel(_, h int) {
	s := &n.norms
	n.applyBatchNormGrad(s.nm, s.dst, s.src, h, s.total[h], s.total[n.cfg.DModel+h])
}

// addNormGradChannel adds ∂u of the norm before the current block to ∂x_i.
func (n *Net) addNormGradChannel(_, h int) {
	for b := range n.size {
		g := n.row(n.grad, b, h)
		vek.Add(g, g, n.row(n.acts.v[n.block], b, h))
	}
}

// checkGrads panics unless grads has the gradients of every shard.
func (n *Net) checkGrads(grads []*model.Weights) {
	if len(grads) != len(n.shards) {
		panic(fmt.Sprintf("convmode: gradients of %d shards, expected %d", len(grads), len(n.shards)))
	}
	want := n.w.Tensors()
	for _, g := range grads {
		have := g.Tensors()
		if len(have) != len(want) {
			panic(fmt.Sprintf("convmode: gradients of %d tensors, expected %d", len(have), len(want)))
		}
		for i := range want {
			if have[i].Name != want[i].Name || len(have[i].Data) != len(want[i].Data) {
				panic(fmt.Sprintf("convmode: gradient of %q has %d values, expected %d of %q", have[i].Name, len(have[i].Data), len(want[i].Data), want[i].Name))
			}
		}
	}
}

// grown returns a slice of the length, s itself if it has the capacity.
func grown(s []float64, length int) []float64 {
	if cap(s) < length {
		return make([]float64, length)
	}
	return s[:length]
}
