package events

import "fmt"

// Detector is the state of one stream. It belongs to one goroutine at a time.
type Detector struct {
	*Recognizer
	input
	sound    sound    // of a model with a mean pool
	track    *track   // of a model that labels every frame, else nil
	smoother smoother // of the track's outputs
	decision decision
}

// NewDetector returns the Detector of a new stream.
func (r *Recognizer) NewDetector() *Detector {
	d := &Detector{Recognizer: r, input: newInput(r), decision: newDecision(&r.rules)}
	if r.framewise != nil {
		d.track, d.smoother = newTrack(r), newSmoother(&r.rules)
		d.decision.contour = d.smoother.contour
	} else {
		d.sound = newSound(r)
	}
	return d
}

// Position returns the number of samples since the stream's beginning.
func (d *Detector) Position() int64 { return d.input.Position() }

// GateOpen reports whether the gate is open, so that the model processes the audio. It is always
// true for a model that labels every frame, which has no gate.
func (d *Detector) GateOpen() bool { return d.track != nil || d.decision.gate.Open }

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call. The slice is valid until the next call. A sample that Check rejects counts as 0. So does
// one within ±1e-18.
//
// If the model's output is NaN or infinite, Process returns an error and the events before it. An
// event in progress ends there, and the gate is closed as after Flush. The rest of x is not
// processed.
func (d *Detector) Process(x []float32) ([]Event, error) {
	d.decision.events = d.decision.events[:0]
	if d.track != nil {
		err := d.track.process(&d.input, x, d)
		if err != nil {
			d.close()
		}
		return d.decision.events, err
	}
	for len(x) > 0 {
		var frame []float32
		if frame, x = d.next(x); frame == nil {
			break
		}
		if err := d.step(frame); err != nil {
			d.close()
			return d.decision.events, err
		}
	}
	return d.decision.events, nil
}

// Flush ends the signal. It returns the event in progress, if there is one, and closes the gate.
// The Detector can then continue with another signal. The error is that of Process.
func (d *Detector) Flush() ([]Event, error) {
	d.decision.events = d.decision.events[:0]
	var err error
	switch {
	case d.track != nil:
		err = d.track.flush(&d.input, d)
	case d.decision.pending():
		err = d.evaluate()
	}
	d.close()
	return d.decision.events, err
}

// Skip flushes, and advances the position by n samples that were lost. It panics if n is negative
// or leads beyond MaxPosition.
func (d *Detector) Skip(n int64) ([]Event, error) {
	if most := MaxPosition - d.Position(); n < 0 || n > most {
		panic(fmt.Sprintf("events: Skip of %d samples: expected 0 to %d", n, most))
	}
	last, err := d.Flush()
	d.position += n
	d.decision.segment.Onset = d.position
	return last, err
}

// Posterior returns the class probabilities of the last evaluation. For a model that labels every
// frame they are those of each label against none, averaged over the last frames, with the offsets
// of the model's operating point. The slice is valid until the next call. It is nil before the
// signal's first evaluation.
func (d *Detector) Posterior() []float32 { return d.decision.posterior }

// close ends the event in progress, if there is one, closes the gate and discards the signal.
func (d *Detector) close() {
	d.decision.close(d.Position())
	d.restart(d.Position())
	if d.track != nil {
		d.track.reset()
		d.smoother.reset()
		return
	}
	d.sound.stream.Reset() // Restore rejects the state of a network that has failed
}

// follow implements follower.
func (d *Detector) follow(level float64, logits []float32, position int64) {
	d.smoother.push(level, logits)
	d.decision.evaluate(d.smoother.posterior, d.smoother.best, position)
}

// step processes a frame.
func (d *Detector) step(x []float32) error {
	level := levelOf(x)
	opened, closed := d.decision.hear(level, d.position)
	if opened {
		d.sound.start(d.past)
	}
	d.remember(x)
	if !d.decision.gate.Open && !closed {
		return nil
	}
	d.sound.process(x)
	if !d.decision.due(closed) {
		return nil
	}
	err := d.evaluate()
	if closed {
		d.decision.closed(d.position)
	}
	return err
}

// evaluate makes a decision about the sound so far.
func (d *Detector) evaluate() error {
	if err := d.sound.evaluate(d.position); err != nil {
		return err
	}
	d.decision.evaluate(d.sound.posterior, d.sound.best, d.position)
	return nil
}
