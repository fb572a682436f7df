package events

import (
	"math"
	"slices"
)

// rules are the constants of a decision: labels, options and durations. They are immutable and
// shared.
type rules struct {
	labels     []string
	opt        Options
	sampleRate float64
	frame      int       // samples per frame
	frameRate  float64   // frames per second
	hop        int       // frames per evaluation
	smoothing  int       // frames that an evaluation averages; 0: a model with a mean pool
	refractory int64     // samples
	tail       int64     // samples for which a label outlasts its word
	offsets    []float64 // added to the averaged log-odds of the labels; nil: none
}

// newRules returns the rules for frames of the given length in samples.
func newRules(labels []string, opt Options, frame int) rules {
	r := rules{
		labels: labels, opt: opt, sampleRate: opt.SampleRate, frame: frame, frameRate: frameRate,
		hop:        max(1, int(math.Round(opt.Hop*frameRate))),
		refractory: int64(opt.Refractory * opt.SampleRate),
	}
	if opt.Smoothing > 0 {
		r.frameRate = opt.SampleRate / float64(frame)
		r.smoothing = max(1, int(math.Round(opt.Smoothing*r.frameRate)))
		r.tail = int64((tailDuration + opt.Smoothing/2) * opt.SampleRate)
	}
	return r
}

// decision turns the levels and the posteriors of one stream into events. It is the part of a
// Detector that depends on the thresholds and times of Options. It reads neither the audio nor the
// network, so that in a Sweep several decisions share the output of one network.
type decision struct {
	*rules
	gate      gate // not of a model that labels every frame
	segment   segment
	contour   *contour  // of a model that labels every frame, else nil
	position  int64     // of the last evaluation
	posterior []float32 // of the last evaluation
	events    []Event
}

func newDecision(r *rules) decision {
	return decision{rules: r, gate: newGate(), segment: segment{Leader: -1}}
}

// hear updates the gate with the level of the frame that ends at position.
func (d *decision) hear(level float64, position int64) (opened, closed bool) {
	opened, closed = d.gate.step(level, d.segment.Background)
	if opened {
		d.segment = segment{Onset: max(0, position-int64(openFrames*d.frame)), Leader: -1}
	}
	return opened, closed
}

// due counts a frame of the sound and reports whether an evaluation follows it: every hop, and when
// the gate closes.
func (d *decision) due(closed bool) bool {
	d.segment.Frames++
	return closed || d.segment.Frames%int64(d.hop) == 0
}

// pending reports whether the last frames of the sound have not been evaluated.
func (d *decision) pending() bool { return d.gate.Open && d.segment.Frames%int64(d.hop) != 0 }

// closed ends the sound at the frame that closed the gate and ends at position.
func (d *decision) closed(position int64) {
	d.end(position - int64(hangFrames*d.frame))
	d.segment = segment{Leader: -1}
}

// close ends the event in progress, if there is one, at the end of the signal, and closes the gate.
// Events that end in the silence after the signal are cut at its end.
func (d *decision) close(position int64) {
	d.end(position)
	for i := range d.events {
		d.events[i].End = min(d.events[i].End, position)
	}
	d.events = slices.DeleteFunc(d.events, func(e Event) bool { return e.Onset >= e.End })
	d.gate, d.segment, d.posterior = newGate(), segment{Onset: position, Leader: -1}, nil
}

// evaluate updates the segment with the posterior for the sound so far or, for a model that labels
// every frame, for the averaged frames. best is the most probable label; a smoother chooses it
// without none and without the offsets. position is the number of samples so far.
func (d *decision) evaluate(posterior []float32, best int, position int64) {
	d.posterior, d.position = posterior, position
	s, p := &d.segment, func(label int32) float64 { return float64(posterior[label]) }
	leader := int32(best)
	sure := p(leader) >= d.opt.Threshold && d.labels[best] != None
	switch {
	case !sure:
		s.Leader, s.Run = -1, 0
	case leader == s.Leader:
		s.Run = min(s.Run, maxConfirm-1) + 1 // without an overflow after months
	default:
		s.Leader, s.Run, s.Since = leader, 1, position
	}
	confirmed := int(s.Run) >= d.opt.Confirm
	refractory := s.Events > 0 && d.sinceLast(position) < d.refractory
	none := d.labels[best] == None
	if d.smoothing > 0 {
		none = p(leader) < d.opt.OffThreshold
	}
	switch {
	case s.Active && leader == s.Label && !none:
		s.Confidence, s.Apart = max(s.Confidence, p(leader)), false
	case s.Active && confirmed && !refractory && d.follows(): // another event follows
		d.end(d.onset())
		d.begin(leader)
	case s.Active && confirmed && (d.smoothing == 0 || p(leader) > s.Confidence): // the label changes
		s.Label, s.Confidence = leader, p(leader)
	case s.Active && p(s.Label) < d.opt.OffThreshold && (d.smoothing == 0 || none):
		d.end(d.wordEnd(position))
	case !s.Active && confirmed && !refractory:
		d.begin(leader)
	}
	s.Apart = s.Apart || none
	if sure || s.Active {
		s.Sure = s.Frames
	}
	none = none && float64(s.Frames) > noneDuration*frameRate
	s.Background = !s.Active && (none || float64(s.Frames-s.Sure) > unsureDuration*frameRate)
}

// sinceLast returns the time in samples since the last event, for the refractory time. It is
// measured from the event's onset or, for a model that labels every frame, between the frames at
// which the two labels began to lead.
func (d *decision) sinceLast(position int64) int64 {
	if d.smoothing > 0 {
		return d.segment.Since - d.segment.Led
	}
	return position - d.segment.Begin
}

// follows reports whether the leader belongs to another word than the event in progress. With a
// gate, it does if its onset is later. For a model that labels every frame, all labels must also
// have been below the off-threshold in between, because the label of one word may change.
func (d *decision) follows() bool {
	if d.smoothing > 0 && !d.segment.Apart {
		return false
	}
	return d.onset() > d.segment.Begin
}

// onset returns the onset of the leader's word. With a gate, that is the onset of the sound, or a
// fixed time before the label began to lead. It is never before the end of the last event.
func (d *decision) onset() int64 {
	s := &d.segment
	if d.contour != nil {
		return d.contour.onset(s.Since, max(s.Onset, s.Ended, s.Led), d.position)
	}
	if s.Events == 0 && float64(s.Since-s.Onset) <= promptOnset*d.sampleRate {
		return s.Onset
	}
	return max(s.Onset, s.Ended, s.Since-int64(onsetDelay*d.sampleRate))
}

// wordEnd returns the end of a word whose label falls below the off-threshold at position. A model
// that labels every frame keeps the label for a known time after the word.
func (d *decision) wordEnd(position int64) int64 {
	if at := position - d.tail; at > d.segment.Begin {
		return at
	}
	return position
}

func (d *decision) begin(label int32) {
	s := &d.segment
	s.Begin = d.onset()
	s.Led, s.Apart = s.Since, false
	s.Active, s.Label, s.Confidence = true, label, float64(d.posterior[label])
	s.Events++
}

// end ends the event in progress, if there is one. It drops an event whose onset is not before its
// end, because that was recognised in the pause after the sound.
func (d *decision) end(at int64) {
	s := &d.segment
	if s.Active && at > s.Begin {
		s.Ended = at
		d.events = append(d.events, Event{Onset: s.Begin, End: at, Label: d.labels[s.Label], Confidence: s.Confidence})
	}
	s.Active = false
}
