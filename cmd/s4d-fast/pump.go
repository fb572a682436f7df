package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// audioInput is the audio that a stream reads.
type audioInput struct {
	name      string // for messages
	format    string // in the words of --format, or ffmpeg; never auto
	source    audio.Source
	inputRate float64 // Hz
	rate      float64 // Hz, of source; another than inputRate for resampled frames
	close     func() error
	position  int64 // samples taken from source, dropped ones included

	read atomic.Int64 // samples of the input, of which some may wait for source
}

// inputSample returns the sample of the input that corresponds to sample n of source. The last
// sample of resampled audio may be after the end of the input.
func (a *audioInput) inputSample(n int64) int64 {
	if a.inputRate == a.rate {
		return n
	}
	return min(int64(math.Round(float64(n)*a.inputRate/a.rate)), a.read.Load())
}

func (a *audioInput) samples() int64 { return a.inputSample(a.position) }

// errorAt adds the input's name and position to an error.
func (a *audioInput) errorAt(err error) error {
	return fmt.Errorf("%s: after sample %d: %w", a.name, a.samples(), err)
}

// checked is a source that counts samples, and returns an error at the first sample that is not
// valid audio.
type checked struct {
	audio.Source
	read *atomic.Int64
}

func (c checked) Read(dst []float32) (int, error) {
	n, err := c.Source.Read(dst)
	if good, bad := events.Check(dst[:n]); bad != nil {
		n, err = good, bad
	}
	c.read.Add(int64(n))
	return n, err
}

// sink turns samples into lines.
type sink struct {
	process func(samples []float32) error
	skip    func(n int64) error // n samples were dropped; may be nil
	flush   func() error        // the audio has ended; may be nil
}

// pump passes audio to a sink and prints the end line.
type pump struct {
	audio *audioInput
	sink  sink
	block int          // samples per call of the sink
	pipe  bool         // the input is a pipe: it may end anywhere, and the size in its header may be wrong
	live  bool         // drop samples rather than block the source
	notes func() error // prints what was noted since the last call
	out   *json.Encoder

	meter
	dropped int64
}

// meter measures the time from the arrival of inputs to their lines.
type meter struct {
	times report.Times
	busy  time.Duration
}

func (m *meter) measure(call func() error) error {
	began := time.Now()
	err := call()
	took := time.Since(began)
	m.busy += took
	m.times.Add(took)
	return err
}

// run processes the audio to its end and prints the end line, after an error too. Audio that ends
// inside a sample, or before its header says, is an error, except from a pipe or after a signal.
func (p *pump) run(ctx context.Context) error {
	err := p.processAll()
	early := errors.Is(err, audio.ErrTruncated) || errors.Is(err, io.ErrUnexpectedEOF)
	stopped := ctx.Err() != nil
	if early && (p.pipe || stopped) {
		err = nil
	}
	return cmp.Or(err, p.end(early && !stopped))
}

// processAll passes all blocks to the sink.
func (p *pump) processAll() error {
	done := make(chan struct{})
	defer close(done)
	for b := range p.read(done) {
		if err := cmp.Or(p.process(b), p.notes()); err != nil {
			return err
		}
		if b.err != nil && b.err != io.EOF {
			return badInput(p.audio.errorAt(b.err))
		}
	}
	return nil
}

// block is a number of samples: pump.block, or fewer before the end or an error.
type block struct {
	samples []float32
	dropped int64 // samples lost before this block
	err     error // after the samples
}

// maxBacklog is how many seconds of audio may wait for the model when the source must not be
// blocked.
const maxBacklog = 1

// read reads blocks in a goroutine until there is an error or done is closed.
func (p *pump) read(done <-chan struct{}) <-chan block {
	ahead := 1
	if p.live {
		ahead = max(1, int(maxBacklog*p.audio.rate)/p.block)
	}
	out := make(chan block, ahead)
	go func() {
		defer close(out)
		dropped := int64(0)
		for err := error(nil); err == nil; {
			buf := make([]float32, p.block)
			var n int
			n, err = p.audio.fill(buf)
			if p.live && err == nil && len(out) == cap(out) {
				dropped += int64(n)
				continue
			}
			select {
			case out <- block{buf[:n], dropped, err}:
				dropped = 0
			case <-done:
				return
			}
		}
	}()
	return out
}

// fill reads until buf is full or the audio ends.
func (a *audioInput) fill(buf []float32) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = a.source.Read(buf[n:])
		n += k
	}
	return n, err
}

// process passes a block to the sink.
func (p *pump) process(b block) error {
	if b.dropped > 0 {
		p.dropped += b.dropped
		p.audio.position += b.dropped
		if p.sink.skip != nil {
			if err := p.sink.skip(b.dropped); err != nil {
				return err
			}
		}
	}
	if len(b.samples) == 0 {
		return nil
	}
	p.audio.position += int64(len(b.samples))
	return p.measure(func() error { return p.sink.process(b.samples) })
}

func (p *pump) end(truncated bool) error {
	if p.sink.flush != nil {
		if err := p.sink.flush(); err != nil {
			return err
		}
	}
	line := report.End{
		Type: "end", Samples: p.audio.samples(), Seconds: float64(p.audio.samples()) / p.audio.inputRate, Dropped: p.audio.inputSample(p.dropped),
		Block:     report.Block{Samples: p.block, Quantiles: p.times.Quantiles()},
		Truncated: truncated,
	}
	if line.Seconds > 0 {
		line.RealTimeFactor = p.busy.Seconds() / line.Seconds
	}
	return p.out.Encode(line)
}
