package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// clipOptions are the [data] table of tasks on recordings. 0 is the default.
type clipOptions struct {
	MaxLen   int `toml:"max_len"`  // longer clips are truncated to this many recorded samples
	Decimate int `toml:"decimate"` // keep every n-th sample, without a filter
	Rate     int `toml:"rate"`     // convert recordings to this rate in Hz, with a filter
}

func (o clipOptions) check() error {
	if o.MaxLen < 0 || o.MaxLen > math.MaxInt32 || o.Decimate < 0 || o.Decimate > math.MaxInt32 {
		return fmt.Errorf("data.max_len %d, data.decimate %d: expected 0 to %d", o.MaxLen, o.Decimate, math.MaxInt32)
	}
	if o.Rate < 0 || o.Rate > 0 && o.Decimate > 1 {
		return fmt.Errorf("data.rate %d, data.decimate %d: expected one of them, and a rate in Hz", o.Rate, o.Decimate)
	}
	return nil
}

// atRate sets the conversion of recordings at rate Hz to hz. If rate is a multiple of hz, it leaves
// out samples, as the official code does: x[::2] turns 16 kHz into 8 kHz, and a network
// trained at 16 kHz reads that with step scale 2 (docs/maths.md §1.6). Otherwise the recordings are
// resampled.
func (o *clipOptions) atRate(rate, hz float64) error {
	if n := math.Round(rate / hz); n >= 1 && math.Abs(n*hz-rate) <= 1e-6*rate {
		o.Decimate, o.Rate = int(n), 0
		return nil
	}
	if hz != math.Trunc(hz) {
		return fmt.Errorf("rate %g Hz: expected a whole number, or %g Hz divided by one", hz, rate)
	}
	o.Decimate, o.Rate = 0, int(hz)
	_, err := audio.NewResampler(int(rate), o.Rate)
	return err
}

// entry is a recording to load.
type entry struct {
	path  string
	label int
	split split
}

// clipFormat is the format of a task's recordings and how they become clips.
type clipFormat struct {
	rate     int  // Hz, of the files
	maxLen   int  // of training clips, and of all clips with pad; in recorded samples
	pad      bool // pad clips with zeros to maxLen
	decimate int
	to       int // Hz, after conversion; 0: not converted
}

// with returns the format with the options applied.
func (r clipFormat) with(o clipOptions) clipFormat {
	r.maxLen, r.decimate = cmp.Or(o.MaxLen, r.maxLen), cmp.Or(o.Decimate, 1)
	r.to = o.Rate
	return r
}

// length returns the length of a clip of n recorded samples.
func (r clipFormat) length(n int) int {
	if r.to != 0 {
		return int((int64(n)*int64(r.to) + int64(r.rate) - 1) / int64(r.rate))
	}
	return (n + r.decimate - 1) / r.decimate
}

// sampleRate returns the sampling rate of the clips in Hz.
func (r clipFormat) sampleRate() float64 {
	return cmp.Or(float64(r.to), float64(r.rate)/float64(r.decimate))
}

// load decodes, truncates and converts one recording.
func (r clipFormat) load(e entry) (recordings.Clip, error) {
	if _, err := datafile.Stat(e.path); err != nil {
		return recordings.Clip{}, err
	}
	x, f, err := audio.ReadFile(e.path)
	switch {
	case err != nil:
		return recordings.Clip{}, err
	case f.SampleRate != r.rate:
		return recordings.Clip{}, fmt.Errorf("%s: sampling rate %d Hz, expected %d Hz", e.path, f.SampleRate, r.rate)
	case f.Channels != 1:
		return recordings.Clip{}, fmt.Errorf("%s: %d channels, expected 1", e.path, f.Channels)
	case len(x) == 0:
		return recordings.Clip{}, fmt.Errorf("%s has no samples", e.path)
	}
	if r.pad || e.split == trainSplit { // other clips are evaluated whole, as in a stream
		x = x[:min(len(x), r.maxLen)]
	}
	if r.to != 0 {
		rs, err := audio.NewResampler(r.rate, r.to)
		if err != nil {
			return recordings.Clip{}, err
		}
		return recordings.NewClip(e.path, e.label, rs.Flush(rs.Process(nil, x))), nil
	}
	n := 0
	for i := 0; i < len(x); i += r.decimate {
		x[n] = x[i]
		n++
	}
	return recordings.NewClip(e.path, e.label, x[:n]), nil
}

// clipSet is a set of clips.
type clipSet struct {
	clips []recordings.Clip
	pad   int // length of every example; 0: that of the clip
}

func (s *clipSet) Len() int { return len(s.clips) }

func (s *clipSet) Length(i int) int { return max(s.clips[i].Len(), s.pad) }

func (s *clipSet) Example(dst *dataset.Example, i, _ int) error {
	c := &s.clips[i]
	n := s.Length(i)
	*dst = dataset.Example{X: dataset.Resize(dst.X, n), Tokens: dst.Tokens[:0], Len: n, Label: c.Label, Target: dst.Target[:0], Path: c.Path}
	c.Samples(dst.X)
	clear(dst.X[c.Len():])
	return nil
}

func (s *clipSet) Identity(i int) dataset.Identity {
	return dataset.Identity{Label: s.clips[i].Label, Path: s.clips[i].Path}
}

// decode decodes the recordings of the requested splits.
func (r clipFormat) decode(ctx context.Context, src Source, entries []entry) (map[split][]recordings.Clip, error) {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !src.includes(e.split) })
	clips := map[split][]recordings.Clip{}
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := r.load(e)
		if err != nil {
			return nil, err
		}
		clips[e.split] = append(clips[e.split], c)
		src.progress(i+1, len(entries))
	}
	return clips, nil
}

// loadAll returns a data set of one channel and one label per example.
func (r clipFormat) loadAll(ctx context.Context, src Source, info dataset.Info, entries []entry) (*dataset.Dataset, error) {
	clips, err := r.decode(ctx, src, entries)
	if err != nil {
		return nil, err
	}
	for _, list := range clips {
		for _, c := range list {
			info.MaxLen = max(info.MaxLen, c.Len())
		}
	}
	if r.pad {
		info.MaxLen = r.length(r.maxLen)
	}
	info.Channels = 1
	info.Outputs = len(info.Labels)
	info.SampleRate = r.sampleRate()
	d := &dataset.Dataset{Info: info}
	for part, dst := range splits(d) {
		set := &clipSet{clips: clips[part]}
		if r.pad {
			set.pad = info.MaxLen
		}
		if len(set.clips) > 0 {
			*dst = set
		}
		if part == trainSplit && *dst != nil {
			mean, std := set.moments()
			d.Mean, d.Std = []float32{mean}, []float32{std}
		}
	}
	return d, nil
}

// moments returns the mean and the standard deviation of all samples, without padding.
func (s *clipSet) moments() (mean, std float32) {
	var x []float32
	var m dataset.Moments
	for i := range s.clips {
		c := &s.clips[i]
		x = c.Samples(x)
		m.Add(x)
	}
	return m.MeanStd()
}
