package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
)

// split is the training, validation or test part of a data set.
type split int

const (
	train split = iota
	val
	test
)

func (s split) String() string { return [...]string{"train", "val", "test"}[s] }

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
	options  Options
}

// clipFormat returns the format r with the options applied.
func (o Options) clipFormat(r clipFormat) (clipFormat, error) {
	r.maxLen = cmp.Or(o.MaxLen, r.maxLen)
	r.decimate = cmp.Or(o.Decimate, 1)
	r.options = o
	if r.maxLen < 1 || r.decimate < 1 {
		return r, fmt.Errorf("max_len %d, decimate %d: expected at least 1", r.maxLen, r.decimate)
	}
	return r, o.rejectDelayOptions()
}

// clip is a recording in memory, as 16-bit integers if they are exact, otherwise as floats.
type clip struct {
	path   string
	label  int
	int16s []int16 // samples·2¹⁵
	floats []float32
}

func (c *clip) len() int { return len(c.int16s) + len(c.floats) }

// samples writes the samples to dst, whose length is that of the clip.
func (c *clip) samples(dst []float32) {
	for i, v := range c.int16s {
		dst[i] = float32(v) / (1 << 15)
	}
	copy(dst, c.floats)
}

// load decodes, truncates and decimates one recording.
func (r clipFormat) load(e entry) (clip, error) {
	if _, err := statFile(e.path); err != nil {
		return clip{}, err
	}
	x, f, err := audio.ReadWAVFile(e.path)
	switch {
	case err != nil:
		return clip{}, err
	case f.SampleRate != r.rate:
		return clip{}, fmt.Errorf("%s: sampling rate %d Hz, expected %d Hz", e.path, f.SampleRate, r.rate)
	case f.Channels != 1:
		return clip{}, fmt.Errorf("%s: %d channels, expected 1", e.path, f.Channels)
	case len(x) == 0:
		return clip{}, fmt.Errorf("%s has no samples", e.path)
	}
	if r.pad || e.split == train { // other clips are evaluated whole, as in a stream
		x = x[:min(len(x), r.maxLen)]
	}
	n := 0
	for i := 0; i < len(x); i += r.decimate {
		x[n] = x[i]
		n++
	}
	c := clip{path: e.path, label: e.label}
	if c.int16s = toInt16(x[:n]); c.int16s == nil {
		c.floats = slices.Clone(x[:n])
	}
	return c, nil
}

// toInt16 returns x·2¹⁵ as integers, or nil if one is not a 16-bit integer.
func toInt16(x []float32) []int16 {
	short := make([]int16, len(x))
	for i, v := range x {
		s := v * (1 << 15)
		if s < math.MinInt16 || s > math.MaxInt16 || s != float32(int16(s)) {
			return nil
		}
		short[i] = int16(s)
	}
	return short
}

// clipSet is a set of clips.
type clipSet struct {
	clips []clip
	pad   int // length of every example; 0: that of the clip
}

func (s *clipSet) Len() int { return len(s.clips) }

func (s *clipSet) Length(i int) int { return max(s.clips[i].len(), s.pad) }

func (s *clipSet) Example(dst *Example, i, _ int) error {
	if i < 0 || i >= len(s.clips) {
		return outOfRange(i, len(s.clips))
	}
	c := &s.clips[i]
	n := s.Length(i)
	*dst = Example{X: resize(dst.X, n), Tokens: dst.Tokens[:0], Len: n, Label: c.label, Target: dst.Target[:0], Path: c.path}
	c.samples(dst.X)
	clear(dst.X[c.len():])
	return nil
}

// loadAll decodes the recordings of the requested splits and returns a data set of one channel and
// one label per example.
func (r clipFormat) loadAll(info Info, entries []entry) (*Dataset, error) {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !r.options.includes(e.split) })
	var sets [3]clipSet
	for i, e := range entries {
		if err := r.options.Context.Err(); err != nil {
			return nil, err
		}
		c, err := r.load(e)
		if err != nil {
			return nil, err
		}
		sets[e.split].clips = append(sets[e.split].clips, c)
		info.MaxLen = max(info.MaxLen, c.len())
		if r.options.Progress != nil {
			r.options.Progress(i+1, len(entries))
		}
	}
	if r.pad {
		info.MaxLen = (r.maxLen + r.decimate - 1) / r.decimate
	}
	info.Channels = 1
	info.Outputs = len(info.Labels)
	info.SampleRate = float64(r.rate) / float64(r.decimate)
	d := &Dataset{Info: info}
	for i, dst := range []*Set{&d.Train, &d.Val, &d.Test} {
		if r.pad {
			sets[i].pad = info.MaxLen
		}
		if len(sets[i].clips) > 0 {
			*dst = &sets[i]
		}
	}
	if d.Train != nil {
		mean, std := sets[train].moments()
		d.Mean, d.Std = []float32{mean}, []float32{std}
	}
	return d, nil
}

// moments returns the mean and the standard deviation of all samples, without padding.
func (s *clipSet) moments() (mean, std float32) {
	var x []float32
	var m moments
	for i := range s.clips {
		c := &s.clips[i]
		x = resize(x, c.len())
		c.samples(x)
		m.add(x)
	}
	return m.meanStd()
}
