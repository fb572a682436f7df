package events

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

const (
	clipFrameRate = 100 // frames per second of a network that reads samples

	minFrameRate, maxFrameRate = 10, 1000 // of a filter bank
)

// Recognizer is a model prepared with options. It is immutable; its Streams share it.
type Recognizer struct {
	rules
	net     *recurrent.Network
	bank    *filterbank.Bank // nil: the network reads samples
	batches *sync.Pool       // of *batch, the working memory of calls
}

// New prepares a model with labels, one of them none, which package recurrent must be able
// to stream. The model reads the frames of a filter bank and labels every frame (pool none), or it
// reads one channel of audio and labels clips (pool mean). The offsets in the operating point
// (model.Detection) are added to the log-odds of the labels.
func New(m *model.Model, opt Options) (*Recognizer, error) {
	r, err := newRecognizer(m, opt)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return r, nil
}

func newRecognizer(m *model.Model, opt Options) (*Recognizer, error) {
	meta := &m.Meta
	base := rules{labels: meta.Labels, sampleRate: meta.SampleRate}
	if !slices.Contains(meta.Labels, None) || len(meta.Labels) < 2 {
		return nil, fmt.Errorf("labels %s: events require %q and others", suggest.List(meta.Labels), None)
	}
	if d := meta.Detection; d != nil && len(d.Offsets) > 0 {
		if len(d.Offsets) != len(meta.Labels) {
			return nil, fmt.Errorf("the operating point has %d offsets, expected one per label, %d", len(d.Offsets), len(meta.Labels))
		}
		base.offsets = slices.Clone(d.Offsets)
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	r := &Recognizer{batches: &sync.Pool{New: func() any { return &batch{} }}}
	options := recurrent.Options{Normalize: true}
	var err error
	if meta.Filterbank != nil {
		r.bank, err = newBank(m)
		base.frame = meta.Filterbank.Hop
	} else {
		err = checkSamples(m)
		base.frame, base.sourceLag = int(math.Round(meta.SampleRate/clipFrameRate)), clipSeconds/2.
		options.Window = int(math.Ceil(clipSeconds * meta.SampleRate))
	}
	if err != nil {
		return nil, err
	}
	if r.net, err = recurrent.New(m, options); err != nil {
		return nil, err
	}
	r.rules = base.with(opt)
	return r, nil
}

// newBank returns the filter bank of a model that labels its frames.
func newBank(m *model.Model) (*filterbank.Bank, error) {
	f := m.Meta.Filterbank
	rate := f.FrameRate()
	switch {
	case m.Config.Pool != model.PoolNone:
		return nil, fmt.Errorf("the network's pool is %q, expected %q for a network that reads the frames of a filter bank", m.Config.Pool, model.PoolNone)
	case m.Config.DInput != f.Bands:
		return nil, fmt.Errorf("the network reads %d channels, and its filter bank has %d bands", m.Config.DInput, f.Bands)
	case rate < minFrameRate || rate > maxFrameRate:
		return nil, fmt.Errorf("the filter bank has %g frames per second, expected %d … %d", rate, minFrameRate, maxFrameRate)
	}
	return filterbank.New(*f)
}

// checkSamples returns an error for a model without a filter bank that does not label clips of
// audio.
func checkSamples(m *model.Model) error {
	switch c := m.Config; {
	case c.Encoder != model.EncoderLinear || c.DInput != 1:
		return fmt.Errorf("the network reads %s input with d_input %d, expected 1 channel of audio", c.Encoder, c.DInput)
	case c.Pool != model.PoolMean:
		return fmt.Errorf("the network's pool is %q, expected %q", c.Pool, model.PoolMean)
	case m.Meta.SampleRate < clipFrameRate:
		return fmt.Errorf("the model's sampling rate is %g Hz, expected at least %d", m.Meta.SampleRate, clipFrameRate)
	}
	return nil
}

// newSignal returns the state of a new signal.
func (r *Recognizer) newSignal() signal {
	s := signal{rules: &r.rules, batches: r.batches, partial: make([]float32, 0, r.frame)}
	if r.bank != nil {
		s.source = &bands{r.bank.NewStream(), r.net.NewStream()}
	} else {
		s.source = &clip{r.net.NewStream()}
	}
	return s
}

// SampleRate returns the sampling rate of the model in Hz.
func (r *Recognizer) SampleRate() float64 { return r.sampleRate }

// Frame returns the number of samples, at the rate of the model, per frame: the hop of the filter
// bank, or a hundredth of a second.
func (r *Recognizer) Frame() int { return r.frame }

// Recognize returns all events in a recording with samples of full scale ±1 at the rate of the
// model. The error is that of Stream.Process. If there is one, Recognize returns the events before
// it.
func (r *Recognizer) Recognize(x []float32) ([]Event, error) {
	s, err := r.NewStream(0)
	if err != nil {
		return nil, err
	}
	list, err := s.Process(x)
	all := slices.Clone(list)
	if err == nil {
		list, err = s.Flush()
		all = append(all, list...)
	}
	return all, err
}

// Classify labels a whole clip with samples of full scale ±1 at the rate of the model, whose
// network must label every frame. peaks has, for each label of the model, the largest averaged
// posterior over the clip and a short silence after it, without the offsets of the operating point.
// label is the index of the label with the largest mean probability over all frames, none excluded,
// if its peak reaches the threshold, but at most ClipThreshold, and otherwise the index of none.
// The mean tells sounds that last apart better than the peak does, and words as well.
func (r *Recognizer) Classify(x []float32) (label int, peaks []float32, err error) {
	if r.bank == nil {
		return 0, nil, errors.New("events: classify: the model labels clips, expected one that labels the frames of a filter bank")
	}
	rules := r.rules
	rules.offsets = nil // they are chosen for false alarms in background, not to tell labels apart
	s, c := r.newSignal(), &peakFinder{newSmoother(&rules), make([]float32, len(r.labels)), make([]float64, len(r.labels))}
	if err := s.process(x, c); err != nil {
		return 0, nil, err
	}
	if _, err := s.flush(c); err != nil {
		return 0, nil, err
	}
	none := slices.Index(r.labels, None)
	c.sums[none] = -1
	label = slices.Index(c.sums, slices.Max(c.sums))
	if float64(c.peaks[label]) < min(r.opt.Threshold, ClipThreshold) {
		label = none
	}
	return label, c.peaks, nil
}

// ClipThreshold bounds the threshold for clips. That for streams may be higher, since it limits the
// false alarms of hours without words.
const ClipThreshold = 0.3

// peakFinder follows the frames of a clip and keeps the largest posteriors.
type peakFinder struct {
	smoother smoother
	peaks    []float32
	sums     []float64 // of the probabilities of all frames
}

func (c *peakFinder) follow(level float64, outputs []float32, _ int64) {
	c.smoother.push(level, outputs)
	total, top := 0.0, float64(slices.Max(outputs))
	for i, p := range c.smoother.posterior {
		c.peaks[i] = max(c.peaks[i], p)
		total += math.Exp(float64(outputs[i]) - top)
	}
	for i, v := range outputs {
		c.sums[i] += math.Exp(float64(v)-top) / total
	}
}

// StateBytes returns the memory of a Stream at the rate of the model in bytes, without the events
// that the last call returned. The Recognizer's Streams share the working memory of calls.
func (r *Recognizer) StateBytes() int {
	n := int(unsafe.Sizeof(Stream{})+unsafe.Sizeof(bands{})+unsafe.Sizeof(contour{})) + 4*r.frame + r.net.StreamBytes()
	if r.bank != nil {
		// A stream of a network with an output per frame has room for those of a batch.
		n += r.bank.StreamBytes() + 4*len(r.labels)*batchFrames
	}
	return n + 4*(len(r.labels)*(2+r.smoothing)+2*contourFrames(&r.rules)) // sum, posterior, log-odds, levels
}
