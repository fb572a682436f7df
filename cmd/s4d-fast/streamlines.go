package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

// streamDefaults are the defaults that the help shows.
func streamDefaults() kong.Vars {
	d := events.Defaults()
	return kong.Vars{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory), "window": fmt.Sprint(d.Smoothing),
	}
}

// options returns the options of the model with the values of the flags that are given.
func (c *streamCmd) options(m *model.Model) (events.Options, error) {
	opt := events.DefaultsFor(m)
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.Confirm, opt.Refractory = or(c.Confirm, opt.Confirm), or(c.Refractory, opt.Refractory)
	switch window := or(c.Window, 0); {
	case m.Meta.Filterbank != nil || c.Emit == "events":
		opt.Smoothing = or(c.Window, opt.Smoothing)
	case !(window >= 0 && window <= maxWindow):
		return opt, fmt.Errorf("--window %v: expected 0 to %d seconds", window, maxWindow)
	}
	if err := opt.Validate(); err != nil {
		return opt, fmt.Errorf("--threshold, --confirm, --refractory, --window: %w", err)
	}
	return opt, nil
}

// maxWindow bounds --window with --emit frames, in seconds.
const maxWindow = 86400

// sink returns the sink that prints the lines, and the number of samples to pass to it at a time.
func (c *streamCmd) sink(m *model.Model, opt events.Options, a *audioInput, out *json.Encoder) (sink, int, error) {
	frames, bank := c.Emit == "frames", m.Meta.Filterbank != nil
	hop := or(c.Hop, max(int(a.rate/10), 1))
	if frames && !bank {
		net, err := recurrent.New(m, recurrent.Options{Window: int(math.Ceil(or(c.Window, 0) * a.rate)), Normalize: true})
		if err != nil {
			return nil, 0, err
		}
		return &framePrinter{net.NewStream(), m, a, out}, hop, nil
	}
	f, err := events.New(m, opt)
	if err != nil && !bank {
		err = fmt.Errorf("%w; use --emit frames", err)
	}
	if err != nil {
		return nil, 0, err
	}
	s, err := f.NewStream(a.rate)
	if err != nil {
		return nil, 0, err
	}
	if frames {
		return &posteriorPrinter{s, m.Meta.Labels, a, out}, hop, nil
	}
	block := float64(f.Frame()) * a.rate / f.SampleRate()
	return &eventPrinter{s, a, out}, max(int(block), 1), nil
}

// eventPrinter prints a line for every event.
type eventPrinter struct {
	stream *events.Stream
	audio  *audioInput
	out    *json.Encoder
}

func (e *eventPrinter) process(samples []float32) error { return e.print(e.stream.Process(samples)) }
func (e *eventPrinter) skip(n int64) error              { return e.print(e.stream.Skip(n)) }
func (e *eventPrinter) flush() error                    { return e.print(e.stream.Flush()) }

func (e *eventPrinter) print(list []events.Event, failed error) error {
	for _, v := range list {
		if err := e.out.Encode(report.NewEvent(v)); err != nil {
			return err
		}
	}
	return e.audio.failed(failed)
}

// posteriorPrinter prints a line with the averaged posterior after every block.
type posteriorPrinter struct {
	stream *events.Stream
	labels []string
	audio  *audioInput
	out    *json.Encoder
}

func (p *posteriorPrinter) process(samples []float32) error {
	if _, err := p.stream.Process(samples); err != nil {
		return p.audio.failed(err)
	}
	posterior := p.stream.Posterior()
	if posterior == nil {
		return nil // no frame is complete
	}
	return p.out.Encode(report.Frame{Type: "frame", Sample: p.audio.samples(), Label: p.labels[model.ArgMax(posterior)], Posterior: posterior})
}

func (p *posteriorPrinter) skip(n int64) error {
	_, err := p.stream.Skip(n)
	return p.audio.failed(err)
}

func (p *posteriorPrinter) flush() error { return nil }

// failed returns the error of a detector, which states the position.
func (a *audioInput) failed(err error) error {
	if err == nil {
		return nil
	}
	return badInput(fmt.Errorf("%s: %w", a.name, err))
}

// framePrinter prints a line for every block.
type framePrinter struct {
	stream *recurrent.Stream
	model  *model.Model
	audio  *audioInput
	out    *json.Encoder
}

func (f *framePrinter) process(samples []float32) error {
	y := f.stream.Process(samples, len(samples))
	for _, v := range y {
		if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return badInput(f.audio.errorAt(fmt.Errorf("the network's output is %v", v)))
		}
	}
	line := report.Frame{Type: "frame", Sample: f.audio.samples()}
	if len(f.model.Meta.Labels) == 0 || f.model.Config.Pool == model.PoolNone {
		line.Output = y
		return f.out.Encode(line)
	}
	line.Posterior = model.Posterior(nil, y)
	line.Label = f.model.Meta.Labels[model.ArgMax(line.Posterior)]
	return f.out.Encode(line)
}

func (f *framePrinter) skip(int64) error { return nil }
func (f *framePrinter) flush() error     { return nil }
