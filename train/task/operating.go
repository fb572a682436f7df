package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// SetOperatingPoint chooses the threshold of a word detector on streams that are mixed from the
// validation recordings, and stores it in the model: words in noise, and up to an hour of other
// speech and background. A detector of one word gets the setting with the fewest misses at one
// false alarm an hour, others a balance of both. If there are several words with fewer than
// fewWords recordings, or neither other speech nor background, the result is nil, and the model of
// sounds that last gets a longer smoothing and lower thresholds only.
func (t *Task) SetOperatingPoint(ctx context.Context, m *model.Model, d *dataset.Dataset, workers int) (*calibration.Point, error) {
	set, ok := d.Val.(*recordings.StreamSet)
	if !t.detector || !ok || d.NoValidation {
		return nil, nil
	}
	sounds, opt := set.Sounds(), set.Options()
	m.Meta.Detection = nil
	base := events.DefaultsFor(m)
	if opt.Whole {
		base.Smoothing, base.Threshold, base.OffThreshold = wholeSmoothing, wholeThreshold, wholeOff
		m.Meta.Detection = &model.Detection{Threshold: base.Threshold, OffThreshold: base.OffThreshold, Confirm: base.Confirm, Refractory: base.Refractory, Smoothing: base.Smoothing}
	}
	oneWord := len(sounds.Labels) == 1
	if len(sounds.Words) < fewWords && !oneWord || len(sounds.Other)+len(sounds.Background) == 0 {
		return nil, nil
	}
	opt.EmbeddedShare, opt.EmptyShare, opt.WordlessShare = 0, 0, 0
	words, err := mixedStreams(sounds, opt, set.Len())
	if err != nil {
		return nil, err
	}
	opt.EmptyShare, opt.WordlessShare = 0.2, 0.8
	if len(sounds.Other) == 0 {
		opt.EmptyShare = 1
	}
	seconds := 0.0 // of material
	for _, c := range slices.Concat(sounds.Other, sounds.Background) {
		seconds += float64(c.Len()) / sounds.SampleRate
	}
	quiet, err := mixedStreams(sounds, opt, int(min(1+quietRepeats*seconds/opt.Length, quietStreams)))
	if err != nil {
		return nil, err
	}
	measure := calibration.Defaults(base)
	measure.Workers = workers
	measured, err := calibration.Measure(ctx, m, append(words, quiet...), measure)
	if err != nil {
		return nil, err
	}
	best, ok := measured.Best(wakeAlarms)
	if !oneWord || !ok {
		best = measured.Balanced()
	}
	m.Meta.Detection = best.Detection()
	return &best, nil
}

const (
	fewWords       = 30  // recordings for validation that are too few to choose a threshold
	quietStreams   = 900 // of 4 s: an hour
	wholeSmoothing = 1   // seconds, of sounds that last
	wholeThreshold = 0.3 // of sounds that last: a pause in one does not end it
	wholeOff       = 0.1
	wakeAlarms     = 1  // false alarms an hour of a detector of one word
	quietRepeats   = 10 // times that other speech and background occur in them, at most
)

// mixedStreams returns streams mixed from recordings, one of the calibration for each.
func mixedStreams(sounds recordings.Sounds, opt recordings.StreamOptions, n int) (list []calibration.Stream, err error) {
	opt.ValStreams = n
	d, err := recordings.MixStreams(recordings.Sounds{}, sounds, opt)
	if err != nil {
		return nil, err
	}
	set := d.Val.(*recordings.StreamSet)
	for i := range n {
		x, words := set.Audio(nil, i, 0)
		s := calibration.Stream{Name: fmt.Sprintf("validation stream %d", i), Background: "validation", Open: func() (calibration.Audio, error) {
			x, _ := set.Audio(nil, i, 0)
			return &calibration.Memory{Rest: x}, nil
		}}
		for _, w := range words {
			if w.End <= len(x) {
				s.Words = append(s.Words, calibration.Word{Onset: int64(w.Onset), End: int64(w.End), Label: sounds.Labels[w.Label]})
			}
		}
		if (len(words) > 0) == (len(s.Words) > 0) {
			list = append(list, s)
		}
	}
	return list, nil
}
