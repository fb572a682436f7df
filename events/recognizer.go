package events

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

const (
	frameRate = 100 // frames of the gate per second
	preroll   = 10  // frames before the sound with which the model starts

	minFrameRate, maxFrameRate = 10, 1000 // of a filter bank
)

// Recognizer is a model prepared with options. It is immutable; its Detectors share it.
type Recognizer struct {
	rules
	net       *recurrent.Network
	framewise *framewise // nil: a model with a mean pool
}

// New prepares a model with distinct labels and a known sampling rate, which package recurrent
// must be able to stream. The model reads one audio channel and has a mean pool, or it reads the
// frames of a filter bank and labels every frame (pool none, and the label none among the labels).
// In the second case the offsets in the operating point (model.Detection) are added to the log-odds
// of the labels.
func New(m *model.Model, opt Options) (*Recognizer, error) {
	r, err := newRecognizer(m, opt)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return r, nil
}

func newRecognizer(m *model.Model, opt Options) (*Recognizer, error) {
	c, meta := m.Config, &m.Meta
	if opt.SampleRate == 0 {
		opt.SampleRate = meta.SampleRate
	}
	if len(meta.Labels) == 0 {
		return nil, errors.New("the model has no labels")
	}
	if meta.Filterbank != nil {
		return newFramewise(m, opt)
	}
	switch {
	case c.Encoder != model.EncoderLinear || c.DInput != 1:
		return nil, fmt.Errorf("the network reads %s input with d_input %d, expected 1 channel of audio", c.Encoder, c.DInput)
	case c.Pool != model.PoolMean:
		return nil, fmt.Errorf("the network's pool is %q, expected %q", c.Pool, model.PoolMean)
	case meta.SampleRate < frameRate:
		return nil, fmt.Errorf("the model's sampling rate is %g Hz, expected at least %d", meta.SampleRate, frameRate)
	case opt.Smoothing != 0:
		return nil, fmt.Errorf("smoothing %v: expected 0 for a model with a mean pool", opt.Smoothing)
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	net, err := recurrent.New(m, recurrent.Options{
		StepScale: meta.SampleRate / opt.SampleRate,
		Window:    int(math.Ceil(opt.Window * opt.SampleRate)),
		Normalize: true,
	})
	if err != nil {
		return nil, err
	}
	frame := int(math.Round(opt.SampleRate / frameRate))
	return &Recognizer{rules: newRules(meta.Labels, opt, frame), net: net}, nil
}

// newFramewise prepares a model that labels every frame of its filter bank.
func newFramewise(m *model.Model, opt Options) (*Recognizer, error) {
	meta := &m.Meta
	rate := meta.Filterbank.FrameRate()
	switch {
	case m.Config.Pool != model.PoolNone:
		return nil, fmt.Errorf("the network's pool is %q, expected %q for a network that reads the frames of a filter bank", m.Config.Pool, model.PoolNone)
	case !slices.Contains(meta.Labels, None) || len(meta.Labels) < 2:
		return nil, fmt.Errorf("labels %s: a model that labels every frame requires %q and others", suggest.List(meta.Labels), None)
	case m.Config.DInput != meta.Filterbank.Bands:
		return nil, fmt.Errorf("the network reads %d channels, and its filter bank has %d bands", m.Config.DInput, meta.Filterbank.Bands)
	case opt.SampleRate != meta.Filterbank.SampleRate:
		return nil, fmt.Errorf("sampling rate %v Hz, expected %v Hz: a filter bank has a fixed rate; resample the audio",
			opt.SampleRate, meta.Filterbank.SampleRate)
	case opt.Smoothing == 0:
		return nil, errors.New("smoothing 0: expected a time above 0 for a model that labels every frame; start from DefaultsFor")
	case rate < minFrameRate || rate > maxFrameRate:
		return nil, fmt.Errorf("the filter bank has %g frames per second, expected %d … %d", rate, minFrameRate, maxFrameRate)
	}
	var offsets []float64
	if d := meta.Detection; d != nil && len(d.Offsets) > 0 {
		if len(d.Offsets) != len(meta.Labels) {
			return nil, fmt.Errorf("the operating point has %d offsets, expected one per label, %d", len(d.Offsets), len(meta.Labels))
		}
		offsets = slices.Clone(d.Offsets)
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	bank, err := filterbank.New(*meta.Filterbank)
	if err != nil {
		return nil, err
	}
	net, err := recurrent.New(m, recurrent.Options{Normalize: true})
	if err != nil {
		return nil, err
	}
	r := &Recognizer{rules: newRules(meta.Labels, opt, meta.Filterbank.Hop), net: net, framewise: &framewise{bank: bank}}
	r.offsets = offsets
	return r, nil
}

// SampleRate returns the sampling rate of the audio in Hz.
func (r *Recognizer) SampleRate() float64 { return r.sampleRate }

// Frame returns the number of samples in a frame: a hundredth of a second with a gate, and
// otherwise the hop of the filter bank. With a gate, blocks of one frame are processed as fast as
// larger ones.
func (r *Recognizer) Frame() int { return r.frame }

// Recognize returns all events in a recording with samples of full scale ±1. The error is that of
// Detector.Process. If there is one, Recognize returns the events before it.
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
func (r *Recognizer) pastLen() int {
	if r.framewise != nil {
		return 0
	}
	return (preroll + openFrames - 1) * r.frame
}

// StateBytes returns the memory of a Detector in bytes, without the events that the last call
// returned. The Recognizer's Detectors share the working memory of calls.
func (r *Recognizer) StateBytes() int {
	n := int(unsafe.Sizeof(Detector{})) + 4*(r.frame+r.pastLen()) + r.net.StreamBytes()
	if r.framewise == nil {
		return n + 4*len(r.labels)
	}
	// Of each label: a frame's output, the sum and the posterior, the frames that are averaged, and
	// the outputs of a batch, of which StreamBytes counts one.
	labels, levels := len(r.labels)*(2+r.smoothing+batchFrames), 2*contourFrames(&r.rules)
	return n + int(unsafe.Sizeof(track{})+unsafe.Sizeof(contour{})) + 4*(labels+levels) + r.framewise.bank.StreamBytes()
}
