package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// pass is one run of a batch through the network: the forward pass and, in training, the backward
// pass after it.
type pass struct {
	grid
	batch    Batch
	plan     *plan
	train    bool // batch statistics, dropout
	step     Step // the random numbers of dropout
	computed bool // the spectra of the kernels are those of an earlier pass (see Options.Fixed)
	ready    bool // the activations are those of a ForwardTrain, which Backward may use
	dLogits  []float32
	grads    *model.Weights
}

// begin starts a pass. It panics on a batch that does not fit.
func (n *Net) begin(b Batch, train bool) {
	if err := n.Check(b); err != nil {
		panic(err.Error())
	}
	n.pass = pass{grid: newGrid(b.Size, b.Len, n.cfg.DModel), batch: b, plan: n.planFor(b.Len), train: train}
}

// row returns channel h of sequence b over the current length.
func (p *pass) row(a array, b, h int) []float32 { return a.row(b, h, p.length) }

// channels views channels [lo, hi) of sequence b over the current length.
func (p *pass) channels(a array, b, lo, hi int) vek.Matrix {
	return a.channels(b, lo, hi).Columns(0, p.length)
}

// trueLen returns the true length of sequence b.
func (p *pass) trueLen(b int) int {
	if p.batch.Lengths == nil {
		return p.length
	}
	return p.batch.Lengths[b]
}

// scales returns a sequence's part of the scales [B][channels] of dropout, or nil without dropout.
func (p *pass) scales(place []float32, b, channels int) []float32 {
	if !p.train || place == nil {
		return nil
	}
	return place[b*channels : (b+1)*channels]
}

// pair returns channel h of sequences b and b+1 (nil past the last) with the padding zeroed.
func (p *pass) pair(ws *worker, a array, b, h int) (u0, u1 []float32) {
	u0 = p.maskedRow(ws.masked[0], a, b, h)
	if b+1 < p.size {
		u1 = p.maskedRow(ws.masked[1], a, b+1, h)
	}
	return u0, u1
}

func (p *pass) maskedRow(buf []float32, a array, b, h int) []float32 {
	row, used := p.row(a, b, h), p.trueLen(b)
	if used == p.length {
		return row
	}
	buf = buf[:p.length]
	clear(buf[copy(buf, row[:used]):])
	return buf
}

// longestPrefetch is the length in floats of the longest row (8 KiB) that is prefetched. A few such
// rows fit in the L1 cache beside a transform. Processors prefetch longer rows by themselves.
const longestPrefetch = 2048

// prefetchPair prefetches channel h of sequences b and b+1 of the batch, unless rows are too long.
// After the last pair it prefetches the first one of the channel that the worker probably takes
// next.
func (p *pass) prefetchPair(a array, b, h, workers int) {
	if b >= p.size {
		b, h = 0, h+workers
	}
	if p.length > longestPrefetch || h >= a.rows {
		return
	}
	for i := b; i < min(b+2, p.size); i++ {
		vek.Prefetch(p.row(a, i, h))
	}
}
