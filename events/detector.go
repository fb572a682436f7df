package events

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// Detector is the state of one stream. It belongs to one goroutine at a time.
type Detector struct {
	*Recognizer
	gate      gate
	stream    *recurrent.Stream
	position  int64     // samples in complete frames
	partial   []float32 // the samples of an incomplete frame
	past      []float32 // the last frames, normalised
	logits    []float32 // the stream's last output
	segment   segment
	posterior []float32 // of logits
	events    []Event
}

// NewDetector returns the Detector of a new stream.
func (r *Recognizer) NewDetector() *Detector {
	return &Detector{
		Recognizer: r,
		gate:       newGate(),
		stream:     r.net.NewStream(),
		partial:    make([]float32, 0, r.frame),
		past:       make([]float32, 0, r.pastLen()),
		posterior:  make([]float32, len(r.labels)),
	}
}

// Position returns the number of samples since the stream's beginning.
func (d *Detector) Position() int64 { return d.position + int64(len(d.partial)) }

// GateOpen reports whether the gate is open: whether the model processes the audio.
func (d *Detector) GateOpen() bool { return d.gate.Open }

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call; the slice is valid until the next call. A sample that Check rejects counts as 0, like a gap
// in the audio.
//
// If the model's output is NaN or infinite, Process returns an error and the events that ended
// before. An event under way ends there, and the gate is closed as after Flush. The rest of x is
// not processed.
func (d *Detector) Process(x []float32) ([]Event, error) {
	d.events = d.events[:0]
	for len(x) > 0 {
		n := min(len(x), d.frame-len(d.partial))
		for _, v := range x[:n] {
			if !isAudio(v) {
				v = 0
			}
			d.partial = append(d.partial, v)
		}
		x = x[n:]
		if len(d.partial) == d.frame {
			err := d.step(d.partial)
			d.partial = d.partial[:0]
			if err != nil {
				d.close()
				return d.events, err
			}
		}
	}
	return d.events, nil
}

// Flush ends the signal. It returns the event that was under way, if there was one, and closes the
// gate; the Detector can continue with another signal. The error is that of Process.
func (d *Detector) Flush() ([]Event, error) {
	d.events = d.events[:0]
	var err error
	if d.gate.Open && d.segment.Frames%int64(d.hop) != 0 { // else the last frame was evaluated
		err = d.evaluate()
	}
	d.close()
	return d.events, err
}

// Skip flushes and counts n samples that were lost: the next sample is n samples later. A negative
// n is misuse and panics.
func (d *Detector) Skip(n int64) ([]Event, error) {
	if n < 0 {
		panic(fmt.Sprintf("events: Skip of %d samples: expected at least 0", n))
	}
	at := d.Position()
	last, err := d.Flush()
	d.position = at + n
	d.partial, d.past = d.partial[:0], d.past[:0]
	return last, err
}

// close ends the event under way, if there is one, and closes the gate.
func (d *Detector) close() {
	d.end(d.Position())
	d.gate, d.segment = newGate(), segment{}
}

// step processes a frame.
func (d *Detector) step(x []float32) error {
	level := levelOf(x)
	vek.ScaleShift(x, x, d.scale, d.shift)
	start := d.position
	d.position += int64(d.frame)
	opened, closed := d.gate.step(level, d.segment.Background)
	if opened {
		d.stream.Reset()
		d.segment = segment{Onset: max(0, start-int64((openFrames-1)*d.frame)), Leader: -1}
		if len(d.past) > 0 {
			d.stream.Process(d.past, len(d.past))
		}
	}
	d.remember(x)
	if !d.gate.Open && !closed {
		return nil
	}
	d.logits = d.stream.Process(x, len(x))
	d.segment.Frames++
	if !closed && d.segment.Frames%int64(d.hop) != 0 {
		return nil
	}
	err := d.evaluate()
	if closed {
		d.end(d.position - int64(hangFrames*d.frame))
		d.segment = segment{}
	}
	return err
}

// remember appends a frame to past, in place of the oldest.
func (d *Detector) remember(x []float32) {
	if len(d.past)+len(x) > cap(d.past) {
		d.past = d.past[:copy(d.past, d.past[len(x):])]
	}
	d.past = append(d.past, x...)
}
