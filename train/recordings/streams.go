package recordings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/activity"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// NoneLabel is the label that MixStreams appends to those of the words: no word.
const NoneLabel = "none"

// momentStreams is the number of training streams from which Mean and Std are computed.
const momentStreams = 200

// MixStreams returns data for training a word detector: streams that are mixed from recordings,
// with one label per frame of the filter bank (docs/maths.md §14). Training streams differ in every
// pass and are functions of (opt.Seed, pass, example). Validation streams are mixed from the
// recordings of val in the same way, and fixed. A split without words is nil.
//
// Mean and Std of the bands are those of the first 200 training streams, from pass 0 on, without
// masks.
func MixStreams(train, val Sounds, opt StreamOptions) (*dataset.Dataset, error) {
	if len(train.Words) == 0 && len(val.Words) == 0 {
		return nil, errors.New("recordings: neither split has Words")
	}
	if len(train.Words) > 0 && len(val.Words) > 0 && !slices.Equal(train.Labels, val.Labels) {
		return nil, fmt.Errorf("recordings: val sounds: Labels %q, expected those of train, %q", val.Labels, train.Labels)
	}
	d := &dataset.Dataset{Info: opt.info(train.Labels)}
	if len(train.Words) > 0 {
		s, err := newStreamSet(&train, "train", opt, opt.Streams, random.Noise)
		if err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
		d.Train, d.Recordings = s, train.fingerprints()
		if d.Mean, d.Std, err = dataset.MeanStdOfSet(s, opt.Filterbank.Bands, momentStreams); err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
		s.means = d.Mean
	}
	if len(val.Words) > 0 {
		s, err := newStreamSet(&val, "val", opt, opt.ValStreams, random.Signal)
		if err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
		s.fixed, d.Val = true, s
		d.Info = opt.info(val.Labels)
	}
	return d, nil
}

// info describes the examples.
func (o *StreamOptions) info(labels []string) dataset.Info {
	fb := o.Filterbank
	return dataset.Info{
		Channels: fb.Bands, Outputs: len(labels) + 1, Labels: append(slices.Clone(labels), NoneLabel), PerPosition: true,
		SampleRate: fb.SampleRate, Filterbank: &fb, MaxLen: fb.Frames(o.samples()),
	}
}

// StreamSet is a set of streams that are mixed from recordings. It may be used concurrently.
type StreamSet struct {
	sounds                *Sounds
	opt                   StreamOptions
	bank                  *filterbank.Bank
	room                  *fftkernel.Conv
	byLabel               [][]int           // indices of Words, for each label that has clips
	words                 []activity.Region // of Words
	other                 []activity.Region // of Other
	otherOf, backgroundOf sources           // where they come from
	streams               int
	length                int // samples of a stream
	purpose               random.Purpose
	fixed                 bool      // the same streams in every pass
	means                 []float32 // of the bands, for masks; nil: there are no masks
	mixers                sync.Pool
}

// Word is a word in a stream.
type Word struct {
	Label      int // index into the labels
	Onset, End int // samples; the end is exclusive, and may be after that of the stream
	Embedded   bool
}

func newStreamSet(sounds *Sounds, split string, opt StreamOptions, streams int, purpose random.Purpose) (*StreamSet, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	rate := opt.Filterbank.SampleRate
	if sounds.SampleRate != rate {
		return nil, fmt.Errorf("%s sounds: SampleRate %v Hz, expected the filterbank's %v Hz", split, sounds.SampleRate, rate)
	}
	bank, err := filterbank.New(opt.Filterbank)
	if err != nil {
		return nil, err
	}
	s := &StreamSet{sounds: sounds, opt: opt, bank: bank, streams: cmp.Or(streams, (len(sounds.Words)+2)/3), length: opt.samples(), purpose: purpose}
	if opt.ReverbShare > 0 {
		s.room = fftkernel.NewConv(s.length, s.taps(opt.ReverbTime.High), false)
	}
	byLabel := make([][]int, len(sounds.Labels))
	var x []float32
	for i := range sounds.Words {
		c := &sounds.Words[i]
		byLabel[c.Label] = append(byLabel[c.Label], i)
		x = c.Samples(x)
		if opt.Whole {
			s.words = append(s.words, activity.Speech(x, rate))
		} else {
			s.words = append(s.words, activity.Word(x, rate))
		}
	}
	for label, clips := range byLabel {
		if len(clips) > 0 {
			s.byLabel = append(s.byLabel, clips)
		} else if split == "train" {
			return nil, fmt.Errorf("train sounds: Words has no clip of %q", sounds.Labels[label])
		}
	}
	for i := range sounds.Other {
		x = sounds.Other[i].Samples(x)
		s.other = append(s.other, activity.Speech(x, rate))
	}
	s.otherOf = newSources(sounds.Other, func(i int) int { return s.other[i].End - s.other[i].Onset })
	s.backgroundOf = newSources(sounds.Background, func(i int) int { return sounds.Background[i].Len() })
	s.mixers.New = func() any {
		m := &mixer{set: s, speech: make([]float32, s.length), background: make([]float32, s.length)}
		m.Rate = s.opt.Filterbank.SampleRate
		return m
	}
	return s, nil
}

// Duration returns the median time from the first to the last sound of the words, in seconds.
func (s *Sounds) Duration() float64 {
	var x []float32
	var all []float64
	for i := range s.Words {
		x = s.Words[i].Samples(x)
		r := activity.Speech(x, s.SampleRate)
		all = append(all, float64(r.End-r.Onset)/s.SampleRate)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// maxReverb is the longest impulse response of a room, in seconds.
const maxReverb = 0.5

// taps returns the length of the impulse response of a room.
func (s *StreamSet) taps(seconds float64) int {
	return max(1, int(min(seconds, maxReverb)*s.opt.Filterbank.SampleRate))
}

// Len returns the number of streams.
func (s *StreamSet) Len() int { return s.streams }

// Length returns the number of frames of every stream.
func (s *StreamSet) Length(int) int { return s.opt.Filterbank.Frames(s.length) }

// Sounds returns the recordings from which the streams are mixed. They must not be changed.
func (s *StreamSet) Sounds() Sounds { return *s.sounds }

// Options returns the options of the streams.
func (s *StreamSet) Options() StreamOptions { return s.opt }

// Audio returns the samples of stream i, in the memory of dst, and the words in it.
func (s *StreamSet) Audio(dst []float32, i, pass int) (samples []float32, words []Word) {
	m := s.mixers.Get().(*mixer)
	defer s.mixers.Put(m)
	m.mix(s.stream(i, pass))
	return append(dst[:0], m.speech...), slices.Clone(m.words)
}

// Example fills dst with the frames of stream i and with their labels.
func (s *StreamSet) Example(dst *dataset.Example, i, pass int) error {
	m := s.mixers.Get().(*mixer)
	defer s.mixers.Put(m)
	m.mix(s.stream(i, pass))
	n := s.Length(i)
	*dst = dataset.Example{X: s.bank.Frames(dst.X, m.speech), Tokens: dst.Tokens[:0], Len: n, Label: -1, Target: dst.Target[:0], Labels: dst.Labels}
	if s.means != nil {
		m.mask(dst.X, s.means, n)
	}
	dst.Labels = s.opt.labels(dst.Labels, n, m.words, len(s.sounds.Labels))
	return nil
}

func (s *StreamSet) stream(i, pass int) random.Stream {
	if s.fixed {
		pass = 0
	}
	return random.New(s.opt.Seed, s.purpose, pass, i)
}

// Identity identifies the set by stream 0: by the options, and the recordings that hold speech.
func (s *StreamSet) Identity(i int) dataset.Identity {
	if i > 0 {
		return dataset.Identity{}
	}
	all := []any{fmt.Appendf(nil, "%+v", s.opt)}
	for _, clips := range [][]Clip{s.sounds.Words, s.sounds.Other} {
		for i := range clips {
			all = append(all, int64(clips[i].Label), clips[i].Int16)
		}
	}
	for i := range s.sounds.Background {
		all = append(all, int64(s.sounds.Background[i].Len()))
	}
	return dataset.Identity{Samples: all}
}

// labels writes the label of each of n frames to dst, whose memory it reuses.
func (o *StreamOptions) labels(dst []int32, n int, words []Word, none int) []int32 {
	dst = slices.Grow(dst[:0], n)[:n]
	for k := range dst {
		dst[k] = int32(none)
	}
	rate := o.Filterbank.SampleRate
	// fill labels the frames that are complete at a time from lo to hi, in seconds.
	fill := func(lo, hi float64, label int32) {
		first := int(math.Ceil(lo*rate/float64(o.Filterbank.Hop)-1e-9)) - 1
		end := int(math.Floor(hi*rate/float64(o.Filterbank.Hop) + 1e-9))
		for k := max(0, first); k < min(n, end); k++ {
			dst[k] = label
		}
	}
	for _, w := range words {
		from, to := o.window(w)
		if w.Embedded {
			fill(from, to, -1)
		} else {
			fill(from, to, int32(w.Label))
		}
	}
	for _, w := range words {
		if from, to := o.window(w); !w.Embedded {
			fill(from-o.Unscored, from+o.Unscored, -1)
			fill(to-o.Unscored, to+o.Unscored, -1)
		}
	}
	return dst
}

// window returns the times between which frames have the label of a word.
func (o *StreamOptions) window(w Word) (from, to float64) {
	onset, end := float64(w.Onset)/o.Filterbank.SampleRate, float64(w.End)/o.Filterbank.SampleRate
	return onset + min(o.LabelFrom*(end-onset), o.LabelLatest), end + o.LabelHold
}
