package events

import (
	"errors"
	"fmt"
	"slices"
)

// Sweep detects events in one stream with several Options at once, to choose among them. For each
// of the Options, the events are exactly those of a Detector. Hundreds of Options cost little more
// than one: the network processes a sound once for all Options whose gates open at the same frame,
// and a model that labels every frame processes the signal once. A Sweep belongs to one goroutine
// at a time.
type Sweep struct {
	*Recognizer
	input
	lanes  []lane
	sounds []*sharedSound // in progress, of a model with a mean pool
	spare  []*sharedSound
	found  []Found

	track     *track // of a model that labels every frame, else nil
	smoothers []*smoother
}

// Found is an event with the index of its Options.
type Found struct {
	Option int
	Event
}

// lane is the part of a Sweep that belongs to one of the Options.
type lane struct {
	decision decision
	sound    *sharedSound // nil while the gate is closed
	closed   bool         // the gate closed at this frame
	smoother *smoother    // shared by the lanes with an equal Smoothing
}

// sharedSound is a sound for all lanes whose gates opened at the same frame.
type sharedSound struct {
	sound
	began     int64 // position at which the gates opened
	lanes     int   // that use it
	evaluated int64 // position of the posterior
}

// NewSweep returns the Sweep of a new stream. The options may differ from each other and from those
// of the Recognizer only in Threshold, OffThreshold, Confirm and Refractory and, for a model that
// labels every frame, in Smoothing.
func (r *Recognizer) NewSweep(options []Options) (*Sweep, error) {
	if len(options) == 0 {
		return nil, errors.New("events: sweep: no options")
	}
	s := &Sweep{Recognizer: r, input: newInput(r), lanes: make([]lane, len(options))}
	if r.framewise != nil {
		s.track = newTrack(r)
	}
	for i, o := range options {
		if o.SampleRate == 0 {
			o.SampleRate = r.sampleRate
		}
		if err := o.Validate(); err != nil {
			return nil, fmt.Errorf("events: sweep: options %d: %w", i, err)
		}
		if o.Hop != r.opt.Hop || o.Window != r.opt.Window || o.SampleRate != r.sampleRate {
			return nil, fmt.Errorf("events: sweep: options %d: hop %v, window %v and rate %v, expected those of the recognizer: %v, %v and %v",
				i, o.Hop, o.Window, o.SampleRate, r.opt.Hop, r.opt.Window, r.sampleRate)
		}
		rules := newRules(r.labels, o, r.frame)
		rules.offsets = r.offsets
		s.lanes[i].decision = newDecision(&rules)
		if r.framewise != nil {
			l := &s.lanes[i]
			l.smoother = s.smootherFor(&rules)
			l.decision.contour = l.smoother.contour
		}
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
func (s *Sweep) follow(level float64, logits []float32, position int64) {
	for _, v := range s.smoothers {
		v.push(level, logits)
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		l.decision.evaluate(l.smoother.posterior, l.smoother.best, position)
	}
}

// Position returns the number of samples since the stream's beginning.
func (s *Sweep) Position() int64 { return s.input.Position() }

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call. The slice is valid until the next call. The events of each of the Options are in order.
// Process treats samples that are not audio, and errors, as Detector.Process does.
func (s *Sweep) Process(x []float32) ([]Found, error) {
	s.found = s.found[:0]
	if s.track != nil {
		err := s.track.process(&s.input, x, s)
		if err != nil {
			s.close()
		}
		for i := range s.lanes {
			s.collect(i)
		}
		return s.found, err
	}
	for len(x) > 0 {
		var frame []float32
		if frame, x = s.next(x); frame == nil {
			break
		}
		if err := s.step(frame); err != nil {
			s.close()
			return s.found, err
		}
	}
	return s.found, nil
}

// Flush ends the signal and returns the events in progress. The Sweep can then continue with
// another signal. The error is that of Process.
func (s *Sweep) Flush() ([]Found, error) {
	s.found = s.found[:0]
	var err error
	if s.track != nil {
		err = s.track.flush(&s.input, s)
	}
	for i := range s.lanes {
		if l := &s.lanes[i]; err == nil && l.decision.pending() {
			err = s.evaluate(l)
		}
	}
	s.close()
	return s.found, err
}

// close ends all events in progress and closes all gates.
func (s *Sweep) close() {
	for i := range s.lanes {
		l := &s.lanes[i]
		l.decision.close(s.Position())
		s.release(l)
		s.collect(i)
	}
	s.restart(s.Position())
	if s.track != nil {
		s.track.reset()
		for _, v := range s.smoothers {
			v.reset()
		}
	}
}

// step processes a frame in the order of Detector.step.
func (s *Sweep) step(x []float32) error {
	level := levelOf(x)
	for i := range s.lanes {
		l := &s.lanes[i]
		var opened bool
		if opened, l.closed = l.decision.hear(level, s.position); opened {
			l.sound = s.soundHere()
		}
	}
	s.remember(x)
	for _, v := range s.sounds {
		v.process(x)
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		if l.sound == nil {
			continue
		}
		if l.decision.due(l.closed) {
			if err := s.evaluate(l); err != nil {
				return err
			}
		}
		if l.closed {
			l.decision.closed(s.position)
			s.release(l)
		}
		s.collect(i)
	}
	return nil
}

// evaluate makes a lane's decision. The posterior is computed once for all lanes of its sound.
func (s *Sweep) evaluate(l *lane) error {
	if v := l.sound; v.evaluated != s.position {
		if err := v.evaluate(s.position); err != nil {
			return err
		}
		v.evaluated = s.position
	}
	l.decision.evaluate(l.sound.posterior, l.sound.best, s.position)
	return nil
}

// soundHere returns the sound that begins at this frame.
func (s *Sweep) soundHere() *sharedSound {
	for _, v := range s.sounds {
		if v.began == s.position {
			v.lanes++
			return v
		}
	}
	var v *sharedSound
	if last := len(s.spare) - 1; last >= 0 {
		v, s.spare = s.spare[last], s.spare[:last]
	} else {
		v = &sharedSound{sound: newSound(s.Recognizer)}
	}
	v.began, v.lanes, v.evaluated = s.position, 1, -1
	v.start(s.past)
	s.sounds = append(s.sounds, v)
	return v
}

// release ends a lane's use of its sound.
func (s *Sweep) release(l *lane) {
	v := l.sound
	if v == nil {
		return
	}
	l.sound = nil
	if v.lanes--; v.lanes == 0 {
		i := slices.Index(s.sounds, v)
		s.sounds = slices.Delete(s.sounds, i, i+1)
		s.spare = append(s.spare, v)
	}
}

// collect moves the events of lane i to found.
func (s *Sweep) collect(i int) {
	d := &s.lanes[i].decision
	for _, e := range d.events {
		s.found = append(s.found, Found{i, e})
	}
	d.events = d.events[:0]
}
