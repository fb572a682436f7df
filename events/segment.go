package events

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// segment is what is known of the sound since the gate opened. Its fields have fixed sizes because
// snapshots store them unchanged.
type segment struct {
	Onset      int64   // first sample of the sound
	Frames     int64   // since the gate opened
	Leader     int32   // label with the largest posterior, if that reaches the threshold, or −1
	Run        int32   // evaluations in a row with this leader
	Since      int64   // position of the first of them
	Active     bool    // an event is under way
	Label      int32   // its label
	Begin      int64   // its onset; afterwards that of the last event
	Confidence float64 // the largest posterior of its label
	Events     int64   // begun in this segment
	Ended      int64   // end of the last event
	Sure       int64   // Frames at the last evaluation that had a leader or an event
	Background bool    // the sound has lasted so long without a label that it counts as background
}

// Durations in seconds.
const (
	// A sound that the model labels none counts as background after noneDuration. A sound without a
	// leader does after unsureDuration, since a model need not have the label none.
	noneDuration   = 0.6
	unsureDuration = 3

	promptOnset = 0.6 // a leader found within this time is the sound's beginning
	onsetDelay  = 0.3 // from a word's onset to its first leading evaluation, later in a sound
)

// evaluate updates the segment by the model's posterior for the sound so far.
func (d *Detector) evaluate() error {
	for i, v := range d.logits {
		if v-v != 0 {
			return fmt.Errorf("events: after sample %d: the model's output for label %q is %v, expected a finite number", d.position, d.labels[i], v)
		}
	}
	d.posterior = model.Posterior(d.posterior, d.logits)
	best := model.ArgMax(d.logits)
	s, p := &d.segment, func(label int32) float64 { return float64(d.posterior[label]) }
	leader := int32(best)
	sure := p(leader) >= d.opt.Threshold && d.labels[best] != None
	switch {
	case !sure:
		s.Leader, s.Run = -1, 0
	case leader == s.Leader:
		s.Run++
	default:
		s.Leader, s.Run, s.Since = leader, 1, d.position
	}
	confirmed := int(s.Run) >= d.opt.Confirm
	refractory := d.position-s.Begin < d.refractory
	switch {
	case s.Active && leader == s.Label:
		s.Confidence = max(s.Confidence, p(leader))
	case s.Active && confirmed && (refractory || d.onset() <= s.Begin): // the label changes
		s.Label, s.Confidence = leader, p(leader)
	case s.Active && confirmed: // another event follows
		d.end(d.onset())
		d.begin(leader)
	case s.Active && p(s.Label) < d.opt.OffThreshold:
		d.end(d.position)
	case !s.Active && confirmed && (s.Events == 0 || !refractory):
		d.begin(leader)
	}
	if sure || s.Active {
		s.Sure = s.Frames
	}
	none := d.labels[best] == None && float64(s.Frames) > noneDuration*frameRate
	s.Background = !s.Active && (none || float64(s.Frames-s.Sure) > unsureDuration*frameRate)
	return nil
}

// onset returns where the leader's word began: with the sound, or some time before it led, but not
// before the end of the last event.
func (d *Detector) onset() int64 {
	s := &d.segment
	if s.Events == 0 && float64(s.Since-s.Onset) <= promptOnset*d.sampleRate {
		return s.Onset
	}
	return max(s.Onset, s.Ended, s.Since-int64(onsetDelay*d.sampleRate))
}

func (d *Detector) begin(label int32) {
	s := &d.segment
	s.Begin = d.onset()
	s.Active, s.Label, s.Confidence = true, label, float64(d.posterior[label])
	s.Events++
}

// end ends the event under way, if there is one. An event that would begin at its end or later is
// dropped: it was recognised in the pause after the sound.
func (d *Detector) end(at int64) {
	s := &d.segment
	if s.Active && at > s.Begin {
		s.Ended = at
		d.events = append(d.events, Event{Onset: s.Begin, End: at, Label: d.labels[s.Label], Confidence: s.Confidence})
	}
	s.Active = false
}
