package events

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/s4d-fast/s4d-fast/audio"
)

// Stream detects events in one stream of audio of any sampling rate. If that is not the rate of the
// model, the Stream resamples the audio. All positions are samples of the audio as it arrives. A
// Stream belongs to one goroutine at a time.
type Stream struct {
	recognizer *Recognizer
	sampleRate float64          // Hz, of the input
	resampler  *audio.Resampler // nil: the input has the rate of the model
	position   int64            // samples of the input
	origin     int64            // position at which the signal began
	signal     signal
	smoother   smoother
	decision   decision
	events     []Event

	input     []float32 // of a call, if it is resampled
	resampled []float32
}

// resampleBlock is the number of samples that are resampled at a time.
const resampleBlock = 1024

// NewStream returns the Stream of audio at a sampling rate in Hz; 0: that of the model. Rates that
// audio.NewResampler cannot convert are an error.
func (r *Recognizer) NewStream(sampleRate float64) (*Stream, error) {
	s := &Stream{recognizer: r, sampleRate: sampleRate, signal: r.newSignal(), smoother: newSmoother(&r.rules)}
	s.decision = newDecision(&r.rules, s.smoother.contour)
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
	return s, nil
}

// SampleRate returns the sampling rate of the input in Hz.
func (s *Stream) SampleRate() float64 { return s.sampleRate }

// Position returns the number of samples since the beginning of the stream.
func (s *Stream) Position() int64 { return s.position }

// Posterior returns the class probabilities of the last frame: of each label against none, averaged
// over Options.Smoothing, with the offsets of the model's operating point. The slice is valid until
// the next call. It is nil before the signal's first frame.
func (s *Stream) Posterior() []float32 { return s.decision.posterior }

// Process takes samples of full scale ±1 and returns the events that have ended since the last
// call. The slice is valid until the next call. How the input is divided into calls changes no bit
// of any event. A sample that Check rejects counts as 0; so does one within ±1e-18.
//
// If the model's output is NaN or infinite, Process returns an error and the events before it. An
// event in progress ends there, the rest of x is not processed, and the next call begins a new
// signal at the position after x.
func (s *Stream) Process(x []float32) ([]Event, error) {
	s.events = s.events[:0]
	s.position += int64(len(x))
	if s.resampler == nil {
		err := s.detect(x)
		return s.events, err
	}
	for len(x) > 0 {
		n := min(len(x), resampleBlock)
		s.input = s.input[:0]
		for _, v := range x[:n] {
			if !isAudio(v) {
				v = 0 // the resampler would spread a NaN to its neighbours
			}
			s.input = append(s.input, v)
		}
		x = x[n:]
		s.resampled = s.resampler.Process(s.resampled[:0], s.input)
		if err := s.detect(s.resampled); err != nil {
			return s.events, err
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
		if err := s.detect(s.resampled); err != nil {
			return s.events, err
		}
	}
	length, err := s.signal.flush(s)
	err = s.end(length, err)
	return s.events, err
}

// Skip flushes, and advances the position by n samples that were lost, at least 0.
func (s *Stream) Skip(n int64) ([]Event, error) {
	list, err := s.Flush()
	s.position += n
	s.origin = s.position
	return list, err
}

// detect processes samples at the rate of the model. It moves the events that have ended to
// s.events, with positions of the input.
func (s *Stream) detect(x []float32) error {
	if err := s.signal.process(x, s); err != nil {
		return s.end(s.signal.length(), err)
	}
	s.collect()
	return nil
}

// follow implements follower.
func (s *Stream) follow(level float64, outputs []float32, position int64) {
	s.smoother.push(level, outputs)
	s.decision.evaluate(s.smoother.posterior, s.smoother.best, position)
}

// end ends the signal, whose length in samples of the model is given, and prepares for the next
// one. It returns err with a position of the input.
func (s *Stream) end(length int64, err error) error {
	s.decision.close(length)
	s.collect()
	if output, ok := errors.AsType[*outputError](err); ok {
		output.position = s.inputSample(output.position)
		if s.resampler != nil {
			s.resampler.Flush(s.resampled[:0])
		}
	}
	s.signal.reset()
	s.smoother.reset()
	s.origin = s.position
	return err
}

// collect moves the events of the decision to s.events.
func (s *Stream) collect() {
	for _, e := range s.decision.events {
		e.Onset, e.End = s.inputSample(e.Onset), s.inputSample(e.End)
		s.events = append(s.events, e)
	}
	s.decision.events = s.decision.events[:0]
}

// inputSample returns the sample of the input at the time of sample n of the signal, which has the
// rate of the model. Resampled audio may be a sample longer than the input.
func (s *Stream) inputSample(n int64) int64 {
	if s.resampler != nil {
		n = int64(math.Round(float64(n) * s.sampleRate / s.recognizer.sampleRate))
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
	src, buf := audio.Mono(in), make([]float32, resampleBlock)
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
