package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/wav"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// Lines of a stream's output (docs/stream.md). Times are sample counts.
type (
	startLine struct {
		Type   string   `json:"type"`
		Format string   `json:"format"`
		Rate   float64  `json:"rate"`
		Model  string   `json:"model"`
		Task   string   `json:"task,omitempty"`
		Labels []string `json:"labels,omitempty"`
		Level  string   `json:"level"`
		Hop    int      `json:"hop"`
	}
	frameLine struct {
		Type      string    `json:"type"`
		Sample    int64     `json:"sample"`
		Label     string    `json:"label,omitempty"`
		Posterior []float32 `json:"posterior,omitempty"`
		Output    []float32 `json:"output,omitempty"` // regression models, and models that answer at every sample
	}
	endLine struct {
		Type           string  `json:"type"`
		Samples        int64   `json:"samples"`
		Seconds        float64 `json:"seconds"`          // of audio
		RealTimeFactor float64 `json:"real_time_factor"` // computing time / audio time
		Truncated      bool    `json:"truncated,omitempty"`
	}
)

// framer feeds a stream and prints a frame every hop.
type framer struct {
	stream       *recurrent.Stream
	model        *model.Model
	hop          int
	rate         float64
	scale, shift float32 // of the input normalisation
	out          *json.Encoder
	busy         time.Duration
}

func newFramer(net *recurrent.Network, m *model.Model, rate float64, hop int, out io.Writer) *framer {
	f := &framer{stream: net.NewStream(), model: m, hop: hop, rate: rate, out: json.NewEncoder(out)}
	f.scale, f.shift = m.Meta.Affine(0)
	return f
}

// run prints frames until the audio ends or ctx is cancelled, and then the end line. It reports whether the audio
// ended before its header said.
func (f *framer) run(ctx context.Context, audio wav.Source) (truncated bool, err error) {
	chunks := readChunks(ctx, audio, f.hop)
	for {
		select {
		case <-ctx.Done():
			return false, f.end(false)
		case c := <-chunks:
			if len(c.samples) > 0 {
				if err := f.feed(c.samples); err != nil {
					return false, err
				}
			}
			if errors.Is(c.err, io.EOF) {
				r, isWAV := audio.(*wav.Reader)
				truncated = isWAV && r.Truncated
				return truncated, f.end(truncated)
			}
			if c.err != nil {
				return false, badInput(fmt.Errorf("after sample %d: %w", f.stream.Position(), c.err))
			}
		}
	}
}

// chunk is a hop's samples, or fewer before the end or an error.
type chunk struct {
	samples []float32
	err     error
}

// readChunks reads ahead in a goroutine, so that a silent pipe does not keep a signal waiting.
func readChunks(ctx context.Context, audio wav.Source, hop int) <-chan chunk {
	out := make(chan chunk, 1)
	go func() {
		for {
			buf := make([]float32, hop)
			n, err := readFull(audio, buf)
			select {
			case out <- chunk{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// readFull reads until buf is full or the source ends, whatever the chunks it delivers.
func readFull(s wav.Source, buf []float32) (int, error) {
	n := 0
	for n < len(buf) {
		k, err := s.Read(buf[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// feed advances the stream and prints a frame.
func (f *framer) feed(samples []float32) error {
	began := time.Now()
	vek.ScaleShift(samples, samples, f.scale, f.shift)
	y := f.stream.Process(samples, len(samples))
	f.busy += time.Since(began)
	for _, v := range y {
		if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return badInput(fmt.Errorf("after sample %d: the network's output is %v: the input is too loud", f.stream.Position(), v))
		}
	}
	line := frameLine{Type: "frame", Sample: f.stream.Position()}
	if len(f.model.Meta.Labels) == 0 || f.model.Config.Pool == model.PoolNone {
		line.Output = y
		return f.out.Encode(line)
	}
	line.Posterior = model.Posterior(y)
	best := 0
	for i, p := range line.Posterior {
		if p > line.Posterior[best] {
			best = i
		}
	}
	line.Label = f.model.Meta.Labels[best]
	return f.out.Encode(line)
}

func (f *framer) end(truncated bool) error {
	seconds := float64(f.stream.Position()) / f.rate
	line := endLine{Type: "end", Samples: f.stream.Position(), Seconds: seconds, Truncated: truncated}
	if seconds > 0 {
		line.RealTimeFactor = f.busy.Seconds() / seconds
	}
	return f.out.Encode(line)
}
