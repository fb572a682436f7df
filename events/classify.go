package events

import (
	"errors"
	"slices"
)

// Classify labels a whole clip with samples of full scale ±1. The model must label every frame.
// peaks has, for each label of the model, the largest averaged posterior over the clip and a short
// silence after it, without the offsets of the operating point. label is the index of the label
// with the largest peak, none excluded, if the peak reaches the threshold, and otherwise the index
// of none. The error is that of Detector.Process, or that the model has a mean pool.
func (r *Recognizer) Classify(x []float32) (label int, peaks []float32, err error) {
	if r.framewise == nil {
		return 0, nil, errors.New("events: classify: the model has a mean pool, expected one that labels every frame")
	}
	rules := r.rules
	rules.offsets = nil // they are chosen for false alarms in background, not to tell labels apart
	c := &clip{smoother: newSmoother(&rules), peaks: make([]float32, len(r.labels))}
	t, in := newTrack(r), newInput(r)
	if err := t.process(&in, x, c); err != nil {
		return 0, nil, err
	}
	if err := t.flush(&in, c); err != nil {
		return 0, nil, err
	}
	label = slices.Index(r.labels, None)
	highest := float32(0)
	for i, p := range c.peaks {
		if r.labels[i] != None && p > highest && float64(p) >= r.opt.Threshold {
			label, highest = i, p
		}
	}
	return label, c.peaks, nil
}

// clip follows the frames of a clip.
type clip struct {
	smoother smoother
	peaks    []float32
}

func (c *clip) follow(level float64, logits []float32, _ int64) {
	c.smoother.push(level, logits)
	for i, p := range c.smoother.posterior {
		c.peaks[i] = max(c.peaks[i], p)
	}
}
