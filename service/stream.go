package service

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	maxRecent     = 16        // events that a stream remembers for a client that has lost its connection
	maxSampleRate = 1_000_000 // Hz, of package events; it bounds the memory of a block
)

// identity is what a snapshot stores of a stream in addition to its detector.
type identity struct {
	ID, Client string
	Connected  bool           // when the snapshot was taken
	Began      int64          // start in ns; of two streams with one name, the later one has the larger
	EventCount int64          // events so far
	Recent     []report.Event // the last of them, at most maxRecent
	Busy       time.Duration  // computing time so far
	Samples    int64          // that the client has sent, per channel
	SampleRate float64        // of the client's audio, in Hz; 0 before the first session
	End        *report.End    // last line of a stream that has ended, until the client confirms it
}

// validate returns an error if a snapshot has values that no stream has.
func (id *identity) validate() error {
	switch {
	case !validID.MatchString(id.ID):
		return fmt.Errorf("its stream has the name %.80q", id.ID)
	case id.EventCount < int64(len(id.Recent)) || len(id.Recent) > maxRecent:
		return fmt.Errorf("it has %d of %d events", len(id.Recent), id.EventCount)
	case id.Samples < 0 || id.Busy < 0:
		return fmt.Errorf("%d samples after %v", id.Samples, id.Busy)
	case !(id.SampleRate >= 0 && id.SampleRate <= maxSampleRate):
		return fmt.Errorf("its sampling rate is %g Hz, expected at most %d Hz", id.SampleRate, maxSampleRate)
	case id.End != nil && !id.validEnd():
		return fmt.Errorf("after %d samples at %g Hz it has an invalid end line, after %d samples", id.Samples, id.SampleRate, id.End.Samples)
	}
	for _, e := range id.Recent {
		if e.Type != "event" || e.Onset < 0 || e.End < e.Onset || !(e.Confidence >= 0 && e.Confidence <= 1) {
			return fmt.Errorf("it has an event of the type %.80q from %d to %d with confidence %g", e.Type, e.Onset, e.End, e.Confidence)
		}
	}
	return nil
}

// validEnd reports whether the end line can be that of a stream with samples.
func (id *identity) validEnd() bool {
	e := id.End
	for _, v := range []float64{e.Seconds, e.RealTimeFactor, e.Block.P50, e.Block.P99, e.Block.Max} {
		if !(v >= 0 && v <= math.MaxFloat64) { // also NaN
			return false
		}
	}
	return e.Type == "end" && e.Samples == id.Samples && e.Samples > 0 && id.SampleRate > 0 && e.Block.Samples > 0 && e.Dropped >= 0
}

// stream belongs to the session that has acquired it.
type stream struct {
	identity
	detector       *events.Detector
	resampler      *audio.Resampler // nil if the client's audio has the model's rate
	resamplerState []byte           // of a saved stream
	unsent         []report.Event   // those of Recent that the client lacks
	released       bool
	replaces       bool // the store has an ended stream with this name

	saved       time.Time      // start of the session, or of the last snapshot in it
	writing     atomic.Bool    // a snapshot of this session
	writes      sync.WaitGroup // waits for that snapshot
	writeFailed bool           // the last write failed; only the first failure is logged
}

// standardRates are the sampling rates in Hz that can be resampled: the filters for others may take
// megabytes.
var standardRates = []float64{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 176400, 192000}

// setRate sets the sampling rate of the client's audio in Hz. If resample is set, audio with
// another rate than the model's is converted.
func (s *stream) setRate(hz, modelRate float64, resample bool) error {
	switch {
	case s.SampleRate != 0 && s.SampleRate != hz:
		return newError(http.StatusConflict, "snapshot",
			"stream %s has audio at %g Hz: it cannot be resumed with audio at %g Hz", s.ID, s.SampleRate, hz)
	case hz == modelRate:
		s.SampleRate = hz
		return nil
	case !resample:
		return errAudio(fmt.Errorf("sampling rate of %g Hz: expected %g Hz, or resample=true", hz, modelRate))
	case !slices.Contains(standardRates, hz) || modelRate != math.Trunc(modelRate):
		return errAudio(fmt.Errorf("resampling from %g Hz to %g Hz: expected one of the rates %v, and a model's rate in whole Hz",
			hz, modelRate, standardRates))
	}
	r, err := audio.NewResampler(int(hz), int(modelRate))
	if err != nil {
		return errAudio(err)
	}
	if s.resamplerState != nil {
		if err := r.Restore(s.resamplerState); err != nil {
			return errUnusable(s.ID, err)
		}
	}
	s.resampler, s.SampleRate = r, hz
	return nil
}

// snapshot returns the stream as the store saves it. Without samples it has no state. After its end
// only the last lines are left.
func (s *stream) snapshot() snapshot {
	id := s.identity
	id.Recent = slices.Clone(id.Recent)
	if s.End != nil || s.Samples == 0 {
		return snapshot{Identity: id, Saved: time.Now()}
	}
	state := s.resamplerState
	if s.resampler != nil {
		state = s.resampler.Snapshot()
	}
	return snapshot{id, s.detector.Snapshot(), state, time.Now()}
}

// record remembers an event.
func (s *stream) record(e report.Event) {
	if len(s.Recent) == maxRecent {
		s.Recent = s.Recent[:copy(s.Recent, s.Recent[1:])]
	}
	s.Recent = append(s.Recent, e)
	s.EventCount++
}

// resumeEvents selects the events that a client lacks if it has received n; a negative n means all.
// It is an error if the stream has forgotten some of them, or if the client has received more than
// the stream has had.
func (s *stream) resumeEvents(n int64) error {
	lacking := s.EventCount - n
	switch {
	case n < 0:
		return nil
	case s.Samples == 0 && n > 0:
		return newError(http.StatusGone, "events",
			"stream %s is new, but events=%d: it was not resumed; omit events to start a new stream", s.ID, n)
	case lacking < 0:
		return newError(http.StatusGone, "events",
			"stream %s had %d events when it was last saved, but events=%d: expected at most %[2]d", s.ID, s.EventCount, n)
	case lacking > int64(len(s.Recent)):
		return newError(http.StatusGone, "events",
			"stream %s remembers the last %d of its %d events, but events=%d", s.ID, len(s.Recent), s.EventCount, n)
	}
	s.unsent = s.Recent[int64(len(s.Recent))-lacking:]
	return nil
}
