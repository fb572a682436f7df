package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/wav"
)

// audio is what a stream hears.
type audio struct {
	source      wav.Source
	wav         *wav.Reader // beneath it, or nil
	rate, heard float64     // Hz: the input's, and the source's, which may be another
	position    int64       // samples that were taken from the source, lost ones included
}

// at returns the sample of the input that is heard as sample n.
func (a *audio) at(n int64) int64 {
	if a.rate == a.heard {
		return n
	}
	return int64(math.Round(float64(n) * a.rate / a.heard))
}

func (a *audio) samples() int64 { return a.at(a.position) }

// truncated reports whether the audio ended before its header said.
func (a *audio) truncated() bool { return a.wav != nil && a.wav.Truncated }

// hearer turns samples into lines.
type hearer interface {
	hear(samples []float32) error // may change them
	skip(n int64) error           // n samples were lost
	finish() error                // there will be no more
}

// pump feeds a hearer and prints the end line.
type pump struct {
	audio  *audio
	hearer hearer
	block  int  // samples at a time
	live   bool // rather lose samples than make the source wait
	out    *json.Encoder

	times   report.Times
	busy    time.Duration
	dropped int64
}

// run goes on until the audio ends or ctx is cancelled. It reports whether the audio ended before its header said.
func (p *pump) run(ctx context.Context) (truncated bool, err error) {
	blocks := p.read(ctx)
	for {
		select {
		case <-ctx.Done():
			return false, p.end(false)
		case b := <-blocks:
			if err := p.step(b); err != nil {
				return false, err
			}
			if errors.Is(b.err, io.EOF) {
				truncated = p.audio.truncated()
				return truncated, p.end(truncated)
			}
			if b.err != nil {
				err := badInput(fmt.Errorf("after sample %d: %w", p.audio.samples(), b.err))
				return false, errors.Join(p.hearer.finish(), err)
			}
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

// read reads ahead in a goroutine, so that a silent pipe does not keep a signal waiting.
func (p *pump) read(ctx context.Context) <-chan block {
	room := 1
	if p.live {
		room = max(1, int(backlog*p.audio.heard)/p.block)
	}
	out := make(chan block, room)
	go func() {
		lost := int64(0)
		for {
			buf := make([]float32, p.block)
			n, err := readFull(p.audio.source, buf)
			b := block{buf[:n], lost, err}
			if p.live && err == nil {
				select {
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
