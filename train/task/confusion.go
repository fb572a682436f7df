package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// Confusion is a confusion matrix of the validation clips, with the mistakes.
type Confusion struct {
	Labels   []string
	Counts   [][]int   // [label of the clip][label found]
	Mistakes []Mistake // clips with a wrong label, the worst first
}

// Mistake is a clip that was given a wrong label.
type Mistake struct {
	Path         string
	Label, Found string
	Peaks        []float32 // largest averaged posterior of every label
	margin       float32   // by which the evidence for Found exceeds that for Label
}

// Right returns the number of clips with a correct label, and the number of all clips, of the
// labels first to end−1.
func (c *Confusion) Right(first, end int) (right, total int) {
	for i, row := range c.Counts[first:end] {
		right += row[first+i]
		for _, n := range row {
			total += n
		}
	}
	return right, total
}

// Confusion classifies the validation clips of a task that trains word detectors. The correct label
// of clips of other words is "none". For other tasks, and for data without validation clips, it
// returns nil. workers is the number of goroutines; 0: one per processor. If the model cannot
// classify a clip, the error is a train.ErrData.
func (t *Task) Confusion(ctx context.Context, m *model.Model, d *dataset.Dataset, workers int) (*Confusion, error) {
	if !t.detector {
		return nil, nil
	}
	set, ok := d.Val.(*recordings.StreamSet)
	if !ok {
		return nil, nil
	}
	c, err := clipConfusion(ctx, m, set.Sounds(), workers)
	if err != nil {
		return nil, fmt.Errorf("task %q: validation clips: %w", t.name, err)
	}
	return c, nil
}

// maxOtherSeconds is the largest length of recordings of other words that count as clips. Longer
// ones are continuous speech, in which a detector can make several mistakes.
const maxOtherSeconds = 3

// clipConfusion returns the Confusion of recordings. events.Recognizer.Classify finds the labels.
func clipConfusion(ctx context.Context, m *model.Model, sounds recordings.Sounds, workers int) (*Confusion, error) {
	opt := events.DefaultsFor(m)
	r, err := events.New(m, opt)
	if err != nil {
		return nil, err
	}
	none := slices.Index(m.Meta.Labels, events.None)
	clips := slices.Clone(sounds.Words)
	for _, c := range sounds.Other {
		if float64(c.Len()) <= maxOtherSeconds*sounds.SampleRate {
			c.Label = none
			clips = append(clips, c)
		}
	}
	out := &Confusion{Labels: m.Meta.Labels}
	for range out.Labels {
		out.Counts = append(out.Counts, make([]int, len(out.Labels)))
	}
	found, peaks, failed := make([]int, len(clips)), make([][]float32, len(clips)), make([]error, len(clips))
	pool := par.New(workers)
	defer pool.Close()
	pool.For(len(clips), func(_, i int) {
		if failed[i] = ctx.Err(); failed[i] == nil {
			found[i], peaks[i], failed[i] = r.Classify(clips[i].Samples(nil))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, c := range clips {
		if failed[i] != nil {
			return nil, train.DataError(fmt.Errorf("%s: %w", c.Path, failed[i]))
		}
		out.Counts[c.Label][found[i]]++
		if found[i] == c.Label {
			continue
		}
		evidence := slices.Clone(peaks[i])
		evidence[none] = float32(opt.Threshold)
		out.Mistakes = append(out.Mistakes, Mistake{
			Path: c.Path, Label: out.Labels[c.Label], Found: out.Labels[found[i]], Peaks: peaks[i], margin: evidence[found[i]] - evidence[c.Label],
		})
	}
	slices.SortStableFunc(out.Mistakes, func(a, b Mistake) int { return cmp.Compare(b.margin, a.margin) })
	return out, nil
}
