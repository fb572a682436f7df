package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

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
	if failed != nil {
		return badInput(fmt.Errorf("%s: %w", e.audio.name, failed))
	}
	return nil
}

// framePrinter prints a line for every block.
type framePrinter struct {
	stream *recurrent.Stream
	model  *model.Model
	audio  *audioInput
	out    *json.Encoder
}

func newFramePrinter(net *recurrent.Network, m *model.Model, a *audioInput, out *json.Encoder) *framePrinter {
	return &framePrinter{stream: net.NewStream(), model: m, audio: a, out: out}
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

// posteriorPrinter prints the averaged posterior of a model that labels every frame, after every
// block.
type posteriorPrinter struct {
	stream *events.Stream
	labels []string
	audio  *audioInput
	out    *json.Encoder
}

func (p *posteriorPrinter) process(samples []float32) error {
	if _, err := p.stream.Process(samples); err != nil {
		return badInput(fmt.Errorf("%s: %w", p.audio.name, err))
	}
	posterior := p.stream.Posterior()
	if posterior == nil {
		return nil // no frame is complete
	}
	return p.out.Encode(report.Frame{
		Type: "frame", Sample: p.audio.samples(), Label: p.labels[model.ArgMax(posterior)], Posterior: posterior,
	})
}

func (p *posteriorPrinter) skip(n int64) error {
	if _, err := p.stream.Skip(n); err != nil {
		return badInput(fmt.Errorf("%s: %w", p.audio.name, err))
	}
	return nil
}

func (p *posteriorPrinter) flush() error { return nil }
