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
	margin       float32   // Classified.Margin
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

// clipConfusion returns the Confusion of recordings.
func clipConfusion(ctx context.Context, m *model.Model, sounds recordings.Sounds, workers int) (*Confusion, error) {
	none := slices.Index(m.Meta.Labels, events.None)
	clips := slices.Clone(sounds.Words)
	for _, c := range sounds.Other {
		if float64(c.Len()) <= maxOtherSeconds*sounds.SampleRate {
			c.Label = none
			clips = append(clips, c)
		}
	}
	all, err := Classify(ctx, m, clips, workers)
	if err != nil {
		return nil, err
	}
	out := &Confusion{Labels: m.Meta.Labels}
	for range out.Labels {
		out.Counts = append(out.Counts, make([]int, len(out.Labels)))
	}
	for i, c := range clips {
		out.Counts[c.Label][all[i].Found]++
		if all[i].Found != c.Label {
			out.Mistakes = append(out.Mistakes, Mistake{
				Path: c.Path, Label: out.Labels[c.Label], Found: out.Labels[all[i].Found], Peaks: all[i].Peaks, margin: all[i].Margin,
			})
		}
	}
	slices.SortStableFunc(out.Mistakes, func(a, b Mistake) int { return cmp.Compare(a.margin, b.margin) })
	return out, nil
}

// Classified is what a word detector finds in a clip.
type Classified struct {
	Found  int       // label
	Peaks  []float32 // largest averaged posterior of every label
	Margin float32   // of the evidence for the right label over that for the others; that for "none" is the threshold
}

// Classify finds the labels of clips, each alone, by events.Recognizer.Classify. workers is the
// number of goroutines; 0: one per processor. If the model cannot classify a clip, the error is a
// train.ErrData.
func Classify(ctx context.Context, m *model.Model, clips []recordings.Clip, workers int) ([]Classified, error) {
	opt := events.DefaultsFor(m)
	r, err := events.New(m, opt)
	if err != nil {
		return nil, err
	}
	none := slices.Index(m.Meta.Labels, events.None)
	all := make([]Classified, len(clips))
	err = par.Each(ctx, workers, len(clips), func(_ context.Context, i int) error {
		c := &clips[i]
		found, peaks, err := r.Classify(c.Samples(nil))
		if err != nil {
			return train.DataError(fmt.Errorf("%s: %w", c.Path, err))
		}
		evidence := slices.Clone(peaks)
		evidence[none] = float32(min(opt.Threshold, events.ClipThreshold))
		right := evidence[c.Label]
		evidence[c.Label] = -1
		all[i] = Classified{found, peaks, right - slices.Max(evidence)}
		return nil
	})
	return all, err
}
