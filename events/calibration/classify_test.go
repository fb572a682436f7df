package calibration_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Tones have their labels, whatever is around them in the clip; what is soft or another sound has
// none.
func TestClassify(t *testing.T) {
	dir, m := t.TempDir(), toneModel(t)
	var clips []calibration.Clip
	save := func(name, label string, x []float32) {
		path := filepath.Join(dir, name+".wav")
		writeWAV(t, path, rate, x)
		clips = append(clips, calibration.Clip{Path: path, Label: label})
	}
	save("low", "low", tone(0.3, 4000, rate))
	save("tight", "low", tone(0.3, 0, rate))
	save("wrong", "high", tone(0.3, 0, rate))
	save("soft", "none", tone(1e-4, 0, rate))
	opt := calibration.ClassifyOptions{Events: events.DefaultsFor(m), SNR: math.Inf(1)}
	list, skipped, err := calibration.Classify(context.Background(), m, clips, opt)
	must.Do(t, err)
	must.Equal(t, len(skipped), 0, "skipped")
	for i, want := range []bool{true, true, true, false} {
		if got := list[i].Best == "low" && list[i].Peak > 0.9; got != want {
			t.Errorf("%s: %s, %v", clips[i].Path, list[i].Best, list[i].Peak)
		}
	}
	for threshold, want := range map[float64]int{0: 2, 0.5: 3, 1.1: 1} {
		must.Equal(t, calibration.Accuracy(list, threshold), want, "correct clips at threshold %v", threshold)
	}
	if threshold, n := calibration.BestThreshold(list); n != 3 || threshold <= list[3].Peak || threshold > 1 {
		t.Errorf("%d correct clips at threshold %v, expected 3", n, threshold)
	}

	if threshold, n := calibration.BestThreshold(list[3:]); n != 1 || threshold <= list[3].Peak {
		t.Errorf("%d correct clips at threshold %v, expected the soft one, above its peak", n, threshold)
	}

	// Noise of 80 dB over the word changes its posterior.
	opt.SNR = -80
	noisy, _, err := calibration.Classify(context.Background(), m, clips[:1], opt)
	must.Do(t, err)
	if noisy[0].Peak == list[0].Peak {
		t.Error("noise does not change the posterior")
	}

	must.Do(t, os.Remove(clips[1].Path))
	_, _, err = calibration.Classify(context.Background(), m, clips, opt)
	must.Fail(t, err, "tight.wav")
	opt.SkipBroken = true
	list, skipped, err = calibration.Classify(context.Background(), m, clips, opt)
	must.Do(t, err)
	if len(list) != 3 || len(skipped) != 1 {
		t.Errorf("%d clips, skipped %v", len(list), skipped)
	}
	opt.SNR = math.NaN()
	_, _, err = calibration.Classify(context.Background(), m, clips, opt)
	must.Fail(t, err, "SNR NaN")
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	_, _, err = calibration.Classify(cancelled, m, clips, calibration.ClassifyOptions{Events: events.DefaultsFor(m)})
	must.Fail(t, err, "enough")
}

// The best threshold is the one that trying every peak finds, also among equal peaks, and takes
// little longer for many clips.
func TestBestThreshold(t *testing.T) {
	draw := random.Sampler{Stream: random.New(5, random.Noise, 0, 0)}
	clip := func() (c calibration.Classified) {
		labels := []string{"a", "b", events.None}
		c.Label, c.Best, c.Peak = labels[draw.Below(3)], labels[draw.Below(2)], float64(draw.Below(6))/8
		return c
	}
	for n := range 200 {
		var list []calibration.Classified
		for range n % 20 {
			list = append(list, clip())
		}
		threshold, correct, highest := 0.0, 0, 0.0
		for _, c := range list {
			if k := calibration.Accuracy(list, c.Peak); k > correct {
				threshold, correct = c.Peak, k
			}
			highest = max(highest, c.Peak)
		}
		if above := math.Nextafter(highest, 2); calibration.Accuracy(list, above) > correct {
			threshold, correct = above, calibration.Accuracy(list, above)
		}
		gotThreshold, got := calibration.BestThreshold(list)
		must.Equal(t, gotThreshold, threshold, "list %d: threshold", n)
		must.Equal(t, got, correct, "list %d: correct clips", n)
	}
	many := make([]calibration.Classified, 1<<20) // as many as a list may have
	for i := range many {
		many[i] = clip()
		many[i].Peak = draw.Uniform()
	}
	if threshold, n := calibration.BestThreshold(many); calibration.Accuracy(many, threshold) != n {
		t.Errorf("%d clips at threshold %v, expected %d", n, threshold, calibration.Accuracy(many, threshold))
	}
}
