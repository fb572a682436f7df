// Package recurrent runs a network sample by sample: streams that never end, in constant memory and time.
//
// In go input samples [d_input][n] (already normalised) or tokens, out come the decoder's answers [d_output].
// A Network holds a model's constants for one step scale and is shared; a Stream holds the state of one
// signal, float32 [H][M] per layer, split into real and imaginary parts, and belongs to one goroutine at a
// time. Both modes of running read the same weights and give the same numbers; how a signal is cut into
// calls, or which streams run together (StepMany), never changes a bit.
package recurrent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// Options of a Network.
type Options struct {
	StepScale float64 // model samples per input sample: 2 where only every second sample arrives; 0 means 1 (docs/maths.md §1.6)

	// Window is how many samples the mean pool looks back: at least so many, and up to 126 more, since it forgets whole
	// blocks of 64. 0: all since the start. A stream that never ends wants one.
	Window int
}

// Network is a model made ready for streaming at one step scale: immutable, shared by any number of streams.
type Network struct {
	cfg       model.Config
	stepScale float64
	blocks    int      // complete blocks that the mean pool looks back, 0: all
	hash      [32]byte // of the model, carried by snapshots
	layers    []layer

	encoder, decoder linear
	embedding        []float32 // [d_input][H], for tokens
	final            norm

	mu   sync.Mutex
	idle []*workspace // one for every call that ever ran at the same moment
}

// maxWindow bounds Options.Window.
const maxWindow = 1 << 30

// New prepares a model. It refuses models that a stream cannot run: bidirectional ones, whose second kernel
// reads samples that have not arrived, truncated kernels, which no finite state reproduces, and those of two sequences.
func New(m *model.Model, opt Options) (*Network, error) {
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("recurrent: %w", err)
	}
	cfg := m.Config
	if opt.StepScale == 0 {
		opt.StepScale = 1
	}
	switch {
	case !(opt.StepScale > 0) || math.IsInf(opt.StepScale, 1):
		return nil, fmt.Errorf("recurrent: step scale %v: want a finite number > 0", opt.StepScale)
	case opt.Window < 0 || opt.Window > maxWindow:
		return nil, fmt.Errorf("recurrent: window %d: want 0 … %d samples", opt.Window, maxWindow)
	case opt.Window > 0 && cfg.Pool != model.PoolMean:
		return nil, fmt.Errorf("recurrent: window %d: the network's pool is %q, want %q", opt.Window, cfg.Pool, model.PoolMean)
	case cfg.SSM.Bidirectional:
		return nil, errors.New("recurrent: the model is bidirectional: its second kernel reads future samples, which a stream does not have; run it in convolution mode")
	case cfg.Pairs:
		return nil, errors.New("recurrent: the model compares two sequences, a stream is one; run it in convolution mode")
	case cfg.SSM.LMax > 0:
		return nil, fmt.Errorf("recurrent: the model truncates its kernels (l_max %d), but a recurrence has the whole kernel; run it in convolution mode", cfg.SSM.LMax)
	}

	n := &Network{cfg: cfg, stepScale: opt.StepScale, blocks: (opt.Window + block - 1) / block, hash: m.Hash()}
	w := m.Weights
	if cfg.Encoder == model.EncoderEmbedding {
		n.embedding = slices.Clone(w.EncoderWeight)
	} else {
		n.encoder = newLinear(w.EncoderWeight, w.EncoderBias, cfg.DModel)
	}
	for i := range cfg.NLayers {
		n.layers = append(n.layers, newLayer(m, i, opt.StepScale))
	}
	if cfg.FinalNorm {
		n.final = newNorm(cfg.Norm, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
	}
	decoder, bias := m.OutputDecoder()
	n.decoder = newLinear(decoder, bias, cfg.DOutput)
	return n, nil
}

// Level names the kernels that all networks run on: "generic", "avx2", "avx512" or "neon".
func Level() string { return string(vek.CurrentLevel()) }

// StepScale returns the number of model samples per input sample.
func (n *Network) StepScale() float64 { return n.stepScale }

// Outputs returns d_output.
func (n *Network) Outputs() int { return n.cfg.DOutput }

// StateBytes returns the size of one stream's state: 8·H·M bytes a layer with an SSM, and 8·H for the running mean, or
// for each block of a window. The working memory of a call belongs to the network and is reused.
func (n *Network) StateBytes() int { return 4*n.stateLen() + 8*n.sumLen()*(1+n.blocks) }

// StreamBytes returns what a stream costs in memory: its state, the window's sum, its last outputs (one position's) and
// what holds them together.
func (n *Network) StreamBytes() int {
	return int(unsafe.Sizeof(Stream{})) + n.StateBytes() + 8*n.sumLen() + 4*n.cfg.DOutput
}

// stateLen is the number of float32s of h: [layer][re, im][H][M].
func (n *Network) stateLen() int { return n.cfg.CountSSM() * 2 * n.cfg.DModel * n.cfg.SSM.Modes() }

// sumLen is the number of float64s of the running mean: [H].
func (n *Network) sumLen() int {
	if n.cfg.Pool == model.PoolMean {
		return n.cfg.DModel
	}
	return 0
}
