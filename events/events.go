// Package events finds words, or whatever else a model has learned to name, in audio that never ends.
//
// In go samples, in chunks of any size; out come events: a label, where it begins and ends, and how sure the model is.
// A gate tells sound from background by its level. When it opens, the stream's state begins anew, a tenth of a
// second earlier; so no state is older than the sound at hand. While it is open the model answers every hop for the last
// second or so, and answers that are sure enough, often enough in a row, make an event. How the audio is cut into
// calls never changes an event. Times are sample counts.
package events

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// None is the label of what is no event.
const None = "none"

// Options decide what counts as an event. They are taken as they are: begin with Defaults.
type Options struct {
	Threshold    float64 // posterior that makes an event; higher: more precision, less recall
	OffThreshold float64 // posterior below which it has ended, 0: its label never ends it; higher: shorter events, more of them in a row
	Confirm      int     // hops in a row that must agree; higher: more precision, less recall of short words
	Refractory   float64 // seconds after an event's onset in which no other begins, but its label may change; higher: more precision, less recall of words in quick succession
	Hop          float64 // seconds between answers
	Window       float64 // seconds that an answer looks back
	SampleRate   float64 // sampling rate of the audio in Hz, 0: the model's; at another the steps of its SSMs are scaled (docs/maths.md §1.6)
}

// Defaults are the options for spoken words.
func Defaults() Options {
	return Options{Confirm: 4, Refractory: 0.4, Hop: 0.03, Window: 1}.WithThreshold(0.7)
}

// WithThreshold returns the options with another threshold, and half of it to end an event.
func (o Options) WithThreshold(p float64) Options {
	o.Threshold, o.OffThreshold = p, p/2
	return o
}

// Event is something heard. Onset and End count samples from the stream's beginning; Confidence is the largest posterior
// of the label meanwhile.
type Event struct {
	Onset, End int64
	Label      string
	Confidence float64
}

// frameRate is how many frames the gate has a second; preroll how many of them are heard that came before the sound.
const (
	frameRate = 100
	preroll   = 10
)

// Recognizer makes Detectors of one model: immutable, shared.
type Recognizer struct {
	net          *recurrent.Network
	labels       []string
	opt          Options
	rate         float64
	frame, hop   int // samples, frames
	refractory   int64
	scale, shift float32 // of the input normalisation
}

// New prepares a model of one audio channel with labels, a mean pool and a known sampling rate; recurrent.New says what else
// it must be.
func New(m *model.Model, opt Options) (*Recognizer, error) {
	c, meta := m.Config, &m.Meta
	if opt.SampleRate == 0 {
		opt.SampleRate = meta.SampleRate
	}
	switch {
	case c.Encoder != model.EncoderLinear || c.DInput != 1:
		return nil, fmt.Errorf("events: the network reads %s input with d_input %d; audio has 1 channel", c.Encoder, c.DInput)
	case len(meta.Labels) == 0:
		return nil, errors.New("events: the model has no labels")
	case c.Pool != model.PoolMean:
		return nil, fmt.Errorf("events: the network's pool is %q, want %q", c.Pool, model.PoolMean)
	case meta.SampleRate < frameRate:
		return nil, fmt.Errorf("events: the model's sampling rate is %g Hz, want at least %d", meta.SampleRate, frameRate)
	}
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	net, err := recurrent.New(m, recurrent.Options{StepScale: meta.SampleRate / opt.SampleRate, Window: int(math.Ceil(opt.Window * opt.SampleRate))})
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	r := &Recognizer{
		net: net, labels: meta.Labels, opt: opt, rate: opt.SampleRate,
		frame: int(math.Round(opt.SampleRate / frameRate)), hop: max(1, int(math.Round(opt.Hop*frameRate))),
		refractory: int64(opt.Refractory * opt.SampleRate),
	}
	r.scale, r.shift = meta.Affine(0)
	return r, nil
}

// Bounds of Options.
const (
	maxConfirm = 1000
	maxSeconds = 3600
	maxRate    = 1e6
)

// Validate returns an error about the first option out of its bounds. It begins with the option's name, as flags have it.
func (o Options) Validate() error {
	if o.SampleRate == 0 {
		o.SampleRate = frameRate
	}
	for _, v := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"threshold", o.Threshold, 0, 1}, {"off-threshold", o.OffThreshold, 0, 1}, {"confirm", float64(o.Confirm), 1, maxConfirm},
		{"refractory", o.Refractory, 0, maxSeconds}, {"hop", o.Hop, 1. / frameRate, maxSeconds}, {"window", o.Window, 1. / frameRate, maxSeconds},
		{"rate", o.SampleRate, frameRate, maxRate},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			return fmt.Errorf("%s %v: want %v … %v", v.name, v.value, v.low, v.high)
		}
	}
	if o.OffThreshold > o.Threshold {
		return fmt.Errorf("off-threshold %v is above the threshold, %v", o.OffThreshold, o.Threshold)
	}
	return nil
}

// SampleRate returns the sampling rate of the audio in Hz.
func (r *Recognizer) SampleRate() float64 { return r.rate }

// Frame returns how many samples the gate weighs together, a hundredth of a second's: blocks of so many cost no more than larger ones.
func (r *Recognizer) Frame() int { return r.frame }

// Detector listens to one stream. It belongs to one goroutine at a time.
type Detector struct {
	*Recognizer
	gate     gate
	stream   *recurrent.Stream
	position int64     // samples in complete frames
	partial  []float32 // the frame at hand, as far as it has come
	past     []float32 // the last frames, normalised
	logits   []float32 // the stream's last answer
	heard    hearing
	chance   []float32 // the posterior of logits
	events   []Event
}

// hearing is what has been made of the sound at hand.
type hearing struct {
	Onset   int64   // of the sound
	Frames  int     // of it, since the gate opened
	Label   int     // that leads with at least the threshold, or −1
	Run     int     // answers in a row in which it has led
	Since   int64   // the first of them
	Active  bool    // there is an event
	Event   int     // its label
	Begin   int64   // its onset, or that of the last event
	Best    float64 // its largest posterior
	Events  int     // of this sound so far
	Ended   int64   // the end of the last event
	Sure    int     // frame of the last answer that was sure, or in an event
	Nothing bool    // the sound goes on and means nothing
}

// What a sound's parts last, in seconds.
const (
	meaningless = 0.6 // of a sound that the model calls none until it counts as background
	undecided   = 3   // of a sound that the model gives no label for sure until it does, too: there need not be a label none
	prompt      = 0.6 // between a sound's onset and an answer that is about its beginning
	delay       = 0.3 // between a word's onset and an answer, inside a sound that goes on
)

// StateBytes returns what a Detector costs in memory, the state of its stream included. Beside it are only the
// events that the last call returned; the working memory of a call is shared by the Recognizer's Detectors.
func (r *Recognizer) StateBytes() int {
	samples := r.frame + (preroll+openFrames-1)*r.frame
	return int(unsafe.Sizeof(Detector{})) + 4*len(r.labels) + 4*samples + r.net.StreamBytes()
}

// NewDetector starts listening.
func (r *Recognizer) NewDetector() *Detector {
	return &Detector{
		Recognizer: r, gate: newGate(), stream: r.net.NewStream(), chance: make([]float32, len(r.labels)),
		partial: make([]float32, 0, r.frame), past: make([]float32, 0, (preroll+openFrames-1)*r.frame),
	}
}

// Recognize returns all events of a recording with samples of full scale ±1.
func (r *Recognizer) Recognize(x []float32) ([]Event, error) {
	d := r.NewDetector()
	list, err := d.Process(x)
	all := slices.Clone(list)
	if err == nil {
		list, err = d.Flush()
		all = append(all, list...)
	}
	return all, err
}

// Position returns the number of samples heard.
func (d *Detector) Position() int64 { return d.position + int64(len(d.partial)) }

// GateOpen reports whether the gate is open.
func (d *Detector) GateOpen() bool { return d.gate.Open }

// loudest is an amplitude that no audio has.
const loudest = 1e6

// audible reports whether a sample is a number, and not too large.
func audible(v float32) bool { return v >= -loudest && v <= loudest }

// Check looks for a sample that no audio of full scale ±1 has: NaN, an infinity, or one beyond ±1e6. It returns how many come
// before the first of them, and an error that says what it is; or all of them, and nil.
func Check(x []float32) (good int, err error) {
	for i, v := range x {
		if v != v {
			return i, errors.New("events: a sample is NaN")
		}
		if !audible(v) {
			return i, fmt.Errorf("events: a sample is %v: the audio is too loud, full scale is 1", v)
		}
	}
	return len(x), nil
}

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call; the slice is valid until the next call. A sample that Check rejects counts as 0, like a gap
// in the audio.
//
// If the model's output is NaN or infinite, Process returns an error beside the events that ended
// before. An event under way ends there, and the gate is closed as after Flush. The rest of x is not
// processed.
func (d *Detector) Process(x []float32) ([]Event, error) {
	d.events = d.events[:0]
	for len(x) > 0 {
		n := min(len(x), d.frame-len(d.partial))
		for _, v := range x[:n] {
			if !audible(v) {
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
// gate; the Detector may take another signal after it. The error is that of Process.
func (d *Detector) Flush() ([]Event, error) {
	d.events = d.events[:0]
	var err error
	if d.gate.Open && d.heard.Frames%d.hop != 0 { // else the last frame was evaluated
		err = d.answer()
	}
	d.close()
	return d.events, err
}

// close ends the event under way, if there is one, and closes the gate.
func (d *Detector) close() {
	d.end(d.Position())
	d.gate, d.heard = newGate(), hearing{}
}

// Skip reports that n samples were lost. It flushes, and the next sample counts as n later.
func (d *Detector) Skip(n int64) ([]Event, error) {
	at := d.Position()
	last, err := d.Flush()
	d.position = at + n
	d.partial, d.past = d.partial[:0], d.past[:0]
	return last, err
}

// step processes a frame.
func (d *Detector) step(x []float32) error {
	level := levelOf(x)
	vek.ScaleShift(x, x, d.scale, d.shift)
	start := d.position
	d.position += int64(d.frame)
	opened, closed := d.gate.step(level, d.heard.Nothing)
	if opened {
		d.stream.Reset()
		d.heard = hearing{Onset: max(0, start-int64((openFrames-1)*d.frame)), Label: -1}
		if len(d.past) > 0 {
			d.stream.Process(d.past, len(d.past))
		}
	}
	d.remember(x)
	if !d.gate.Open && !closed {
		return nil
	}
	d.logits = d.stream.Process(x, len(x))
	d.heard.Frames++
	if !closed && d.heard.Frames%d.hop != 0 {
		return nil
	}
	err := d.answer()
	if closed {
		d.end(d.position - int64(hangFrames*d.frame))
		d.heard = hearing{}
	}
	return err
}

// remember keeps a frame in the place of the oldest.
func (d *Detector) remember(x []float32) {
	if len(d.past)+len(x) > cap(d.past) {
		d.past = d.past[:copy(d.past, d.past[len(x):])]
	}
	d.past = append(d.past, x...)
}

// answer evaluates the model's output for the sound so far.
func (d *Detector) answer() error {
	for i, v := range d.logits {
		if v-v != 0 {
			return fmt.Errorf("events: after sample %d: the model's output for label %q is %v, expected a finite number", d.position, d.labels[i], v)
		}
	}
	d.chance = model.Posterior(d.chance, d.logits)
	h, p, best := &d.heard, d.chance, model.ArgMax(d.chance)
	sure := float64(p[best]) >= d.opt.Threshold && d.labels[best] != None
	switch {
	case !sure:
		h.Label, h.Run = -1, 0
	case best == h.Label:
		h.Run++
	default:
		h.Label, h.Run, h.Since = best, 1, d.position
	}
	confirmed := h.Run >= d.opt.Confirm
	switch {
	case h.Active && best == h.Event:
		h.Best = max(h.Best, float64(p[best]))
	case h.Active && confirmed && d.position-h.Begin < d.refractory: // second thoughts
		h.Event, h.Best = best, float64(p[best])
	case h.Active && confirmed:
		d.end(d.onset())
		d.begin(best)
	case h.Active && float64(p[h.Event]) < d.opt.OffThreshold:
		d.end(d.position)
	case !h.Active && confirmed && (h.Events == 0 || d.position-h.Begin >= d.refractory):
		d.begin(best)
	}
	if sure || h.Active {
		h.Sure = h.Frames
	}
	none := d.labels[best] == None && float64(h.Frames) > meaningless*frameRate
	h.Nothing = !h.Active && (none || float64(h.Frames-h.Sure) > undecided*frameRate)
	return nil
}

// onset returns where the word that leads began: with the sound, or a little before it led, but not before the last event's end.
func (d *Detector) onset() int64 {
	h := &d.heard
	if h.Events == 0 && float64(h.Since-h.Onset) <= prompt*d.rate {
		return h.Onset
	}
	return max(h.Onset, h.Ended, h.Since-int64(delay*d.rate))
}

func (d *Detector) begin(label int) {
	h := &d.heard
	h.Begin = d.onset()
	h.Active, h.Event, h.Best = true, label, float64(d.chance[label])
	h.Events++
}

// end ends the event, if there is one.
func (d *Detector) end(at int64) {
	h := &d.heard
	if h.Active {
		h.Ended = max(at, h.Begin)
		d.events = append(d.events, Event{Onset: h.Begin, End: h.Ended, Label: d.labels[h.Event], Confidence: h.Best})
	}
	h.Active = false
}
