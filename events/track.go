package events

import (
	"fmt"
	"math"
	"sync"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

const (
	batchFrames  = 64  // frames that the network processes in one call
	flushSeconds = 0.3 // silence that Flush processes, because labels end after their words
)

// framewise is the part that all Detectors of a model that labels every frame share.
type framewise struct {
	bank *filterbank.Bank

	mu   sync.Mutex
	idle []*batch // one for each call that has run at the same time
}

// batch is the working memory of a call.
type batch struct {
	levels []float64 // of the frames
	bands  []float32 // [frames][bands]
	input  []float32 // [bands][frames]
}

func (f *framewise) acquire() *batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := len(f.idle) - 1; last >= 0 {
		b := f.idle[last]
		f.idle = f.idle[:last]
		return b
	}
	n := batchFrames * f.bank.Config().Bands
	return &batch{levels: make([]float64, 0, batchFrames), bands: make([]float32, 0, n), input: make([]float32, n)}
}

func (f *framewise) release(b *batch) {
	f.mu.Lock()
	f.idle = append(f.idle, b)
	f.mu.Unlock()
}

// follower receives the frames of a track. The level is NaN after the end of the signal. The logits
// are valid during the call. position is the number of samples up to the end of the frame.
type follower interface {
	follow(level float64, logits []float32, position int64)
}

// track is the state of one stream of a model that labels every frame.
type track struct {
	*Recognizer
	bank   *filterbank.Stream
	stream *recurrent.Stream
	logits []float32 // of a frame
	ended  bool      // the signal has ended, and silence follows
}

func newTrack(r *Recognizer) *track {
	return &track{Recognizer: r, bank: r.framewise.bank.NewStream(), stream: r.net.NewStream(), logits: make([]float32, len(r.labels))}
}

// process passes the frames that x completes to the follower. If an output is not finite, it drops
// the rest of x.
func (t *track) process(in *input, x []float32, to follower) error {
	b := t.framewise.acquire()
	defer t.framewise.release(b)
	for len(x) > 0 {
		b.levels, b.bands = b.levels[:0], b.bands[:0]
		start := in.position
		for len(x) > 0 && len(b.levels) < batchFrames {
			var frame []float32
			if frame, x = in.next(x); frame != nil {
				b.levels = append(b.levels, levelOf(frame))
				b.bands = t.bank.Process(b.bands, frame)
			}
		}
		if len(b.levels) == 0 {
			break
		}
		if err := t.label(b, in, start, to); err != nil {
			in.partial = in.partial[:0]
			return err
		}
	}
	return nil
}

// label runs the network on a batch whose first frame begins at start.
func (t *track) label(b *batch, in *input, start int64, to follower) error {
	n, bands := len(b.levels), t.framewise.bank.Config().Bands
	x := b.input[:n*bands]
	for i, v := range b.bands {
		x[i%bands*n+i/bands] = v
	}
	logits := t.stream.Process(x, n)
	for k, level := range b.levels {
		position := start + int64((k+1)*t.frame)
		for i := range t.logits {
			t.logits[i] = logits[i*n+k]
		}
		if err := t.checkLogits(t.logits, position); err != nil {
			in.position = position
			return err
		}
		if t.ended {
			level = math.NaN()
		}
		to.follow(level, t.logits, position)
	}
	return nil
}

// flush processes silence after the end of the signal, and begins a new signal. The positions of
// the silence are beyond the end of the signal.
func (t *track) flush(in *input, to follower) error {
	end := in.Position()
	var err error
	if t.stream.Position() > 0 {
		var silence [512]float32
		t.ended = true
		defer func() { t.ended = false }()
		for n := int(flushSeconds*t.sampleRate) + t.frame; n > 0 && err == nil; n -= len(silence) {
			err = t.process(in, silence[:min(n, len(silence))], to)
		}
	}
	in.position, in.partial = end, in.partial[:0]
	t.reset()
	return err
}

func (t *track) reset() {
	t.bank.Reset()
	t.stream.Reset()
}

// checkLogits returns an error for an output that is not finite.
func (r *Recognizer) checkLogits(logits []float32, position int64) error {
	for i, v := range logits {
		if v-v != 0 {
			return fmt.Errorf("events: after sample %d: the model's output for label %q is %v, expected a finite number", position, r.labels[i], v)
		}
	}
	return nil
}
