package events

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

const (
	frameRate = 100 // frames per second, whose levels the gate reads
	preroll   = 10  // frames before the sound that the model processes too
)

// Recognizer is a model prepared with options. It is immutable and makes Detectors that share it.
type Recognizer struct {
	net          *recurrent.Network
	labels       []string
	opt          Options
	sampleRate   float64
	frame        int   // samples per frame
	hop          int   // frames per evaluation
	refractory   int64 // samples
	scale, shift float32
}

// New prepares a model of one audio channel with labels, a mean pool and a known sampling rate,
// which package recurrent must be able to stream.
func New(m *model.Model, opt Options) (*Recognizer, error) {
	c, meta := m.Config, &m.Meta
	if opt.SampleRate == 0 {
		opt.SampleRate = meta.SampleRate
	}
	switch {
	case c.Encoder != model.EncoderLinear || c.DInput != 1:
		return nil, fmt.Errorf("events: the network reads %s input with d_input %d, expected 1 channel of audio", c.Encoder, c.DInput)
	case len(meta.Labels) == 0:
		return nil, errors.New("events: the model has no labels")
	case c.Pool != model.PoolMean:
		return nil, fmt.Errorf("events: the network's pool is %q, expected %q", c.Pool, model.PoolMean)
	case meta.SampleRate < frameRate:
		return nil, fmt.Errorf("events: the model's sampling rate is %g Hz, expected at least %d", meta.SampleRate, frameRate)
	}
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	net, err := recurrent.New(m, recurrent.Options{
		StepScale: meta.SampleRate / opt.SampleRate,
		Window:    int(math.Ceil(opt.Window * opt.SampleRate)),
	})
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	r := &Recognizer{
		net: net, labels: meta.Labels, opt: opt, sampleRate: opt.SampleRate,
		frame:      int(math.Round(opt.SampleRate / frameRate)),
		hop:        max(1, int(math.Round(opt.Hop*frameRate))),
		refractory: int64(opt.Refractory * opt.SampleRate),
	}
	r.scale, r.shift = meta.Affine(0)
	return r, nil
}

// SampleRate returns the sampling rate of the audio in Hz.
func (r *Recognizer) SampleRate() float64 { return r.sampleRate }

// Frame returns the number of samples in a frame of the gate, a hundredth of a second. Chunks of
// one frame are as fast as larger ones.
func (r *Recognizer) Frame() int { return r.frame }

// Recognize returns all events of a recording with samples of full scale ±1. The error is that of
// Detector.Process.
func (r *Recognizer) Recognize(x []float32) ([]Event, error) {
	d := r.NewDetector()
	list, err := d.Process(x)
	all := slices.Clone(list)
	if err == nil {
		list, err = d.Flush()
		all = append(all, list...)
	}
	return all, err
}

// pastLen is the number of samples that a Detector keeps from before the frame at which its gate
// opens.
func (r *Recognizer) pastLen() int { return (preroll + openFrames - 1) * r.frame }

// StateBytes returns what a Detector takes in memory, without the events that the last call
// returned. The working memory of a call is shared by the Recognizer's Detectors.
func (r *Recognizer) StateBytes() int {
	return int(unsafe.Sizeof(Detector{})) + 4*(len(r.labels)+r.frame+r.pastLen()) + r.net.StreamBytes()
}
