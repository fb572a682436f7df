package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// audioInput is the audio that a stream reads.
type audioInput struct {
	name        string // for messages
	source      audio.Source
	wav         *audio.WAVReader // beneath it, or nil
	rate, heard float64          // Hz: the input's, and the source's, which may be another
	position    int64            // samples that were taken from the source, lost ones included
}

// at returns the sample of the input that is heard as sample n.
func (a *audioInput) at(n int64) int64 {
	if a.rate == a.heard {
		return n
	}
	return int64(math.Round(float64(n) * a.rate / a.heard))
}

func (a *audioInput) samples() int64 { return a.at(a.position) }

// after tells where an error met the audio.
func (a *audioInput) after(err error) error {
	return fmt.Errorf("%s: after sample %d: %w", a.name, a.samples(), err)
}

// sound is a source that ends with an error where its samples are no audio.
type sound struct{ audio.Source }

func (s sound) Read(dst []float32) (int, error) {
	n, err := s.Source.Read(dst)
	if good, bad := events.Check(dst[:n]); bad != nil {
		return good, bad
	}
	return n, err
}

// hearer turns samples into lines.
type hearer interface {
	hear(samples []float32) error // may change them
	skip(n int64) error           // n samples were lost
	finish() error                // there will be no more
}

// pump feeds a hearer and prints the end line.
type pump struct {
	audio  *audioInput
	hearer hearer
	block  int  // samples at a time
	pipe   bool // its writer may be stopped anywhere, and a size that it promised means little
	live   bool // rather lose samples than make the source wait
	out    *json.Encoder

	times   report.Times
	busy    time.Duration
	dropped int64
}

// run goes on until the audio ends, and prints the end line whatever else it returns. Audio that ended early, inside a sample or before its
// header said, is an error too, unless it came from a pipe or it was Ctrl-C that cut it.
func (p *pump) run(ctx context.Context) error {
	err := p.listen()
	early := errors.Is(err, audio.ErrTruncated) || errors.Is(err, io.ErrUnexpectedEOF)
	stopped := ctx.Err() != nil
	if early && (p.pipe || stopped) {
		err = nil
	}
	ending := p.end(early && !stopped)
	return cmp.Or(err, ending)
}

// listen hears all blocks.
func (p *pump) listen() error {
	done := make(chan struct{})
	defer close(done)
	blocks := p.read(done)
	for {
		b := <-blocks
		if err := p.step(b); err != nil {
			return err
		}
		if b.err == io.EOF {
			return nil
		}
		if b.err != nil {
			return badInput(p.audio.after(b.err))
		}
	}
}

// block is a number of samples, or fewer before the end or an error; lost ones came before them.
type block struct {
	samples []float32
	lost    int64
	err     error
}

// backlog is the seconds of audio that may pile up when a source does not wait.
const backlog = 1

// read reads ahead in a goroutine, until there is an error or done is closed.
func (p *pump) read(done <-chan struct{}) <-chan block {
	room := 1
	if p.live {
		room = max(1, int(backlog*p.audio.heard)/p.block)
	}
	out := make(chan block, room)
	go func() {
		lost := int64(0)
		for {
			buf := make([]float32, p.block)
			n, err := p.audio.fill(buf)
			b := block{buf[:n], lost, err}
			if p.live && err == nil {
				select {
				case <-done:
					return
				case out <- b:
					lost = 0
				default:
					lost += int64(n)
				}
				continue
			}
			select {
			case out <- b:
				lost = 0
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// fill reads until buf is full, whatever the chunks that the source delivers, or the audio ends.
func (a *audioInput) fill(buf []float32) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = a.source.Read(buf[n:])
		n += k
	}
	if err == io.EOF && a.wav != nil && a.wav.Truncated {
		err = audio.ErrTruncated
	}
	return n, err
}

// step hears a block.
func (p *pump) step(b block) error {
	if b.lost > 0 {
		p.dropped += b.lost
		p.audio.position += b.lost
		if err := p.hearer.skip(b.lost); err != nil {
			return err
		}
	}
	if len(b.samples) == 0 {
		return nil
	}
	p.audio.position += int64(len(b.samples))
	began := time.Now()
	err := p.hearer.hear(b.samples)
	took := time.Since(began)
	p.busy += took
	p.times.Add(took)
	return err
}

func (p *pump) end(truncated bool) error {
	if err := p.hearer.finish(); err != nil {
		return err
	}
	line := report.End{
		Type: "end", Samples: p.audio.samples(), Seconds: float64(p.audio.position) / p.audio.heard, Dropped: p.audio.at(p.dropped),
		Block:     p.times.Block(p.block),
		Truncated: truncated,
	}
	if line.Seconds > 0 {
		line.RealTimeFactor = p.busy.Seconds() / line.Seconds
	}
	return p.out.Encode(line)
}
