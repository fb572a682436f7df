package task

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// With 30 words and other speech for validation, a trained detector gets a threshold that other
// speech does not reach. With fewer words, or nothing else, it keeps its own. A detector of one
// word rather misses it than reports the same sound in other speech.
func TestSetOperatingPoint(t *testing.T) {
	clip := func(sound string) recordings.Clip {
		s := &tonemodel.Sound{}
		s.Silence(0.2)
		s.Tone(sound, 0.5)
		s.Silence(0.2)
		return recordings.NewClip("", 0, s.Samples)
	}
	both := []string{"low", "high"}
	quiet := recordings.NewClip("", 0, make([]float32, tonemodel.SampleRate))
	quiet.Int16[100] = 1000
	for _, test := range []struct {
		words  int
		other  []recordings.Clip
		chosen bool
		whole  bool
		labels []string
	}{
		{30, []recordings.Clip{quiet}, true, false, both}, {29, []recordings.Clip{quiet}, false, false, both}, {30, nil, false, false, both}, {4, nil, false, true, both},
		{4, []recordings.Clip{clip("low")}, true, false, both[:1]},
	} {
		m := must.Get(tonemodel.New())(t)
		val := recordings.Sounds{SampleRate: tonemodel.SampleRate, Labels: test.labels, Other: test.other}
		for i := range test.words {
			label := i % len(test.labels)
			c := clip(test.labels[label])
			c.Label = label
			val.Words = append(val.Words, c)
		}
		opt := recordings.DefaultStreams(tonemodel.SampleRate)
		opt.Filterbank, opt.BandMask, opt.ReverbShare, opt.FilterShare, opt.Whole = *m.Meta.Filterbank, 0, 0, 0, test.whole
		opt.SNR, opt.Level, opt.Speed = recordings.Range{Low: 30, High: 40}, recordings.Range{Low: -15, High: -10}, recordings.Range{Low: 1, High: 1}
		d := must.Get(recordings.MixStreams(recordings.Sounds{}, val, opt))(t)
		if test.whole {
			must.Get((&Task{detector: true}).SetOperatingPoint(t.Context(), m, d, 2))(t)
			must.Equal(t, m.Meta.Detection.Smoothing, wholeSmoothing, "smoothing of sounds that last")
			continue
		}
		p := must.Get((&Task{detector: true}).SetOperatingPoint(t.Context(), m, d, 2))(t)
		if (p != nil) != test.chosen || (m.Meta.Detection != nil) != test.chosen {
			t.Fatalf("%d words, %d other recordings: point %+v, stored %+v", test.words, len(test.other), p, m.Meta.Detection)
		}
		if p == nil {
			continue
		}
		got := fmt.Sprintf("threshold %v, %.0f s", m.Meta.Detection.Threshold == p.Options.Threshold, 3600*p.All().Hours)
		must.Equal(t, got, "threshold true, 12 s", "what is stored")
		if p.All().FalseAlarms > 0 || len(test.labels) == len(both) && (p.Missed() > p.Words/4 || p.Words < 10) {
			t.Errorf("%d of %d words missed, %d false alarms", p.Missed(), p.Words, p.All().FalseAlarms)
		}
	}
}
