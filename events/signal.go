package events

import (
	"fmt"
	"math"
	"sync"
)

// signal cuts one signal into frames, and computes their levels and the network's outputs.
type signal struct {
	*rules
	batches  *sync.Pool // of *batch
	source   source
	position int64     // samples in complete frames
	partial  []float32 // the samples of an incomplete frame
	ended    bool      // the signal has ended, and silence follows
}

// follower receives the frames of a signal. The level is NaN after the end of the signal. The
// outputs are valid during the call. position is the number of samples up to the end of the frame.
type follower interface {
	follow(level float64, outputs []float32, position int64)
}

// length returns the number of samples of the signal.
func (s *signal) length() int64 { return s.position + int64(len(s.partial)) }

// process passes the frames that x completes to the follower. If an output is not finite, it
// returns an *outputError and drops the rest of x.
func (s *signal) process(x []float32, to follower) error {
	b := s.batches.Get().(*batch)
	defer s.batches.Put(b)
	for len(x) > 0 {
		b.samples, b.levels = b.samples[:0], b.levels[:0]
		for len(x) > 0 && len(b.levels) < batchFrames {
			n := min(len(x), s.frame-len(s.partial))
			for _, v := range x[:n] {
				if !isAudio(v) || v > -inaudible && v < inaudible { // the square may be a denormal number, which is slow
					v = 0
				}
				s.partial = append(s.partial, v)
			}
			if x = x[n:]; len(s.partial) == s.frame {
				b.levels, b.samples = append(b.levels, levelOf(s.partial)), append(b.samples, s.partial...)
				s.partial = s.partial[:0]
			}
		}
		if len(b.levels) > 0 {
			s.source.process(b)
			if err := s.pass(b, to); err != nil {
				s.partial = s.partial[:0]
				return err
			}
		}
	}
	return nil
}

// pass passes the frames of a batch to the follower.
func (s *signal) pass(b *batch, to follower) error {
	labels := len(s.labels)
	for k, level := range b.levels {
		s.position += int64(s.frame)
		outputs := b.outputs[k*labels:][:labels]
		for i, v := range outputs {
			if v-v != 0 {
				return &outputError{s.position, s.labels[i], v}
			}
		}
		if s.ended {
			level = math.NaN()
		}
		to.follow(level, outputs, s.position)
	}
	return nil
}

// flushSeconds is the duration of the silence that flush processes, because labels end after their
// words.
const flushSeconds = 0.3

// flush processes silence after the end of the signal, whose length it returns.
func (s *signal) flush(to follower) (end int64, err error) {
	end = s.length()
	if s.position == 0 {
		return end, nil
	}
	var silence [512]float32
	s.ended = true
	for n := int(flushSeconds*s.sampleRate) + s.frame; n > 0 && err == nil; n -= len(silence) {
		err = s.process(silence[:min(n, len(silence))], to)
	}
	return end, err
}

func (s *signal) reset() {
	s.position, s.partial, s.ended = 0, s.partial[:0], false
	s.source.reset()
}

// levelOf returns a frame's level around its mean, in decibels relative to full scale.
func levelOf(x []float32) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(x))
	return 10 * math.Log10(max(squares/n-sum/n*(sum/n), 1e-12))
}

// outputError is the error of a network's output that is NaN or infinite.
type outputError struct {
	position int64 // samples up to the end of its frame
	label    string
	value    float32
}

func (e *outputError) Error() string {
	return fmt.Sprintf("events: after sample %d: the model's output for label %q is %v, expected a finite number", e.position, e.label, e.value)
}
