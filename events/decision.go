package events

import (
	"math"
	"slices"
)

// rules are the constants of a decision: labels, options and durations. They are immutable and
// shared.
type rules struct {
	labels     []string
	sampleRate float64   // Hz, of the model
	frame      int       // samples per frame
	sourceLag  float64   // seconds by which the source's outputs lag behind the audio
	offsets    []float64 // added to the averaged log-odds of the labels; nil: none

	// These depend on the options.
	opt        Options
	frameRate  float64 // frames per second
	smoothing  int     // frames that are averaged
	lag        float64 // seconds by which the averaged outputs lag behind the audio
	refractory int64   // samples
	tail       int64   // samples for which a label outlasts its word
}

// tailDuration is the time in seconds after the end of a word for which frames have its label in
// training.
const tailDuration = 0.2

// with returns the rules with options.
func (r rules) with(opt Options) rules {
	r.opt, r.frameRate = opt, r.sampleRate/float64(r.frame)
	r.smoothing = max(1, int(math.Round(opt.Smoothing*r.frameRate)))
	r.lag = r.sourceLag + opt.Smoothing/2
	r.refractory = int64(opt.Refractory * r.sampleRate)
	r.tail = int64((tailDuration + r.lag) * r.sampleRate)
	return r
}

// decision turns the posteriors and the levels of one signal into events. It reads neither the
// audio nor the network, so that in a Sweep several decisions share the output of one network.
type decision struct {
	*rules
	contour   *contour // of the levels, up to the frame of the last evaluation
	segment   segment
	position  int64     // of the last evaluation
	posterior []float32 // of the last evaluation
	events    []Event
}

// segment is the state of a decision. Positions are samples since the beginning of the signal. The
// fields have fixed sizes because snapshots store them unchanged.
type segment struct {
	Leader    int32 // label with the largest posterior, if that reaches the threshold, or −1
	Run       int32 // frames in a row with this leader
	LeadStart int64 // position of the first of them

	Active     bool    // an event is in progress
	Label      int32   // its label
	Onset      int64   // its onset
	Held       int32   // the most frames in a row in which its label led
	Confidence float64 // the largest posterior of its label
	Pause      bool    // all labels have been below the off-threshold after its label led

	Begun         bool  // an event has begun in this signal
	LastLeadStart int64 // LeadStart when the last event began
	LastEnd       int64 // end of the last event that has ended
}

func newDecision(r *rules, c *contour) decision {
	return decision{rules: r, contour: c, segment: segment{Leader: -1}}
}

// close ends the event in progress, if there is one, at the end of the signal, and prepares for
// another signal. Events that end in the silence after the signal are cut at its end.
func (d *decision) close(position int64) {
	d.end(position)
	for i := range d.events {
		d.events[i].End = min(d.events[i].End, position)
	}
	d.events = slices.DeleteFunc(d.events, func(e Event) bool { return e.Onset >= e.End })
	d.segment, d.posterior = segment{Leader: -1}, nil
}

// evaluate updates the segment with the averaged posteriors of the labels up to position. best is
// the most probable label; a smoother chooses it without none and without the offsets.
func (d *decision) evaluate(posterior []float32, best int, position int64) {
	d.posterior, d.position = posterior, position
	s, leader, p := &d.segment, int32(best), float64(posterior[best])
	switch {
	case p < d.opt.Threshold:
		s.Leader, s.Run = -1, 0
	case leader == s.Leader:
		s.Run = min(s.Run, maxConfirm-1) + 1 // without an overflow after months
	default:
		s.Leader, s.Run, s.LeadStart = leader, 1, position
	}
	confirmed := int(s.Run) >= d.opt.Confirm
	refractory := s.Begun && s.LeadStart-s.LastLeadStart < d.refractory
	none := p < d.opt.OffThreshold
	switch {
	case s.Active && leader == s.Label && !none:
		s.Held, s.Confidence, s.Pause = max(s.Held, s.Run), max(s.Confidence, p), false
	case s.Active && confirmed && !refractory && s.Pause && d.onset() > s.Onset: // another event follows
		d.end(d.onset())
		d.begin()
	case s.Active && confirmed && s.Run > s.Held: // the label that leads longest names the event
		s.Label, s.Held, s.Confidence = leader, s.Run, p
	case s.Active && none && float64(posterior[s.Label]) < d.opt.OffThreshold:
		d.end(d.wordEnd())
	case !s.Active && confirmed && !refractory:
		d.begin()
	}
	s.Pause = s.Pause || none
}

// onset returns the onset of the leader's word. It is not before the end of the last event.
func (d *decision) onset() int64 {
	s := &d.segment
	return d.contour.onset(s.LeadStart, max(s.LastEnd, s.LastLeadStart), d.position)
}

// wordEnd returns the end of a word whose label falls below the off-threshold now. The label
// outlasts the word by a known time.
func (d *decision) wordEnd() int64 {
	if end := d.position - d.tail; end > d.segment.Onset {
		return end
	}
	return d.position
}

// begin begins an event with the leader.
func (d *decision) begin() {
	s := &d.segment
	s.Onset = d.onset()
	s.Begun, s.LastLeadStart, s.Pause = true, s.LeadStart, false
	s.Active, s.Label, s.Held, s.Confidence = true, s.Leader, s.Run, float64(d.posterior[s.Leader])
}

// end ends the event in progress, if there is one. It drops an event whose onset is not before its
// end, because that was recognised in the silence after the signal.
func (d *decision) end(at int64) {
	s := &d.segment
	if s.Active && at > s.Onset {
		s.LastEnd = at
		d.events = append(d.events, Event{Onset: s.Onset, End: at, Label: d.labels[s.Label], Confidence: s.Confidence})
	}
	s.Active = false
}
