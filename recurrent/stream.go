package recurrent

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
)

// Stream is the state of one signal. It belongs to one goroutine at a time.
type Stream struct {
	net      *Network
	state    []float32 // [layer][stateLen]
	sum      []float64 // [H] Σ over all positions, or this block's if there is a window; then, with pool mean-max, [H] maxima
	window   window
	position int64
	out      []float32
	place    int // among the streams of the last ProcessMany
}

// NewStream starts a stream at position 0 with state 0.
func (n *Network) NewStream() *Stream {
	return &Stream{
		net:    n,
		state:  make([]float32, n.stateLen()),
		sum:    make([]float64, n.sumLen()),
		window: newWindow(n.blocks, n.sumLen()),
		out:    make([]float32, n.cfg.DOutput),
	}
}

// NewStream prepares a model with default options and starts one stream. For several streams,
// share a Network.
func NewStream(m *model.Model) (*Stream, error) {
	n, err := New(m, Options{})
	if err != nil {
		return nil, err
	}
	return n.NewStream(), nil
}

// Position returns the number of samples since the start.
func (s *Stream) Position() int64 { return s.position }

// Reset makes the stream equal to a new one.
func (s *Stream) Reset() {
	clear(s.state)
	clear(s.sum)
	clear(s.window.rows)
	clear(s.window.cycle)
	s.position = 0
}

// pooled returns the number of positions that the mean is taken over.
func (s *Stream) pooled() int64 {
	if s.net.blocks == 0 {
		return s.position
	}
	return min(s.position, int64(s.net.blocks)*blockSamples+s.position%blockSamples)
}

// Step takes one sample x [d_input] and returns the output [d_output]: the decoder's output for the
// mean over all positions so far (pools mean and mean-max; the latter adds the maximum) or for this
// position (pool last or none). The result is valid until the next call. Step allocates nothing.
func (s *Stream) Step(x []float32) []float32 { return s.Process(x, 1) }

// Process takes n ≥ 1 samples x [d_input][n] and returns what Step would have returned for the last
// of them; with pool none it returns the outputs of all samples, [d_output][n]. Channel by channel,
// x[c·n + i] is sample i of channel c. The result is valid until the next call. Process allocates
// only with pool none, and only if n is larger than ever before.
func (s *Stream) Process(x []float32, n int) []float32 {
	s.net.checkSamples(x, n, 1)
	return s.process(x, nil, n)
}

// ProcessTokens is Process for a network that reads tokens. A token that is not in [0, d_input) is
// an error, which leaves the stream as it was.
func (s *Stream) ProcessTokens(ids []int32) ([]float32, error) {
	if len(ids) == 0 {
		panic("recurrent: no tokens")
	}
	if s.net.embedding == nil {
		panic("recurrent: tokens for a network that reads samples")
	}
	if err := model.CheckTokens(ids, s.net.cfg.DInput); err != nil {
		return nil, fmt.Errorf("recurrent: %w", err)
	}
	return s.process(nil, ids, len(ids)), nil
}

func (s *Stream) process(x []float32, ids []int32, n int) []float32 {
	if s.net.cfg.Pool == model.PoolNone {
		size := s.net.cfg.DOutput * n
		s.out = slices.Grow(s.out[:0], size)[:size] // [d_output][n]
	}
	single := [1]*Stream{s}
	s.net.process(s.out, x, ids, n, single[:])
	return s.out
}
