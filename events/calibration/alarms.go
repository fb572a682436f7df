package calibration

import (
	"cmp"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
)

// Alarm is a false alarm: an event in background.
type Alarm struct {
	File       string  `json:"file"`  // in which it begins; for background without files: Stream.Name
	Start      float64 `json:"start"` // seconds from the beginning of the file
	End        float64 `json:"end"`   // exclusive
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"` // as in events.Event
}

// ranked is an alarm with its place, which orders alarms of the same confidence.
type ranked struct {
	Alarm
	stream int
	onset  int64
}

// ranking is the alarms with the highest confidence, in descending order.
type ranking []ranked

// add adds an alarm, and removes the last one if there are more than most. The result does not
// depend on the order in which alarms are added.
func (r *ranking) add(most int, a ranked) {
	at, _ := slices.BinarySearchFunc(*r, a, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.Confidence, x.Confidence), x.stream-y.stream, cmp.Compare(x.onset, y.onset))
	})
	if at == most {
		return
	}
	if len(*r) == most {
		*r = (*r)[:most-1]
	}
	*r = slices.Insert(*r, at, a)
}

// alarm lists an event in the audio of stream i as a false alarm.
func (r *run) alarm(in Audio, i int, e events.Found) {
	if r.opt.List == 0 {
		return
	}
	file, start := r.streams[i].Name, int64(0)
	if t, ok := in.(*tape); ok {
		file, start = t.locate(e.Onset)
	}
	seconds := func(sample int64) float64 { return float64(sample-start) / r.recognizer.SampleRate() }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarms[e.Option].add(r.opt.List, ranked{Alarm{file, seconds(e.Onset), seconds(e.End), e.Label, e.Confidence}, i, e.Onset})
}
