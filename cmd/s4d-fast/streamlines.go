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

// connect sets the sink of a pump, and the number of samples to pass to it at a time.
func (c *streamCmd) connect(p *pump, m *model.Model, opt events.Options) error {
	a, frames := p.audio, c.Emit == "frames"
	p.size = or(c.Hop, max(int(a.rate/10), 1))
	if frames && m.Meta.Filterbank == nil {
		net, err := recurrent.New(m, recurrent.Options{Window: int(math.Ceil(or(c.Window, 0) * a.rate)), Normalize: true})
		if err == nil {
			p.sink = outputs{net.NewStream(), m, a, p.out}
		}
		return err
	}
	r, err := events.New(m, opt)
	if err != nil && m.Meta.Filterbank == nil {
		err = fmt.Errorf("%w; use --emit frames", err)
	}
	if err != nil {
		return err
	}
	s, err := r.NewStream(a.rate)
	if !frames {
		p.size = max(int(float64(r.Frame())*a.rate/r.SampleRate()), 1)
	}
	p.sink = detections{s, m.Meta.Labels, frames, a, p.out}
	return err
}

// detections prints the events of a detector or, with frames, its averaged posterior after every
// block.
type detections struct {
	*events.Stream
	labels []string
	frames bool
	audio  *audioInput
	out    *json.Encoder
}

func (d detections) process(samples []float32) error {
	err := d.print(d.Process(samples))
	posterior := d.Posterior()
	if err != nil || !d.frames || posterior == nil { // no frame is complete
		return err
	}
	return d.out.Encode(report.Frame{Type: "frame", Sample: d.audio.samples(), Label: d.labels[model.ArgMax(posterior)], Posterior: posterior})
}

func (d detections) skip(n int64) error { return d.print(d.Skip(n)) }

func (d detections) flush() error {
	if d.frames {
		return nil
	}
	return d.print(d.Flush())
}

// print prints events, unless frames are printed in their place. The error is the detector's, which
// states the position.
func (d detections) print(list []events.Event, failed error) error {
	for _, v := range list {
		if d.frames {
			break
		}
		if err := d.out.Encode(report.NewEvent(v)); err != nil {
			return err
		}
	}
	if failed != nil {
		return badInput(fmt.Errorf("%s: %w", d.audio.name, failed))
	}
	return nil
}

// outputs prints the output of a network without a filter bank after every block.
type outputs struct {
	*recurrent.Stream
	model *model.Model
	audio *audioInput
	out   *json.Encoder
}

func (o outputs) process(samples []float32) error {
	y := o.Process(samples, len(samples))
	for _, v := range y {
		if v-v != 0 {
			return badInput(o.audio.errorAt(fmt.Errorf("the network's output is %v", v)))
		}
	}
	line, labels := report.Frame{Type: "frame", Sample: o.audio.samples()}, o.model.Meta.Labels
	if len(labels) == 0 || o.model.Config.Pool == model.PoolNone {
		line.Output = y
		return o.out.Encode(line)
	}
	line.Posterior = model.Posterior(nil, y)
	line.Label = labels[model.ArgMax(line.Posterior)]
	return o.out.Encode(line)
}

func (o outputs) skip(int64) error { return nil }
func (o outputs) flush() error     { return nil }
