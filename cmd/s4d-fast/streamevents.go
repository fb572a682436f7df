package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// streamDefaults are the defaults that the help shows.
func streamDefaults() kong.Vars {
	d := events.Defaults()
	return kong.Vars{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory), "window": fmt.Sprint(d.Smoothing),
	}
}

// options returns the options of the model with the values of the flags that are given. It returns
// an error if the model does not have one of them.
func (c *streamCmd) options(m *model.Model) (events.Options, error) {
	opt, bank := events.DefaultsFor(m), m.Meta.Filterbank != nil
	switch {
	case bank && c.AdaptRate:
		return opt, fmt.Errorf("--adapt-rate: %s has a filter bank, which has a fixed rate; use --resample", c.Model)
	case c.Emit == "events" && c.AdaptRate:
		return opt, errors.New("--adapt-rate requires --emit frames; use --resample")
	}
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.Confirm, opt.Refractory = or(c.Confirm, opt.Confirm), or(c.Refractory, opt.Refractory)
	switch {
	case bank || c.Emit == "events":
		opt.Smoothing = or(c.Window, opt.Smoothing)
	case !(or(c.Window, 0) >= 0 && or(c.Window, 0) <= maxWindow):
		return opt, fmt.Errorf("--window %v: expected 0 to %d seconds", *c.Window, maxWindow)
	}
	if err := opt.Validate(); err != nil {
		return opt, fmt.Errorf("--%s", strings.Replace(err.Error(), "smoothing", "window", 1))
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
		return c.framePrinter(m, a, out, hop)
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
		return &posteriorPrinter{stream: s, labels: m.Meta.Labels, audio: a, out: out}, hop, nil
	}
	block := float64(f.Frame()) * a.rate / f.SampleRate()
	return &eventPrinter{stream: s, audio: a, out: out}, max(int(block), 1), nil
}

// framePrinter returns the sink for the frames of a model that reads samples.
func (c *streamCmd) framePrinter(m *model.Model, a *audioInput, out *json.Encoder, hop int) (sink, int, error) {
	stepScale := 1.0 // model samples per sample
	if c.AdaptRate && m.Meta.SampleRate > 0 {
		stepScale = m.Meta.SampleRate / a.rate
	}
	net, err := recurrent.New(m, recurrent.Options{
		StepScale: stepScale, Window: int(math.Ceil(or(c.Window, 0) * a.rate)), Normalize: true,
	})
	if err != nil {
		return nil, 0, err
	}
	return newFramePrinter(net, m, a, out), hop, nil
}
