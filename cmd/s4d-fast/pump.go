package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/report"
)

// sink turns samples into lines.
type sink interface {
	process(samples []float32) error
	skip(n int64) error // n samples were dropped
	flush() error       // the audio has ended
}

// pump passes audio to a sink and prints the end line.
type pump struct {
	audio *audioInput
	sink  sink
	size  int          // samples of a block, with which the sink is called
	pipe  bool         // the input is a pipe: it may end anywhere, and the size in its header may be wrong
	live  bool         // drop samples rather than block the source
	note  func() error // prints what was noted since the last call
	out   *json.Encoder

	times   report.Times // from the arrival of blocks to their lines
	dropped int64
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

func (p *pump) processAll() error {
	done := make(chan struct{})
	defer close(done)
	for b := range p.read(done) {
		if err := cmp.Or(p.process(b), p.note()); err != nil {
			return err
		}
		if b.err != nil && b.err != io.EOF {
			return badInput(p.audio.errorAt(b.err))
		}
	}
	return nil
}

// block is a number of samples: pump.size, or fewer before the end or an error.
type block struct {
	samples []float32
	dropped int64 // samples lost before this block
	arrived int64 // samples of the input so far
	err     error // after the samples
}

// maxBacklog is how many seconds of audio may wait for the model when the source must not be
// blocked.
const maxBacklog = 1

// read reads blocks in a goroutine until there is an error or done is closed.
func (p *pump) read(done <-chan struct{}) <-chan block {
	ahead := 1
	if p.live {
		ahead = max(1, int(maxBacklog*p.audio.rate)/p.size)
	}
	out := make(chan block, ahead)
	go func() {
		defer close(out)
		for b := (block{}); b.err == nil; {
			b.samples = make([]float32, 0, p.size)
			for len(b.samples) < p.size && b.err == nil {
				var n int
				n, b.err = p.audio.source.Read(b.samples[len(b.samples):p.size])
				b.samples = b.samples[:len(b.samples)+n]
			}
			b.arrived = p.audio.input.Samples
			if p.live && b.err == nil && len(out) == cap(out) {
				b.dropped += int64(len(b.samples))
				continue
			}
			select {
			case out <- b:
				b.dropped = 0
			case <-done:
				return
			}
		}
	}()
	return out
}

func (p *pump) process(b block) error {
	p.audio.arrived = b.arrived
	if b.dropped > 0 {
		p.dropped += b.dropped
		p.audio.position += b.dropped
		if err := p.sink.skip(b.dropped); err != nil {
			return err
		}
	}
	if len(b.samples) == 0 {
		return nil
	}
	p.audio.position += int64(len(b.samples))
	began := time.Now()
	err := p.sink.process(b.samples)
	p.times.Add(time.Since(began))
	return err
}

func (p *pump) end(truncated bool) error {
	if err := p.sink.flush(); err != nil {
		return err
	}
	line := report.NewEnd(p.audio.samples(), p.audio.input.Rate, p.times.Total(), report.Block{Samples: p.size, Quantiles: p.times.Quantiles()})
	line.Dropped, line.Truncated = p.audio.inputSample(p.dropped), truncated
	return p.out.Encode(line)
}
