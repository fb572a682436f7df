package calibration

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/activity"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
)

// ClassifyOptions are the options of Classify.
type ClassifyOptions struct {
	Events     events.Options // for the model; only Smoothing has an effect
	SNR        float64        // dB: power of the clip's word over that of white noise; +Inf: no noise
	Seed       uint64         // of the noise
	SkipBroken bool           // leave out files that cannot be read, which are otherwise an error
	Workers    int            // 0: one per processor
}

// Classified is a clip with its most probable label.
type Classified struct {
	Clip
	Best string  // label with the highest averaged posterior in the clip, none excluded
	Peak float64 // that posterior
	err  error
}

// Seconds of noise before and after a clip.
const (
	before = 0.3
	after  = 0.5
)

// Classify classifies clips one by one with a model that labels every frame
// (events.Recognizer.Classify). There is noise or silence before and after each clip. skipped has
// the errors of the files that were left out.
func Classify(ctx context.Context, m *model.Model, clips []Clip, opt ClassifyOptions) (list []Classified, skipped []error, err error) {
	words := DefaultWords(m.Meta.SampleRate)
	words.SNR, words.Workers = opt.SNR, opt.Workers
	if err := words.validate(); err != nil {
		return nil, nil, err
	}
	r, err := events.New(m, opt.Events)
	if err != nil {
		return nil, nil, err
	}
	all := make([]Classified, len(clips))
	pool := par.New(min(par.Workers(opt.Workers), max(len(clips), 1)))
	defer pool.Close()
	pool.For(len(clips), func(_, i int) {
		all[i].Clip = clips[i]
		if ctx.Err() == nil {
			all[i].err = all[i].classify(r, m.Meta.Labels, i, opt)
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	for _, c := range all {
		switch {
		case c.err == nil:
			list = append(list, c)
		case !opt.SkipBroken:
			return nil, nil, fmt.Errorf("calibration: %w", c.err)
		default:
			skipped = append(skipped, c.err)
		}
	}
	return list, skipped, nil
}

func (c *Classified) classify(r *events.Recognizer, labels []string, i int, opt ClassifyOptions) error {
	clip, err := readClip(c.Path, r.SampleRate())
	if err != nil {
		return err
	}
	from := int(before * r.SampleRate())
	x := make([]float32, from+len(clip)+int(after*r.SampleRate()))
	copy(x[from:], clip)
	if level := activity.Word(clip, r.SampleRate()).Level * math.Pow(10, -opt.SNR/20); level > 0 {
		white := random.New(opt.Seed, random.Noise, 5, i)
		for k := range x {
			x[k] += float32(level * white.Normal(uint64(k)))
		}
	}
	_, peaks, err := r.Classify(x)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	for k, label := range labels {
		if p := float64(peaks[k]); label != events.None && p > c.Peak {
			c.Best, c.Peak = label, p
		}
	}
	return nil
}

// Accuracy returns the number of clips that are correct at a threshold. A clip of a word is correct
// if Best is its label and Peak reaches the threshold. A clip with the label none is correct if
// Peak does not reach it.
func Accuracy(list []Classified, threshold float64) (correct int) {
	for _, c := range list {
		best := events.None
		if c.Peak >= threshold {
			best = c.Best
		}
		if best == c.Label {
			correct++
		}
	}
	return correct
}

// BestThreshold returns the threshold at which the most clips are correct, and the number of these
// clips. Of equally good thresholds, it returns the peak that is first in the list.
func BestThreshold(list []Classified) (threshold float64, correct int) {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b Classified) int { return cmp.Compare(b.Peak, a.Peak) })
	highest := 0.0
	if len(sorted) > 0 {
		highest = max(0, sorted[0].Peak)
	}
	above := math.Nextafter(highest, 2)
	n := Accuracy(list, above)      // above all peaks, every clip is none
	at := map[float64]int{above: n} // accuracies
	for _, c := range sorted {
		if c.Label == events.None {
			n--
		}
		if c.Label == c.Best {
			n++
		}
		at[c.Peak] = n
	}
	for _, c := range list {
		if n := at[c.Peak]; n > correct {
			threshold, correct = c.Peak, n
		}
	}
	if at[above] > correct {
		threshold, correct = above, at[above]
	}
	return threshold, correct
}
