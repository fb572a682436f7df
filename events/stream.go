package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

// Stream detects events in one stream of audio of any sampling rate. If that is not the rate of the
// Recognizer, the Stream resamples the audio. All positions are samples of the audio as it arrives.
// A Stream belongs to one goroutine at a time.
type Stream struct {
	detector   *Detector
	sampleRate float64          // Hz, of the input
	resampler  *audio.Resampler // nil: the input has the detector's rate
	position   int64            // samples of the input
	origin     int64            // position at which the signal began
	began      int64            // position of the detector at which it began
	block      []float32        // of the input
	resampled  []float32
	events     []Event
}

// streamBlock is the number of samples that are resampled at a time.
const streamBlock = 1024

// NewStream returns the Stream of audio at a sampling rate in Hz; 0: that of the Recognizer. Rates
// that audio.NewResampler cannot convert are an error.
func (r *Recognizer) NewStream(sampleRate float64) (*Stream, error) {
	s := &Stream{detector: r.NewDetector(), sampleRate: sampleRate}
	if sampleRate == 0 || sampleRate == r.sampleRate {
		s.sampleRate = r.sampleRate
		return s, nil
	}
	if sampleRate != math.Trunc(sampleRate) || r.sampleRate != math.Trunc(r.sampleRate) {
		return nil, fmt.Errorf("events: resampling from %v Hz to %v Hz: expected whole numbers", sampleRate, r.sampleRate)
	}
	var err error
	if s.resampler, err = audio.NewResampler(int(sampleRate), int(r.sampleRate)); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	s.block = make([]float32, 0, streamBlock)
	return s, nil
}

// SampleRate returns the sampling rate of the input in Hz.
func (s *Stream) SampleRate() float64 { return s.sampleRate }

// Position returns the number of samples since the beginning of the stream.
func (s *Stream) Position() int64 { return s.position }

// Posterior returns the class probabilities of the last evaluation: of each label against none,
// averaged over the last frames, with the offsets of the model's operating point. The slice is
// valid until the next call. It is nil before the signal's first evaluation.
func (s *Stream) Posterior() []float32 { return s.detector.Posterior() }

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call. The slice is valid until the next call. How the input is divided into calls changes no bit
// of any event. A sample that Check rejects counts as 0; so does one within ±1e-18.
//
// If the model's output is NaN or infinite, Process returns an error and the events before it. An
// event in progress ends there, the rest of x is not processed, and the next call begins a new
// signal at the position after x.
func (s *Stream) Process(x []float32) ([]Event, error) {
	s.events = s.events[:0]
	if s.resampler == nil {
		s.position += int64(len(x))
		return s.take(s.detector.Process(x))
	}
	for len(x) > 0 {
		n := min(len(x), streamBlock)
		s.block = s.block[:0]
		for _, v := range x[:n] {
			if !isAudio(v) {
				v = 0 // a NaN would spread to its neighbours
			}
			s.block = append(s.block, v)
		}
		x = x[n:]
		s.position += int64(n)
		s.resampled = s.resampler.Process(s.resampled[:0], s.block)
		if list, err := s.take(s.detector.Process(s.resampled)); err != nil {
			s.position += int64(len(x))
			return list, err
		}
	}
	return s.events, nil
}

// Flush ends the signal and returns the event in progress, if there is one. The Stream can then
// continue with another signal. The error is that of Process.
func (s *Stream) Flush() ([]Event, error) {
	s.events = s.events[:0]
	if s.resampler != nil {
		s.resampled = s.resampler.Flush(s.resampled[:0])
		if list, err := s.take(s.detector.Process(s.resampled)); err != nil {
			return list, err
		}
	}
	list, err := s.take(s.detector.Flush())
	s.restart()
	return list, err
}

// Skip flushes, and advances the position by n samples that were lost. It panics if n is negative
// or leads beyond MaxPosition.
func (s *Stream) Skip(n int64) ([]Event, error) {
	if most := MaxPosition - s.position; n < 0 || n > most {
		panic(fmt.Sprintf("events: Skip of %d samples: expected 0 to %d", n, most))
	}
	list, err := s.Flush()
	s.position += n
	s.restart()
	return list, err
}

// take appends events of the detector, with positions of the input.
func (s *Stream) take(list []Event, err error) ([]Event, error) {
	for _, e := range list {
		e.Onset, e.End = s.input(e.Onset), s.input(e.End)
		s.events = append(s.events, e)
	}
	if err != nil {
		if s.resampler != nil {
			s.resampler.Flush(s.resampled[:0])
		}
		s.restart()
	}
	return s.events, err
}

// restart begins a new signal.
func (s *Stream) restart() { s.origin, s.began = s.position, s.detector.Position() }

// input returns the sample of the input at the time of sample n of the detector. Resampled audio
// may be a sample longer than the input.
func (s *Stream) input(n int64) int64 {
	n -= s.began
	if s.resampler != nil {
		n = int64(math.Round(float64(n) * s.sampleRate / s.detector.SampleRate()))
	}
	return min(s.origin+n, s.position)
}

// Detect returns all events in a recording, with positions of the recording's own samples, whose
// rate is in.Format.SampleRate. Several channels are mixed down to their mean. If the recording
// cannot be read to its end or contains a sample that Check rejects, Detect returns the events
// before that and the error.
func (r *Recognizer) Detect(in *audio.Reader) ([]Event, error) {
	s, err := r.NewStream(float64(in.Format.SampleRate))
	if err != nil {
		return nil, err
	}
	var all []Event
	src, buf := audio.Mono(in), make([]float32, streamBlock)
	for {
		n, readErr := src.Read(buf)
		n, invalid := Check(buf[:n])
		list, err := s.Process(buf[:n])
		all = append(all, list...)
		switch {
		case err != nil:
			return all, err
		case invalid != nil:
			return all, fmt.Errorf("after sample %d: %w", s.Position(), invalid)
		case readErr != nil && !errors.Is(readErr, io.EOF):
			return all, readErr
		case readErr != nil:
			list, err = s.Flush()
			return append(all, list...), err
		}
	}
}

// The snapshot of a Stream has the state of its resampler and that of its detector.
const (
	streamMagic   = "S4DAUDIO"
	streamVersion = 1
)

// streamHead is the fixed part of a Stream's snapshot.
type streamHead struct {
	SampleRate              float64
	Position, Origin, Began int64
	Resampler               int32 // bytes
}

// Snapshot returns the Stream's state for Restore. Events that were returned are not part of it.
func (s *Stream) Snapshot() []byte {
	head := streamHead{SampleRate: s.sampleRate, Position: s.position, Origin: s.origin, Began: s.began}
	var resampler []byte
	if s.resampler != nil {
		resampler = s.resampler.Snapshot()
		head.Resampler = int32(len(resampler))
	}
	b := snapshot.Begin(nil, streamMagic, streamVersion)
	b, _ = binary.Append(b, binary.LittleEndian, head) // a fixed size: cannot fail
	return snapshot.End(append(append(b, resampler...), s.detector.Snapshot()...), 0)
}

// Restore continues from a snapshot of a Stream of an equal model with equal options and an equal
// sampling rate, at the same kernel level: the same audio then gives the same events, bit for bit.
// After an error the Stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	body, err := snapshot.Open(b, streamMagic, streamVersion)
	if err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	var head streamHead
	n, err := binary.Decode(body, binary.LittleEndian, &head)
	if body = body[n:]; err != nil || head.Resampler < 0 || int(head.Resampler) > len(body) {
		return errTruncated
	}
	switch {
	case head.SampleRate != s.sampleRate:
		return fmt.Errorf("events: snapshot: taken at %v Hz, this stream has %v Hz", head.SampleRate, s.sampleRate)
	case head.Origin < 0 || head.Position < head.Origin || head.Position > MaxPosition:
		return fmt.Errorf("events: snapshot: position %d in a signal from %d", head.Position, head.Origin)
	}
	next, err := s.detector.Recognizer.NewStream(s.sampleRate)
	if err != nil {
		return err
	}
	if next.resampler != nil {
		if err := next.resampler.Restore(body[:head.Resampler]); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	if err := next.detector.Restore(body[head.Resampler:]); err != nil {
		return err
	}
	next.position, next.origin, next.began = head.Position, head.Origin, head.Began
	*s = *next
	return nil
}
