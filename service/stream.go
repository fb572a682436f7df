package service

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// stream is a connected stream. It belongs to the session that has acquired it.
type stream struct {
	header
	named    bool                    // by the client
	detector *events.Stream          // nil before setRate
	state    []byte                  // of a saved stream, for its detector
	unsent   []report.Event          // those of Recent that the client lacks
	ctx      context.Context         // ends with the server, or when another one has taken over the stream
	cancel   context.CancelCauseFunc // of ctx

	saved       time.Time     // start of the session, or of the last snapshot in it
	storing     chan struct{} // has an element while the store is written; protects the following fields
	revision    uint64        // in the store; 0: none
	writeFailed bool          // the last write failed; only the first failure is logged
}

// standardRates are the sampling rates in Hz that can be resampled: the filters for others may take
// megabytes.
var standardRates = []float64{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 176400, 192000}

// setRate sets the sampling rate of the client's audio in Hz, and makes the detector. If resample
// is set, audio with another rate than the model's is converted.
func (s *stream) setRate(r *events.Recognizer, hz float64, resample bool) error {
	modelRate := r.SampleRate()
	switch {
	case s.Samples > 0 && s.SampleRate != hz:
		return newError(http.StatusConflict, "snapshot",
			"stream %s has audio at %g Hz: it cannot be resumed with audio at %g Hz", s.Stream, s.SampleRate, hz)
	case hz != modelRate && !resample:
		return errAudio(fmt.Errorf("sampling rate of %g Hz: expected %g Hz, or resample=true", hz, modelRate))
	case hz != modelRate && !slices.Contains(standardRates, hz):
		return errAudio(fmt.Errorf("resampling from %g Hz to %g Hz: expected one of the rates %v", hz, modelRate, standardRates))
	}
	d, err := r.NewStream(hz)
	if err != nil {
		return errAudio(err)
	}
	if s.Samples > 0 {
		if err := d.Restore(s.state); err != nil {
			return errUnusable(s.Stream, err)
		}
	}
	s.detector, s.SampleRate, s.state = d, hz, nil
	return nil
}

// snapshot returns the stream as the store keeps it.
func (s *stream) snapshot() []byte {
	if s.End != nil || s.Samples == 0 {
		return encodeSnapshot(s.header, nil)
	}
	return encodeSnapshot(s.header, s.detector.Snapshot())
}

// resumeEvents selects the events that a client lacks if it has received n; a negative n means all.
// It is an error if the stream has forgotten some of them, or if the client has received more than
// the stream has had.
func (s *stream) resumeEvents(n int64) error {
	lacking := s.EventCount - n
	switch {
	case n < 0:
		return nil
	case lacking < 0:
		return newError(http.StatusGone, "events",
			"stream %s is new or had %d events when it was last saved, but events=%d; omit events to start a new stream", s.Stream, s.EventCount, n)
	case lacking > int64(len(s.Recent)):
		return newError(http.StatusGone, "events",
			"stream %s remembers the last %d of its %d events, but events=%d", s.Stream, len(s.Recent), s.EventCount, n)
	}
	s.unsent = slices.Clone(s.Recent[int64(len(s.Recent))-lacking:])
	return nil
}

// errUnusable is the error of a stream whose snapshot cannot be used.
func errUnusable(name string, err error) error {
	return newError(http.StatusConflict, "snapshot", "stream %s cannot be resumed: %v; DELETE it to start again", name, err)
}
