// Package convmode runs whole sequences through a network, forward and backward.
//
// Forward computes the logits of a Batch of sequences. Those of a regression are standardised, in
// training and in inference; model.Meta.OutputScale converts them to the target's unit, in which
// package recurrent gives them. Backward takes ∂loss/∂logits and adds the gradient of every weight
// to a model.Weights.
//
// A Net is what is built once: blocks with their activations, and between two blocks an input,
// which is what the next block reads. A pass is one call: its batch, and how that is divided. A
// block's sequenceLayer is one long convolution per channel over pairs of rows (package fftkernel,
// docs/maths.md §9.2), or for S5 and the LRU a scan over time between two matrix products (§19.2).
// All other operations work on tiles of [H] × a few hundred positions, which stay in the cache.
// Activations are float32 [B][H][L], time contiguous, with rows aligned to 64 bytes. The work is
// cut into items whose borders and order of summation do not depend on the number of workers, so
// the bits of the result do not either.
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
	StepScale float64 // training samples per input sample, 1/1024 to 1024 (docs/maths.md §1.6); 0 means 1, as for training

	// Training keeps what ForwardTrain and Backward need: about 5·NLayers + 2 arrays of
	// [MaxBatch][H][MaxLen], the kernels, [directions][H][MaxLen] per layer, and for the sums of
	// weight gradients at most 32 arrays of 2H² + 6H floats.
	Training bool

	Shard *Shard // the part of each training batch that the Net computes; nil: all of it

	// Fixed asserts that the model's weights do not change during the lifetime of the Net. The
	// spectra of the kernels are then computed once and kept from one Forward to the next while the
	// planned length (see planFor) stays the same. The logits have the same bits. It takes
	// 16·H·MaxLen bytes per layer and excludes Training.
	Fixed bool
}

// Net is a network, built once, with the memory of its passes. Every call reads the model's
// weights, so a trainer may change them between calls, unless they are Fixed. A Net belongs to one
// goroutine at a time.
//
// The passage through the network is inputs[0] → blocks[0] → inputs[1] → … → the head. These parts
// have the activations. A parallel loop over tiles, channels or groups is a method with the
// arguments (worker, item). Its function value is made once, so that a step allocates no closures.
type Net struct {
	cfg  model.Config
	w    *model.Weights
	opt  Options // with its defaults
	pool *par.Pool

	inputs []*input // [NLayers+1] of the blocks and, last, of the head
	blocks []*block // [NLayers]
	head   *head
	grad   array // ∂loss/∂x of the current input

	// Memory that the parts share.
	plans    map[int]*plan // by planned length
	workers  []worker
	partials []partial // sums over groups of tiles
	poleGrad *poleGrad // of kernels; nil without training
	scans    *scans    // of S5 and the LRU; nil for others
	kept     *plan     // whose spectra the convolutions hold, with Options.Fixed; nil: none

	pass  pass // the current one
	loops struct{ encode, encodeGrad func(worker, item int) }
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
	if opt.Shard == nil {
		opt.Shard = &Shard{Count: 1}
	}
	if err := opt.Validate(m.Config); err != nil {
		return nil, err
	}
	if err := checkKernels(m, opt); err != nil {
		return nil, err
	}
	n := &Net{cfg: m.Config, w: m.Weights, opt: opt, plans: map[int]*plan{}}
	n.init()
	n.planFor(opt.MaxLen)
	n.pool = par.New(opt.Workers)
	return n, nil
}

// init allocates the parts and their memory.
func (n *Net) init() {
	switch {
	case n.cfg.SSM.MIMO():
		n.scans = n.newScans()
	case n.opt.Training:
		n.poleGrad = newPoleGrad(n.cfg)
	}
	n.newBlocks()
	n.newNorms()
	n.head = n.newHead()
	if n.opt.Training {
		n.partials = newPartials(n.cfg, n.opt)
	}
	n.newWorkers()
	n.loops.encode, n.loops.encodeGrad = n.encodeTile, n.encodeGradChannels
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
	case o.Training && o.StepScale != 0 && o.StepScale != 1:
		return fmt.Errorf("convmode: StepScale %v: a network is trained at 1", o.StepScale)
	case o.Training && c.SSM.FixedLength() && o.MaxLen > c.SSM.LKernel:
		return fmt.Errorf("convmode: ssm.l_kernel %d: layer %q is trained with at least %d taps, the length of the longest sequence", c.SSM.LKernel, c.SSM.Layer, o.MaxLen)
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
		return checkRankOne(m, opt)
	}
	return nil
}
