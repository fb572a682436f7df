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
			return sink{}, 0, err
		}
		return printOutputs(net.NewStream(), m, a, out), hop, nil
	}
	f, err := events.New(m, opt)
	if err != nil && !bank {
		err = fmt.Errorf("%w; use --emit frames", err)
	}
	if err != nil {
		return sink{}, 0, err
	}
	s, err := f.NewStream(a.rate)
	if err != nil {
		return sink{}, 0, err
	}
	if frames {
		return printPosteriors(s, m.Meta.Labels, a, out), hop, nil
	}
	block := float64(f.Frame()) * a.rate / f.SampleRate()
	return printEvents(s, a, out), max(int(block), 1), nil
}

// printEvents prints a line for every event.
func printEvents(s *events.Stream, a *audioInput, out *json.Encoder) sink {
	print := func(list []events.Event, failed error) error {
		for _, v := range list {
			if err := out.Encode(report.NewEvent(v)); err != nil {
				return err
			}
		}
		return a.failed(failed)
	}
	return sink{
		process: func(samples []float32) error { return print(s.Process(samples)) },
		skip:    func(n int64) error { return print(s.Skip(n)) },
		flush:   func() error { return print(s.Flush()) },
	}
}

// printPosteriors prints a line with the averaged posterior after every block.
func printPosteriors(s *events.Stream, labels []string, a *audioInput, out *json.Encoder) sink {
	return sink{process: func(samples []float32) error {
		if _, err := s.Process(samples); err != nil {
			return a.failed(err)
		}
		posterior := s.Posterior()
		if posterior == nil {
			return nil // no frame is complete
		}
		return out.Encode(report.Frame{Type: "frame", Sample: a.samples(), Label: labels[model.ArgMax(posterior)], Posterior: posterior})
	}, skip: func(n int64) error {
		_, err := s.Skip(n)
		return a.failed(err)
	}}
}

// failed returns the error of a detector, which states the position.
func (a *audioInput) failed(err error) error {
	if err == nil {
		return nil
	}
	return badInput(fmt.Errorf("%s: %w", a.name, err))
}

// printOutputs prints a line with the network's output after every block.
func printOutputs(s *recurrent.Stream, m *model.Model, a *audioInput, out *json.Encoder) sink {
	return sink{process: func(samples []float32) error {
		y := s.Process(samples, len(samples))
		for _, v := range y {
			if v-v != 0 {
				return badInput(a.errorAt(fmt.Errorf("the network's output is %v", v)))
			}
		}
		line := report.Frame{Type: "frame", Sample: a.samples()}
		if len(m.Meta.Labels) == 0 || m.Config.Pool == model.PoolNone {
			line.Output = y
			return out.Encode(line)
		}
		line.Posterior = model.Posterior(nil, y)
		line.Label = m.Meta.Labels[model.ArgMax(line.Posterior)]
		return out.Encode(line)
	}}
}
