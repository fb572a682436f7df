package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
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

// clipFormat is how a task's recordings become clips.
type clipFormat struct {
	rate    int  // Hz, of the files as published; others are converted
	maxLen  int  // of training clips, and of all clips with pad; in recorded samples
	pad     bool // pad clips with zeros to maxLen
	options clipOptions
}

// longest returns the length of truncated clips.
func (f clipFormat) longest() int {
	n := cmp.Or(f.options.MaxLen, f.maxLen)
	if to := int64(f.options.Rate); to != 0 {
		return int((int64(n)*to + int64(f.rate) - 1) / int64(f.rate))
	}
	return (n-1)/max(f.options.Decimate, 1) + 1
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

// decode decodes, converts and truncates the recordings of the requested splits. It returns notes
// on how they were read.
func (f clipFormat) decode(ctx context.Context, src Source, files []recordings.File) (clips map[split][]recordings.Clip, notes []string, err error) {
	files = slices.DeleteFunc(files, func(f recordings.File) bool { return !src.includes(split(f.Split)) })
	opt := recordings.Options{SampleRate: cmp.Or(f.options.Rate, f.rate), MaxBytes: math.MaxInt64, Workers: src.Workers, Progress: src.Progress}
	opt.Audio.Note = func(text string) { notes = append(notes, text) }
	all, err := recordings.Read(ctx, files, opt)
	if err != nil {
		return nil, nil, err
	}
	clips = map[split][]recordings.Clip{}
	for i, c := range all {
		part, n := split(files[i].Split), 0
		for k := 0; k < c.Len(); k += max(f.options.Decimate, 1) {
			c.Int16[n] = c.Int16[k]
			n++
		}
		if f.pad || part == trainSplit { // others are whole, as in a stream
			n = min(n, f.longest())
		}
		c.Int16 = slices.Clone(c.Int16[:n]) // without the memory of the rest
		clips[part] = append(clips[part], c)
	}
	return clips, notes, nil
}

// load returns a data set of one channel and one label per example.
func (f clipFormat) load(ctx context.Context, src Source, labels []string, files []recordings.File) (*dataset.Dataset, error) {
	clips, notes, err := f.decode(ctx, src, files)
	if err != nil {
		return nil, err
	}
	d := &dataset.Dataset{Info: dataset.Info{Channels: 1, Labels: labels, Outputs: len(labels)}, Notes: few(notes, moreNotes)}
	d.SampleRate = cmp.Or(float64(f.options.Rate), float64(f.rate)/float64(max(f.options.Decimate, 1)))
	for part, dst := range splits(d) {
		set := &clipSet{clips: clips[part]}
		if f.pad {
			set.pad = f.longest()
		}
		if len(set.clips) == 0 {
			continue
		}
		*dst = set
		d.MaxLen = max(d.MaxLen, slices.Max(dataset.Lengths(set)))
		if part == trainSplit {
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
