package events

import (
	"errors"
	"fmt"
)

// Sweep detects events in one signal with several Options at once, to choose among them. For each
// of the Options, the events are exactly those of a Stream at the rate of the model. Hundreds of
// Options cost little more than one, because the network processes the signal once. A Sweep belongs
// to one goroutine at a time.
type Sweep struct {
	signal    signal
	smoothers []*smoother // with different Smoothing
	lanes     []lane
	found     []Found
}

// Found is an event with the index of its Options. At is the number of samples of the signal after
// which it has ended, and a Stream returns it.
type Found struct {
	Option int
	At     int64
	Event
}

// lane is the part of a Sweep that belongs to one of the Options.
type lane struct {
	decision decision
	smoother *smoother // shared by the lanes with an equal Smoothing
}

// NewSweep returns the Sweep of a new signal. The options of the Recognizer have no effect.
func (r *Recognizer) NewSweep(options []Options) (*Sweep, error) {
	if len(options) == 0 {
		return nil, errors.New("events: sweep: no options")
	}
	s := &Sweep{signal: r.newSignal()}
	for i, o := range options {
		if err := o.Validate(); err != nil {
			return nil, fmt.Errorf("events: sweep: options %d: %w", i, err)
		}
		rules := r.rules.with(o)
		smoother := s.smootherFor(&rules)
		s.lanes = append(s.lanes, lane{newDecision(&rules, smoother.contour), smoother})
	}
	return s, nil
}

// smootherFor returns the smoother of lanes with the given rules. Smoothers of different times have
// different contours, even if they average the same number of frames.
func (s *Sweep) smootherFor(r *rules) *smoother {
	for _, v := range s.smoothers {
		if v.seconds == r.opt.Smoothing {
			return v
		}
	}
	v := newSmoother(r)
	s.smoothers = append(s.smoothers, &v)
	return &v
}

// follow implements follower.
func (s *Sweep) follow(level float64, outputs []float32, position int64) {
	for _, v := range s.smoothers {
		v.push(level, outputs)
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		l.decision.evaluate(l.smoother.posterior, l.smoother.best, position)
	}
	if !s.signal.ended { // end cuts events after the signal
		s.collect(position)
	}
}

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call. The slice is valid until the next call. The events of each of the Options are in order.
// Process treats samples that are not audio, and errors, as Stream.Process does.
func (s *Sweep) Process(x []float32) ([]Found, error) {
	s.found = s.found[:0]
	err := s.signal.process(x, s)
	if err != nil {
		s.end(s.signal.length())
	}
	return s.found, err
}

// Flush ends the signal and returns the events in progress. The Sweep can then process another
// signal, whose positions begin at 0. The error is that of Process.
func (s *Sweep) Flush() ([]Found, error) {
	s.found = s.found[:0]
	length, err := s.signal.flush(s)
	s.end(length)
	return s.found, err
}

// end ends the signal, whose length in samples is given.
func (s *Sweep) end(length int64) {
	for i := range s.lanes {
		s.lanes[i].decision.close(length)
	}
	s.collect(length)
	for _, v := range s.smoothers {
		v.reset()
	}
	s.signal.reset()
}

// collect moves the events of all decisions, which have ended at a position, to found.
func (s *Sweep) collect(position int64) {
	for i := range s.lanes {
		d := &s.lanes[i].decision
		for _, e := range d.events {
			s.found = append(s.found, Found{i, position, e})
		}
		d.events = d.events[:0]
	}
}
