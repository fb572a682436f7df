package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// streamDefaults are the defaults that the help shows.
func streamDefaults() kong.Vars {
	d, frames := events.Defaults(), events.DefaultsFor(&model.Model{Meta: model.Meta{Filterbank: &filterbank.Config{}}})
	return kong.Vars{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory), "window": fmt.Sprint(d.Window),
		"thresholdFrames": fmt.Sprint(frames.Threshold), "confirmFrames": fmt.Sprint(frames.Confirm), "refractoryFrames": fmt.Sprint(frames.Refractory), "smoothing": fmt.Sprint(frames.Smoothing),
	}
}

// validateEvents checks the flags of events as far as they do not depend on the model.
func (c *streamCmd) validateEvents() error {
	opt := events.Defaults().WithThreshold(1)
	switch {
	case c.Smoothing != nil && c.Window != nil:
		return errors.New("--smoothing replaces --window: set one of them")
	case c.Smoothing != nil && !(*c.Smoothing > 0):
		return fmt.Errorf("--smoothing %v: expected more than 0 seconds", *c.Smoothing)
	case c.Smoothing != nil:
		opt.Hop, opt.Window = 0, 0
	}
	if err := c.options(opt).Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// validateFor checks the flags that depend on the model.
func (c *streamCmd) validateFor(m *model.Model) error {
	switch bank := m.Meta.Filterbank != nil; {
	case bank && c.Window != nil:
		return fmt.Errorf("--window: %s has a filter bank; use --smoothing", c.Model)
	case bank && c.AdaptRate:
		return fmt.Errorf("--adapt-rate: %s has a filter bank, which has a fixed rate; use --resample", c.Model)
	case !bank && c.Smoothing != nil:
		return fmt.Errorf("--smoothing: %s has no filter bank; use --window", c.Model)
	case c.Emit != "events":
		return nil
	}
	if err := c.options(events.DefaultsFor(m)).Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// options returns opt with the values of the flags that are given.
func (c *streamCmd) options(opt events.Options) events.Options {
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.OffThreshold, opt.Confirm = or(c.OffThreshold, opt.OffThreshold), or(c.Confirm, opt.Confirm)
	opt.Refractory, opt.Window = or(c.Refractory, opt.Refractory), or(c.Window, opt.Window)
	opt.Smoothing = or(c.Smoothing, opt.Smoothing)
	return opt
}

// sink returns the sink that prints the lines, and the number of samples to pass to it at a time.
func (c *streamCmd) sink(m *model.Model, a *audioInput, out *json.Encoder) (sink, int, error) {
	frames, bank := c.Emit == "frames", m.Meta.Filterbank != nil
	hop := or(c.Hop, max(int(a.rate/10), 1))
	if frames && !bank {
		return c.framePrinter(m, a, out, hop)
	}
	if !bank && (len(m.Meta.Labels) == 0 || m.Config.Pool != model.PoolMean) {
		return nil, 0, errors.New("events require a model with labels and mean pooling, or with a filter bank; use --emit frames")
	}
	opt := c.options(events.DefaultsFor(m))
	if c.AdaptRate {
		opt.SampleRate = a.rate
	}
	f, err := events.New(m, opt)
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
