package member

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	queue       = 64                     // messages of audio that wait; more are read from JetStream again
	replayBatch = 64                     // messages per request
	blockTime   = 100 * time.Millisecond // of audio that is processed at a time
	timeout     = 5 * time.Second        // of a request to NATS
	silence     = 2 * time.Second        // without audio, after which JetStream is asked for it
)

// The reasons why a stream ends before its audio does. After other errors the stream is delivered
// again, to this member or another, and is resumed from its snapshot.
var (
	errLost  = errors.New("another member has taken the stream")
	errEnded = errors.New("the stream has ended")
)

// streamError is an error that ends the stream. Its code is for programs.
type streamError struct {
	code string
	error
}

func errAudio(err error) error { return &streamError{"audio", err} }

// stream is a stream that the member serves. The fields after work belong to the goroutine of run.
type stream struct {
	*Member
	name      string
	number    int64 // in the order in which the member took its streams
	delivered time.Time
	cancel    context.CancelCauseFunc
	work      jetstream.Msg // the lease; protected by Member.mu

	detector     *events.Detector
	sequence     uint64 // of the last message of audio that was processed
	lines        int64  // lines so far
	told         int64  // lines that JetStream has stored, maybe by earlier owners
	lineSequence uint64 // of the last of those
	revision     uint64 // of the snapshot
	saved        int64  // position of the snapshot
	savedAt      time.Time
	saving       chan saveResult // nil if no snapshot is being stored
	arrived      time.Time       // of the last message of audio, or the last request for audio
	heard        time.Time       // when the last new audio was processed
	samples      []float32
}

type saveResult struct {
	position int64
	revision uint64
	err      error
}

// run serves the stream until it ends, is released or is lost.
func (s *stream) run(ctx context.Context) {
	err := s.serve(ctx)
	var bad *streamError
	if errors.As(err, &bad) {
		err = s.tell(report.Error{Type: "error", Code: bad.code, Error: fmt.Sprintf("%.500s", bad.Error())})
		if err == nil {
			err = errEnded
		}
	}
	if errors.Is(err, errEnded) {
		err = s.finish()
	}
	s.remove() // before the next delivery, which may be to this member
	why := released("")
	switch {
	case err == nil:
	case errors.As(err, &why):
		s.metrics.released.WithLabelValues(string(why)).Inc()
		s.lease().Nak()
	case errors.Is(err, errLost):
		s.metrics.released.WithLabelValues("lost").Inc()
		s.cfg.Log.Info("a stream was lost", "stream", s.name)
	default:
		s.metrics.released.WithLabelValues("error").Inc()
		if !errors.Is(err, nats.ErrConnectionClosed) {
			s.cfg.Log.Warn("a stream was given up", "stream", s.name, "error", err)
		}
		s.lease().NakWithDelay(s.cfg.JetStream.Lease)
	}
}

// lease returns the message of the work queue.
func (s *stream) lease() jetstream.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work
}

// serve returns errEnded after the end of the audio.
func (s *stream) serve(ctx context.Context) error {
	s.detector = s.cfg.Recognizer.NewDetector()
	start, invalid := wire.ParseStart(s.lease().Data())
	if invalid == nil && start.SampleRate != s.cfg.Recognizer.SampleRate() {
		invalid = fmt.Errorf("sampling rate of %g Hz, expected %g Hz", start.SampleRate, s.cfg.Recognizer.SampleRate())
	}
	// The subscription comes before the replay, so that no message is between them.
	live := make(chan *nats.Msg, queue)
	sub, err := s.nc.ChanSubscribe(wire.LiveSubject(s.name), live)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	if err := s.claim(); err != nil {
		return err
	}
	if invalid != nil {
		return &streamError{"request", invalid}
	}
	if err := s.replay(); err != nil {
		return err
	}
	s.metrics.resume.Observe(time.Since(s.delivered).Seconds())
	return s.follow(ctx, live)
}

// follow processes the audio as it arrives.
func (s *stream) follow(ctx context.Context, live <-chan *nats.Msg) error {
	s.arrived = time.Now()
	s.heard = s.arrived
	// A random phase spreads the snapshots of streams that were taken together.
	timer := time.NewTimer(rand.N(s.cfg.Interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := s.settle(); err != nil {
				return err
			}
			return context.Cause(ctx)
		case r := <-s.saving:
			if err := s.settled(r); err != nil {
				return err
			}
		case now := <-timer.C:
			timer.Reset(s.cfg.Interval)
			if s.saving == nil && (s.detector.Position() != s.saved || now.Sub(s.savedAt) > s.cfg.JetStream.KeepLines/2) {
				s.save()
			}
			if err := s.wait(now); err != nil {
				return err
			}
		case msg := <-live:
			s.arrived = time.Now()
			if err := s.receive(msg, len(live)); err != nil {
				return err
			}
		}
	}
}

// wait asks JetStream for audio if none has arrived for some time, because the last message may
// have been lost. It ends a stream whose publisher has sent nothing for Options.KeepAudio.
func (s *stream) wait(now time.Time) error {
	limit := s.cfg.JetStream.KeepAudio
	if now.Sub(s.arrived) <= min(silence, limit) {
		return nil
	}
	s.arrived = now
	if err := s.replay(); err != nil {
		return err
	}
	if now.Sub(s.heard) <= limit {
		return nil
	}
	s.lines = max(s.lines, s.told)
	return errAudio(fmt.Errorf("no audio for %v after sample %d, expected audio or the end of the stream", limit, s.detector.Position()))
}

// receive processes a message that JetStream has republished. waiting is the number of messages
// behind it.
func (s *stream) receive(msg *nats.Msg, waiting int) error {
	sequence, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	previous, err2 := strconv.ParseUint(msg.Header.Get(jetstream.LastSequenceHeader), 10, 64)
	if err != nil || err2 != nil || msg.Header.Get(jetstream.StreamHeader) != wire.AudioStream || sequence <= s.sequence {
		return nil // it does not come from JetStream, or is known
	}
	if previous > s.sequence {
		s.metrics.gaps.Inc()
		// A replica may not have all messages yet. Then the next message is a reason to try again.
		if err := s.replay(); err != nil || previous > s.sequence || sequence <= s.sequence {
			return err
		}
	}
	began := time.Now()
	wait, duration, err := s.process(msg.Data, sequence)
	s.record(wait + time.Duration(waiting)*duration)
	s.metrics.block.Observe(time.Since(began).Seconds())
	return err
}

// replay processes the audio in JetStream that follows the last message.
func (s *stream) replay() error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		n, err := s.replayOnce(ctx)
		cancel()
		if err != nil || n < replayBatch {
			return err
		}
	}
}

// replayOnce processes at most replayBatch messages and returns their number.
func (s *stream) replayOnce(ctx context.Context) (n int, err error) {
	batch, err := jetstreamext.GetBatch(ctx, s.js, wire.AudioStream, replayBatch,
		jetstreamext.GetBatchSeq(s.sequence+1), jetstreamext.GetBatchSubject(wire.AudioSubject(s.name)))
	if err != nil {
		return 0, err
	}
	// All messages are read before the first is processed, which may take long.
	var all []*jetstream.RawStreamMsg
	for msg, err := range batch {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return 0, err
		}
		all = append(all, msg)
	}
	for _, msg := range all {
		before := s.detector.Position()
		if _, _, err := s.process(msg.Data, msg.Sequence); err != nil {
			return 0, err
		}
		s.metrics.replayed.Add(float64(s.detector.Position() - before))
	}
	return len(all), nil
}

// process passes a chunk to the model. It returns how long the chunk waited for a processor, and
// the chunk's duration.
func (s *stream) process(data []byte, sequence uint64) (wait, duration time.Duration, err error) {
	c, err := wire.ParseChunk(data)
	if err != nil {
		return 0, 0, errAudio(err)
	}
	rate := s.cfg.Recognizer.SampleRate()
	duration = time.Duration(float64(c.Samples()) / rate * float64(time.Second))
	at := s.detector.Position()
	if c.Position > at {
		s.metrics.lost.Add(float64(c.Position - at))
		if s.told > s.lines {
			s.lines = s.told
			return 0, 0, errAudio(fmt.Errorf("samples %d to %d are no longer in JetStream, and lines of them are published", at, c.Position))
		}
		if err := s.tellAll(s.detector.Skip(c.Position - at)); err != nil {
			return 0, 0, err
		}
	} else { // a publisher repeats a message whose acknowledgement it did not receive
		c.PCM = c.PCM[2*min(int64(c.Samples()), at-c.Position):]
	}
	s.samples = wire.AppendSamples(s.samples[:0], c.PCM)
	block := int(rate * blockTime.Seconds())
	for x := s.samples; len(x) > 0; x = x[min(block, len(x)):] {
		waited, err := s.recognize(x[:min(block, len(x))])
		wait += waited
		if err != nil {
			return wait, duration, err
		}
	}
	s.sequence, s.heard = sequence, time.Now()
	if !c.End {
		return wait, duration, nil
	}
	if err := s.tellAll(s.detector.Flush()); err != nil {
		return wait, duration, err
	}
	end := s.detector.Position()
	if err := s.tell(wire.End{Type: "end", Samples: end, Seconds: float64(end) / rate}); err != nil {
		return wait, duration, err
	}
	return wait, duration, errEnded
}

// recognize passes samples to the model and publishes the events.
func (s *stream) recognize(x []float32) (wait time.Duration, err error) {
	arrived := time.Now()
	s.processors <- struct{}{}
	began := time.Now()
	found, err := s.detector.Process(x)
	busy := time.Since(began)
	<-s.processors
	s.metrics.samples.Add(int64(len(x)))
	s.metrics.busy.Add(int64(busy))
	return began.Sub(arrived), s.tellAll(found, err)
}

// tellAll publishes events, and returns the model's error if it has one.
func (s *stream) tellAll(found []events.Event, failed error) error {
	for _, e := range found {
		s.metrics.events.WithLabelValues(e.Label).Inc()
		if err := s.tell(report.NewEvent(e, func(n int64) int64 { return n })); err != nil {
			return err
		}
	}
	if failed != nil {
		return &streamError{"model", failed}
	}
	return nil
}
