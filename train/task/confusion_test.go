package task

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// Clips of the validation set are counted by label and by what the model finds; the mistakes come
// in the order of their size.
func TestConfusion(t *testing.T) {
	m := must.Get(tonemodel.New())(t)
	clip := func(path, sound string, label int, seconds float64) recordings.Clip {
		s := &tonemodel.Sound{}
		s.Silence(0.2)
		if sound != "" {
			s.Tone(sound, seconds)
		}
		s.Silence(0.2)
		s.Noise(0.003)
		return recordings.NewClip(path, label, s.Samples)
	}
	var val recordings.Sounds
	val.SampleRate, val.Labels = tonemodel.SampleRate, []string{"low", "high"}
	for i := range 3 {
		val.Words = append(val.Words, clip(fmt.Sprint("low", i), "low", 0, 0.5), clip(fmt.Sprint("high", i), "high", 1, 0.5))
	}
	val.Words = append(val.Words, clip("silent", "", 0, 0), clip("wrong", "high", 0, 0.5))
	val.Other = []recordings.Clip{clip("quiet", "", 0, 0), clip("other", "low", 0, 0.5), clip("long", "low", 0, 5)}
	opt := recordings.DefaultStreams(tonemodel.SampleRate)
	opt.Filterbank = *m.Meta.Filterbank
	opt.BandMask = 0
	d := must.Get(recordings.MixStreams(recordings.Sounds{}, val, opt))(t)

	m.Meta.Detection = &model.Detection{Threshold: 0.9999, Confirm: 1} // of streams
	tk := &Task{name: "words", detector: true}
	c := must.Get(tk.Confusion(t.Context(), m, d, 2))(t)
	if !slices.Equal(c.Labels, m.Meta.Labels) {
		t.Errorf("labels %q, expected %q", c.Labels, m.Meta.Labels)
	}
	if got, want := fmt.Sprint(c.Counts), "[[3 1 1] [0 3 0] [1 0 1]]"; got != want {
		t.Errorf("counts %s, expected %s", got, want)
	}
	var mistakes []string
	for _, m := range c.Mistakes {
		mistakes = append(mistakes, fmt.Sprintf("%s: %s, found %s", m.Path, m.Label, m.Found))
	}
	slices.Sort(mistakes[1:]) // whose margins are nearly equal
	if want := []string{"wrong: low, found high", "other: none, found low", "silent: low, found none"}; !slices.Equal(mistakes, want) {
		t.Errorf("mistakes %q, expected %q", mistakes, want)
	}
	for i := 1; i < len(c.Mistakes); i++ {
		if a, b := c.Mistakes[i-1].margin, c.Mistakes[i].margin; a > b || b >= 0 {
			t.Errorf("margins %v, %v: expected negative ones that rise", a, b)
		}
	}
	for _, want := range []struct{ first, end, right, total int }{{0, 2, 6, 8}, {2, 3, 1, 2}, {0, 3, 7, 10}} {
		if right, total := c.Right(want.first, want.end); right != want.right || total != want.total {
			t.Errorf("labels %d to %d: %d of %d right, expected %d of %d", want.first, want.end, right, total, want.right, want.total)
		}
	}

	none := must.Get((&Task{}).Confusion(t.Context(), m, d, 0))(t)
	if none != nil {
		t.Errorf("a task without a confusion: %+v", none)
	}
	if c, err := tk.Confusion(t.Context(), m, &dataset.Dataset{}, 0); c != nil || err != nil {
		t.Errorf("no validation set: %+v, error %v; expected neither", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Reject(tk.Confusion(ctx, m, d, 0))(t, context.Canceled, `task "words"`)
	clips := must.Get(tonemodel.NewClips())(t)
	must.Reject(tk.Confusion(t.Context(), clips, d, 0))(t, "the model labels clips")
}
