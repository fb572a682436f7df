// Package convmode runs whole sequences through a network, forward and backward.
//
// Forward computes the logits of a Batch of sequences. Those of a regression are standardised, in
// training and in inference; model.Meta.OutputScale converts them to the target's unit, in which
// package recurrent gives them. Backward takes ∂loss/∂logits and adds the
// gradient of every weight to a model.Weights. An SSM is one long convolution over pairs of rows
// (package fftkernel, docs/maths.md §9.2). S5 and the LRU, which have one SSM for all channels, are
// a scan over time between two matrix products (docs/maths.md §19.2). All other operations work on
// tiles of [H] × a few hundred positions, which stay in the cache. Activations are float32
// [B][H][L], time contiguous, with rows aligned to 64 bytes. The work is cut into items whose
// borders and order of summation do not depend on the number of workers, so the bits of the result
// do not either.
package convmode

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Options sizes a Net.
type Options struct {
	MaxBatch  int     // sequences in a batch, at least 1
	MaxLen    int     // positions in a sequence, at least 1
	Workers   int     // goroutines that share the work; 0 means one per processor
	StepScale float64 // training samples per input sample, 1/1024 to 1024 (docs/maths.md §1.6); 0 means 1

	// Training keeps what ForwardTrain and Backward need: about 5·NLayers + 2 arrays of
	// [MaxBatch][H][MaxLen], and for the sums of weight gradients 16 + 3·Workers arrays of 2H² + 6H
	// floats, but never more than 128.
	Training bool

	Shard *Shard // the part of each training batch that the Net computes; nil: all of it

	// Fixed asserts that the model's weights do not change during the lifetime of the Net. The
	// spectra of the kernels are then computed once and kept from one Forward to the next while the
	// planned length (see planFor) stays the same. The logits have the same bits. It takes
	// 16·H·MaxLen bytes per layer and excludes Training.
	Fixed bool
}

// Net is a network with its workspaces. Every call reads the model's weights, so a trainer may
// change them between calls, unless they are Fixed. A Net belongs to one goroutine at a time.
type Net struct {
	cfg       model.Config
	shard     Shard // zero: batches are not divided
	w         *model.Weights
	stepScale float64
	opt       Options
	pool      *par.Pool
	workers   []worker
	layers    []layer
	entry     []*norm // [NLayers+1] the norm between x_i and block i or, last, the pool; may be nil
	exit      []*norm // [NLayers] the norm at the end of block i (post-norm networks)
	plans     map[int]*plan
	loops     loops

	infer, keep activations // of Forward and of ForwardTrain; keep is empty without Training
	grad        array       // ∂loss/∂x_i of the current block
	partials    partials    // sums over groups of tiles
	pooled      []float32   // [B][H]
	dPooled     []float32   // [B][H]
	pairs       pairs       // of networks that compare two sequences
	logits      []float32
	poleGrad    *poleGrad // of S4D; nil without training
	scans       *scans    // of S5 and the LRU; nil for others

	// The current call.
	grid
	batch   Batch
	plan    *plan
	acts    *activations
	train   bool // batch statistics, dropout
	ready   bool // keep holds a forward pass that Backward may use
	kept    keptKernels
	block   int // the block whose loops run
	step    Step
	grads   *model.Weights
	dLogits []float32
	shared  sharedNorm // the norm over several shards whose loops run
}

// layer is the state of a block apart from its activations.
type layer struct {
	sequence sequenceLayer
	source   kernelSource // of a convolution; nil without an SSM
	spectra  []float32    // [H][spectrum] if kept (see keepsSpectra); else nil
	inner    []float32    // [B][H] dropout after the activation; nil without dropout
	outer    []float32    // [B][H] dropout on the block's output
	mixing   *vek.Weights // [2H][H] or [H][H]; nil without mixing
	mixBias  []float32
	dMixing  vek.Matrix // the gradients, during Backward
	dMixBias []float32
}

// New builds the workspaces to run m. Weights are shared, not copied.
func New(m *model.Model, opt Options) (*Net, error) {
	if m == nil || m.Weights == nil {
		return nil, fmt.Errorf("convmode: no model")
	}
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("convmode: %w", err)
	}
	if err := m.Config.Validate(); err != nil {
		return nil, fmt.Errorf("convmode: %w", err)
	}
	opt.Workers = par.Workers(opt.Workers)
	if opt.StepScale == 0 {
		opt.StepScale = 1
	}
	if err := opt.Validate(m.Config); err != nil {
		return nil, err
	}
	if err := checkKernels(m, opt); err != nil {
		return nil, err
	}
	n := &Net{cfg: m.Config, w: m.Weights, stepScale: opt.StepScale, opt: opt, plans: map[int]*plan{}}
	n.newNorms()
	if opt.Shard != nil {
		n.shard = *opt.Shard
	}
	n.shared.sums = make([]float64, 2*n.cfg.DModel)
	n.newActivations()
	n.newLayers()
	if err := n.recoverOutputs(m); err != nil {
		return nil, err
	}
	n.newDecoder()
	if opt.Training {
		n.newPartials()
	}
	n.newWorkers()
	n.planFor(opt.MaxLen)
	n.newLoops()
	n.pool = par.New(opt.Workers)
	return n, nil
}

// Close ends the workers. The Net must not be used afterwards.
func (n *Net) Close() { n.pool.Close() }

// Validate returns the error of New for a network with a valid configuration.
func (o Options) Validate(c model.Config) error {
	switch {
	case o.MaxBatch < 1:
		return fmt.Errorf("convmode: MaxBatch %d, expected at least 1", o.MaxBatch)
	case o.MaxLen < 1:
		return fmt.Errorf("convmode: MaxLen %d, expected at least 1", o.MaxLen)
	case o.Workers < 0:
		return fmt.Errorf("convmode: Workers %d, expected 0 or more", o.Workers)
	case o.MaxBatch%c.Towers() != 0:
		return fmt.Errorf("convmode: MaxBatch %d, expected an even number, since the network compares pairs of sequences", o.MaxBatch)
	case o.Fixed && o.Training:
		return fmt.Errorf("convmode: Fixed and Training are set, but training changes the weights")
	}
	if o.Shard != nil {
		if err := o.Shard.validate(c); err != nil {
			return err
		}
	}
	if o.StepScale != 0 {
		if err := ssm.CheckStepScale(o.StepScale); err != nil {
			return fmt.Errorf("convmode: StepScale %w", err)
		}
	}
	widest := max(2*c.DModel, c.DOutput, 4*c.SSM.Directions()*c.DModel, 2*c.SSM.Modes())
	if floats := float64(o.MaxBatch) * float64(widest) * float64(o.MaxLen); floats > 1<<36 {
		return fmt.Errorf("convmode: an array of MaxBatch %d × %d channels × MaxLen %d takes %.0f GiB, expected at most 256", o.MaxBatch, widest, o.MaxLen, floats/(1<<28))
	}
	return nil
}

// checkKernels returns an error for options with which the kernels of the model are not defined.
func checkKernels(m *model.Model, opt Options) error {
	switch m.Config.SSM.Layer {
	case ssm.LayerDSS:
		return checkDSS(m, opt)
	case ssm.LayerS4:
		return checkRankOne(m.Config.SSM, opt)
	}
	return nil
}

// newLayers allocates what blocks own.
func (n *Net) newLayers() {
	c := n.cfg
	switch {
	case c.SSM.MIMO():
		n.newScans()
	case n.opt.Training:
		n.poleGrad = newPoleGrad(c)
	}
	n.layers = make([]layer, n.cfg.NLayers)
	for i := range n.layers {
		l, w := &n.layers[i], &n.w.Layers[i]
		n.newSequence(l, i)
		if n.opt.Training && c.Dropout > 0 {
			l.inner = make([]float32, n.opt.MaxBatch*c.DModel)
			l.outer = make([]float32, n.opt.MaxBatch*c.DModel)
		}
		if n.mixingRows() > 0 {
			l.mixing = vek.NewWeights(n.mixingMatrix(w.MixWeight), false)
		}
		l.mixBias = w.MixBias
	}
}

func (n *Net) mixingRows() int { return n.cfg.MixingRows() }

func (n *Net) mixingMatrix(data []float32) vek.Matrix {
	return vek.MatrixOf(data, n.mixingRows(), n.cfg.DModel)
}

// loops holds the bodies of the parallel loops. They are made once, so that a step allocates no
// closures.
type loops struct {
	encode, conv, block, closeNorm, pool, decode               func(worker, item int)
	topGrad, decodeGrad, topNormGrad, groupGrad, sum, convGrad func(worker, item int)
	encodeGrad, sharedSum, sharedSquares, sharedApply          func(worker, item int)
	sharedDots, sharedNormGrad, addNormGrad                    func(worker, item int)
}

func (n *Net) newLoops() {
	n.loops = loops{
		encode: n.encodeTile, conv: n.convChannel, block: n.blockTile, closeNorm: n.closeNormChannel,
		pool: n.poolChannels, decode: n.decodeTile,
		topGrad: n.topGradTile, decodeGrad: n.decodeGradChannels, topNormGrad: n.topNormGradChannel,
		groupGrad: n.groupGrad, sum: n.sumRoots, convGrad: n.convGradChannel,
		encodeGrad: n.encodeGradChannels, sharedSum: n.sharedSumChannel, sharedSquares: n.sharedSquaresChannel,
		sharedApply: n.sharedApplyChannel, sharedDots: n.sharedDotsChannel, sharedNormGrad: n.sharedNormGradChannel,
		addNormGrad: n.addNormGradChannel,
	}
}
