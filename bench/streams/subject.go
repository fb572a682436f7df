package main

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// subject is a network, or the detectors of a model, with its sampling rate in Hz.
type subject struct {
	name   string
	rate   float64
	ways   []way
	memory func(n int) float64 // bytes of n streams; nil: not counted
}

// advance advances streams by a block. It calls done with the number of those that have been
// advanced.
type advance func(done func(n int))

// way is one of the ways to advance streams. start returns the call for n streams, all of which
// read the same block.
type way struct {
	name  string
	start func(n int, audio []float32) advance
}

// subjects returns two networks that read samples, a small one and a large one, and the detectors
// of the built-in models.
func subjects() (all []*subject, err error) {
	for _, v := range []struct {
		h, layers int
		rate      float64
	}{{64, 4, 8000}, {128, 6, 16000}} {
		c := model.Default()
		c.DModel, c.NLayers, c.DOutput = v.h, v.layers, 10
		m, err := model.New(c, 1)
		if err != nil {
			return nil, err
		}
		net, err := recurrent.New(m, recurrent.Options{Window: int(v.rate)})
		if err != nil {
			return nil, err
		}
		all = append(all, &subject{
			fmt.Sprintf("H=%d N=64 layers=%d at %g kHz", v.h, v.layers, v.rate/1000), v.rate, (&streams{net: net}).ways(),
			func(n int) float64 { return float64(n * net.StreamBytes()) },
		})
	}
	for _, name := range pretrained.Names() {
		m, err := pretrained.Load(name)
		if err != nil {
			return nil, err
		}
		r, err := events.New(m, events.DefaultsFor(m))
		if err != nil {
			return nil, err
		}
		c, f := m.Config, m.Meta.Filterbank
		all = append(all, &subject{
			fmt.Sprintf("%s: H=%d N=%d layers=%d at %g kHz, %g frames per second",
				name, c.DModel, c.SSM.DState, c.NLayers, f.SampleRate/1000, f.SampleRate/float64(f.Hop)),
			f.SampleRate, []way{{"Detector", (&detectors{recognizer: r}).process}}, nil,
		})
	}
	return all, nil
}

// detectors are streams of events.
type detectors struct {
	recognizer *events.Recognizer
	all        []*events.Stream
}

// process advances one stream after the other.
func (d *detectors) process(n int, audio []float32) advance {
	for len(d.all) < n {
		s, err := d.recognizer.NewStream(0)
		if err != nil {
			panic(err) // of another sampling rate
		}
		d.all = append(d.all, s)
	}
	return func(done func(n int)) {
		for i, s := range d.all[:n] {
			if _, err := s.Process(audio); err != nil {
				panic(err) // of samples that are not finite
			}
			done(i + 1)
		}
	}
}

type streams struct {
	net *recurrent.Network
	all []*recurrent.Stream
}

func (s *streams) some(n int) []*recurrent.Stream {
	for len(s.all) < n {
		s.all = append(s.all, s.net.NewStream())
	}
	return s.all[:n]
}

func (s *streams) ways() []way {
	return []way{{"Process", s.process}, {"Step", s.step}, {"StepMany", s.stepMany}, {"ProcessMany", s.processMany}}
}

func (s *streams) process(n int, audio []float32) advance {
	return func(done func(n int)) {
		for i, s := range s.some(n) {
			s.Process(audio, len(audio))
			done(i + 1)
		}
	}
}

func (s *streams) step(n int, audio []float32) advance {
	return func(done func(n int)) {
		for i, s := range s.some(n) {
			for t := range audio {
				s.Step(audio[t : t+1])
			}
			done(i + 1)
		}
	}
}

func (s *streams) stepMany(n int, audio []float32) advance {
	x, out := make([]float32, n), make([]float32, n*s.net.Outputs())
	return func(done func(n int)) {
		for _, v := range audio {
			for i := range x {
				x[i] = v
			}
			s.net.StepMany(out, x, s.some(n))
		}
		done(n)
	}
}

func (s *streams) processMany(n int, audio []float32) advance {
	blocks, out := slices.Repeat(audio, n), make([]float32, n*s.net.Outputs())
	return func(done func(n int)) {
		s.net.ProcessMany(out, blocks, len(audio), s.some(n))
		done(n)
	}
}
