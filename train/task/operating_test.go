package task

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// With 30 words and other speech for validation, a trained detector gets a threshold that other
// speech does not reach. With fewer words, or nothing else, it keeps its own.
func TestSetOperatingPoint(t *testing.T) {
	clip := func(sound string) recordings.Clip {
		s := &tonemodel.Sound{}
		s.Silence(0.2)
		s.Tone(sound, 0.5)
		s.Silence(0.2)
		return recordings.NewClip("", 0, s.Samples)
	}
	quiet := recordings.NewClip("", 0, make([]float32, tonemodel.SampleRate))
	quiet.Int16[100] = 1000
	for _, test := range []struct {
		words  int
		other  []recordings.Clip
		chosen bool
		whole  bool
	}{{30, []recordings.Clip{quiet}, true, false}, {29, []recordings.Clip{quiet}, false, false}, {30, nil, false, false}, {4, nil, false, true}} {
		m := must.Get(tonemodel.New())(t)
		val := recordings.Sounds{SampleRate: tonemodel.SampleRate, Labels: []string{"low", "high"}, Other: test.other}
		for i := range test.words {
			c := clip([]string{"low", "high"}[i%2])
			c.Label = i % 2
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
		if p.Missed() > p.Words/4 || p.Words < 10 || p.All().FalseAlarms > 0 {
			t.Errorf("%d of %d words missed, %d false alarms", p.Missed(), p.Words, p.All().FalseAlarms)
		}
	}
}
