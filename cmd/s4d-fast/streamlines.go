package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

// eventer prints events.
type eventer struct {
	detector *events.Detector
	audio    *audioInput
	out      *json.Encoder
}

func (e *eventer) hear(samples []float32) error { return e.print(e.detector.Process(samples)) }
func (e *eventer) skip(n int64) error           { return e.print(e.detector.Skip(n)) }
func (e *eventer) finish() error                { return e.print(e.detector.Flush()) }

func (e *eventer) print(list []events.Event) error {
	for _, v := range list {
		if err := e.out.Encode(report.NewEvent(v, e.audio.at)); err != nil {
			return err
		}
	}
	return nil
}

// framer prints a frame for every block.
type framer struct {
	stream       *recurrent.Stream
	model        *model.Model
	audio        *audioInput
	scale, shift float32 // of the input normalisation
	out          *json.Encoder
}

func newFramer(net *recurrent.Network, m *model.Model, a *audioInput, out *json.Encoder) *framer {
	f := &framer{stream: net.NewStream(), model: m, audio: a, out: out}
	f.scale, f.shift = m.Meta.Affine(0)
	return f
}

func (f *framer) hear(samples []float32) error {
	vek.ScaleShift(samples, samples, f.scale, f.shift)
	y := f.stream.Process(samples, len(samples))
	for _, v := range y {
		if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return badInput(f.audio.after(fmt.Errorf("the network's output is %v", v)))
		}
	}
	line := report.Frame{Type: "frame", Sample: f.audio.samples()}
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

func (f *framer) skip(int64) error { return nil }
func (f *framer) finish() error    { return nil }
