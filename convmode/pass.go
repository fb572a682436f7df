package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// pass is one run of a batch through the network: the forward pass and, in training, the backward
// pass after it. A Net has one pass, whose memory every call uses again. It reads the Net, and does
// not change it.
//
// The passage through the network is inputs[0] → blocks[0] → inputs[1] → … → the head. A parallel
// loop over tiles, channels or groups is a method with the arguments (worker, item). Its function
// value is made once, so that a step allocates no closures.
type pass struct {
	*Net

	// The call.
	grid
	batch    Batch
	plan     *plan
	train    bool // batch statistics, dropout
	step     Step // the random numbers of dropout
	computed bool // the spectra of the kernels are those of an earlier call (see Options.Fixed)
	ready    bool // the activations are those of a ForwardTrain, which Backward may use
	dLogits  []float32
	grads    *model.Weights

	inputs []*input // [NLayers+1] of the blocks and, last, of the head
	blocks []*block // [NLayers]
	head   *head
	grad   array // ∂loss/∂x of the current input

	// Memory that the blocks share.
	plans    map[int]*plan // by planned length
	workers  []worker
	partials *partials // sums over groups of tiles
	poleGrad *poleGrad // of kernels; nil without training
	scans    *scans    // of S5 and the LRU; nil for others
	kept     keptKernels

	loops struct{ encode, encodeGrad func(worker, item int) }
}

// init allocates the memory of a Net's passes.
func (p *pass) init(n *Net) {
	p.Net, p.plans = n, map[int]*plan{}
	switch {
	case p.cfg.SSM.MIMO():
		p.scans = p.newScans()
	case p.opt.Training:
		p.poleGrad = newPoleGrad(p.cfg)
	}
	p.newBlocks()
	p.newNorms()
	p.head = p.newHead()
	if p.opt.Training {
		p.partials = newPartials(p.cfg, p.opt)
	}
	p.newWorkers()
	p.loops.encode, p.loops.encodeGrad = p.encodeTile, p.encodeGradChannels
}

// newBlocks creates the blocks and their inputs with the arrays that a forward pass writes. In
// training each array has its own memory, which the backward pass reads. In inference they share
// two: one for x, the other for v, and for u where a norm makes it differ from x.
func (p *pass) newBlocks() {
	fresh := func(rows int) array { return newArray(p.opt.MaxBatch, rows, p.opt.MaxLen) }
	tiled := func(rows int) array {
		a := fresh(rows)
		a.tiled = true
		return a
	}
	h := p.cfg.DModel
	x, v := fresh(h), fresh(h)
	own := func(shared array) array {
		if p.opt.Training {
			return fresh(h)
		}
		return shared
	}
	if p.opt.Training {
		p.grad = fresh(h)
	}
	p.inputs = []*input{{pass: p, x: x}}
	for i := range p.cfg.NLayers {
		in := p.inputs[i]
		bk := &block{pass: p, index: i, in: in, weights: &p.w.Layers[i], v: v}
		out := &input{pass: p, from: bk, x: own(x)}
		in.to, bk.out, bk.sum = bk, out, out.x
		if i > 0 {
			bk.v = own(v)
		}
		if p.opt.Training && p.cfg.Gated() {
			bk.z = tiled(p.cfg.MixingRows())
		}
		if p.opt.Training && p.postNorm() {
			bk.sum = tiled(h)
			if p.batchNorm() { // reads whole rows
				bk.sum = fresh(h)
			}
		}
		p.inputs, p.blocks = append(p.inputs, out), append(p.blocks, bk)
		bk.init()
	}
	for i, in := range p.inputs {
		in.u = in.x
		if p.normBefore(i) {
			in.u = own(v)
		}
		in.init()
	}
}

// normBefore reports whether a norm is between x_i and its reader.
func (n *Net) normBefore(i int) bool {
	if i == n.cfg.NLayers {
		return n.cfg.FinalNorm
	}
	return n.cfg.Norm != model.NormNone && n.cfg.PreNorm
}

// postNorm reports whether blocks end with a norm.
func (n *Net) postNorm() bool { return n.cfg.Norm != model.NormNone && !n.cfg.PreNorm }

// newNorms creates the norms: before or after each block and, if configured, before the pool.
func (p *pass) newNorms() {
	for i, bk := range p.blocks {
		w := bk.weights
		if p.postNorm() {
			bk.norm = p.newNorm(bk.out.x, bk.sum, p.grad, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
		}
		if in := bk.in; p.normBefore(i) {
			in.norm = p.newNorm(in.u, in.x, bk.v, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
		}
	}
	if top := p.top(); p.normBefore(p.cfg.NLayers) {
		top.norm = p.newNorm(top.u, top.x, p.grad, p.w.NormWeight, p.w.NormBias, p.w.RunningMean, p.w.RunningVar)
	}
	for _, in := range p.inputs {
		if p.batchNorm() && in.from != nil && in.from.norm != nil {
			in.batchNorms = append(in.batchNorms, in.from.norm)
		}
		if p.batchNorm() && in.norm != nil {
			in.batchNorms = append(in.batchNorms, in.norm)
		}
	}
}

// top returns what the head reads.
func (p *pass) top() *input { return p.inputs[len(p.blocks)] }

// attach makes blocks and norms refer to their gradients.
func (p *pass) attach(grads *model.Weights) {
	p.grads = grads
	for i, bk := range p.blocks {
		bk.grads = &grads.Layers[i]
		for _, nm := range []*norm{bk.in.norm, bk.norm} {
			if nm != nil {
				nm.dGamma, nm.dBeta = bk.grads.NormWeight, bk.grads.NormBias
			}
		}
	}
	if nm := p.top().norm; nm != nil {
		nm.dGamma, nm.dBeta = grads.NormWeight, grads.NormBias
	}
}

// begin makes a batch that of the pass. It panics on one that does not fit.
func (p *pass) begin(b Batch, train bool) {
	if err := p.Check(b); err != nil {
		panic(err.Error())
	}
	p.ready, p.computed = false, false
	p.batch, p.train = b, train
	p.grid = newGrid(b.Size, b.Len, p.cfg.DModel)
	p.plan = p.planFor(b.Len)
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
