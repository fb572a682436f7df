// Package recurrent runs a network sample by sample, on streams of any length, in constant memory
// and, on average, in constant time per sample. With Options.Window the time of one sample in every
// Window is proportional to Window.
//
// A Network holds a model's constants and is shared by streams. A Stream holds the state of one
// signal and belongs to one goroutine at a time. Per layer, the state is complex, float32
// [H][M], of S5 and the LRU [P]. S4D's and DSS's also has eight inputs or outputs per channel,
// since it advances by eight samples at a time. Network.StateBytes returns its size.
// The input is samples [d_input][n] or tokens. With Options.Normalize samples are in the unit of
// the training data, without it the caller normalises them (model.Meta.Affine). The output is the
// decoder's, [d_output]: for a regression in the target's unit, for a classifier logits or, with
// Options.Posterior, class probabilities.
//
// Convolution mode (package convmode) reads the same weights and gives the same numbers up to
// rounding, but those of a regression standardised. How a signal is cut into calls, and which
// streams ProcessMany advances together, never changes a bit of the output.
//
// # Snapshots
//
// Stream.Snapshot writes a stream's state and Stream.Restore reads it, in the same process or in
// another. A snapshot names the model, the options and the kernel level it was taken with. Restore
// rejects it where one of them differs, because levels round differently. After Restore the output
// has the same bits as without the interruption.
package recurrent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Options of a Network.
type Options struct {
	// StepScale is the number of model samples per input sample, from 1/1024 to 1024: 2 where only
	// every second sample arrives. 0 means 1. The steps Δ of the SSMs are multiplied by it
	// (docs/maths.md §1.6).
	StepScale float64

	// Window is the number of samples that the mean pool looks back. 0 means all since the start,
	// which suits clips. An endless stream needs a window as long as the training examples. It does
	// not bound what the states of the SSMs remember. The mean covers up to 126 samples more, since
	// it forgets whole blocks of 64.
	Window int

	// Normalize applies the model's input normalisation (model.Meta.Affine) to every sample: the
	// input is in the unit of the training data. It has no effect if the model stores none or reads
	// tokens. False: the input is already normalised.
	Normalize bool

	// Posterior replaces the logits by their softmax, the class probabilities. The model must have
	// labels.
	Posterior bool
}

// Network is a model prepared for streaming. It is immutable and shared by any number of streams.
type Network struct {
	cfg       model.Config
	stepScale float64
	blocks    int      // complete blocks that the mean pool looks back; 0: all
	hash      [32]byte // of the model, for snapshots
	layers    []layer

	encoder, decoder linear
	embedding        []float32 // [d_input][H], for tokens
	final            norm

	normalize, posterior bool
	scale, shift         []float32 // [d_input] input normalisation; nil: none

	mu   sync.Mutex
	idle []*workspace // as many as calls have run at the same time
}

// maxWindow bounds Options.Window.
const maxWindow = 1 << 30

// Check returns an error if a stream cannot run networks with a configuration: a bidirectional
// network reads samples that have not arrived, no finite state reproduces a truncated kernel, and a
// network that compares two sequences needs both.
func Check(cfg model.Config) error {
	switch {
	case cfg.SSM.Bidirectional:
		return errors.New("recurrent: a bidirectional network reads future samples, which a stream does not have; train with ssm.bidirectional = false")
	case cfg.Pairs:
		return errors.New("recurrent: the network compares two sequences, but a stream is a single one; train on data without pairs")
	case cfg.SSM.LMax > 0:
		return fmt.Errorf("recurrent: the network truncates its kernels (ssm.l_max = %d), but a recurrence computes the whole kernel; train with ssm.l_max = 0, or convert a PyTorch checkpoint with --length 0", cfg.SSM.LMax)
	}
	return nil
}

// New prepares a model. Models that a stream cannot run (Check) are an error.
func New(m *model.Model, opt Options) (*Network, error) {
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("recurrent: %w", err)
	}
	cfg := m.Config
	opt.StepScale = cmp.Or(opt.StepScale, 1)
	if err := ssm.CheckStepScale(opt.StepScale); err != nil {
		return nil, fmt.Errorf("recurrent: step scale %w", err)
	}
	switch {
	case opt.Window < 0 || opt.Window > maxWindow:
		return nil, fmt.Errorf("recurrent: window %d: expected 0 … %d samples", opt.Window, maxWindow)
	case opt.Window > 0 && cfg.Pool != model.PoolMean:
		return nil, fmt.Errorf("recurrent: window %d: the network's pool is %q, expected %q", opt.Window, cfg.Pool, model.PoolMean)
	case opt.Posterior && len(m.Meta.Labels) == 0:
		return nil, errors.New("recurrent: Posterior: the model has no labels, so its outputs are not those of classes")
	}
	if err := Check(cfg); err != nil {
		return nil, fmt.Errorf("%w, or use package convmode", err)
	}

	n := &Network{
		cfg: cfg, stepScale: opt.StepScale, blocks: (opt.Window + blockSamples - 1) / blockSamples, hash: m.Hash(),
		normalize: opt.Normalize, posterior: opt.Posterior,
	}
	w := m.Weights
	if cfg.Encoder == model.EncoderEmbedding {
		n.embedding = slices.Clone(w.EncoderWeight)
	} else {
		n.encoder = newLinear(w.EncoderWeight, w.EncoderBias, cfg.DModel)
		for c := range cfg.DInput {
			if opt.Normalize && len(m.Meta.InputMean) > 0 {
				scale, shift := m.Meta.Affine(c)
				n.scale, n.shift = append(n.scale, scale), append(n.shift, shift)
			}
		}
	}
	for i := range cfg.NLayers {
		l, err := newLayer(m, i, opt.StepScale)
		if err != nil {
			return nil, err
		}
		n.layers = append(n.layers, l)
	}
	if cfg.FinalNorm {
		n.final = newNorm(cfg, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
	}
	decoder, bias := m.OutputDecoder()
	n.decoder = newLinear(decoder, bias, cfg.DOutput)
	return n, nil
}

// Inputs returns d_input: the channels of a sample, or the size of the vocabulary.
func (n *Network) Inputs() int { return n.cfg.DInput }

// Outputs returns d_output.
func (n *Network) Outputs() int { return n.cfg.DOutput }

// StateBytes returns the size of one stream's state: with H rounded up to a multiple of 16, 8·H·M +
// 32·H bytes per layer of S4D or DSS and 8·H·M of S4, 8·P of S5 or the LRU with P modes, and with
// mean pooling 8·H for the sum, 16·H with the maximum, or 8·H·(2 + blocks) with a window of so many
// blocks of 64 samples.
func (n *Network) StateBytes() int {
	rows := 1
	if n.blocks > 0 {
		rows = 2 + n.blocks
	}
	return 4*n.stateLen() + 8*n.sumLen()*rows
}

// StreamBytes returns what a stream takes in memory: its state and the outputs of one position. The
// working memory of a call belongs to the network and is shared.
func (n *Network) StreamBytes() int {
	return int(unsafe.Sizeof(Stream{})) + n.StateBytes() + 4*n.cfg.DOutput
}

// stateLen is the number of float32s in the states of all SSM layers.
func (n *Network) stateLen() int { return n.cfg.CountSSM() * n.layers[0].recurrence.stateLen() }

// sumLen is the number of float64s in Stream.sum.
func (n *Network) sumLen() int {
	switch n.cfg.Pool {
	case model.PoolMean:
		return n.cfg.DModel
	case model.PoolMeanMax:
		return 2 * n.cfg.DModel
	}
	return 0
}
