package studio

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/train/recordings"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// The confidence of a network becomes its accuracy on clips that did not train it, as far as their
// number tells. Their labels remain.
func TestCool(t *testing.T) {
	clips := []recordings.Clip{}
	for i := range 20 {
		s := &tonemodel.Sound{}
		s.Tone([]string{"low", "high"}[i%2], 0.3+0.01*float64(i))
		label := i % 2
		if i >= 16 {
			label = 1 - label // four of the clips sound like the other word
		}
		clips = append(clips, recordings.NewClip("", label, s.Samples))
	}
	mean := func(found []task.Classified) (mean float64) {
		for _, c := range found {
			mean += float64(c.Peaks[c.Found]) / float64(len(found))
		}
		return mean
	}
	m := must.Get(tonemodel.New())(t)
	before := must.Get(task.Classify(t.Context(), m, clips, 1))(t)
	must.Do(t, cool(t.Context(), m, clips, 1))
	after := must.Get(task.Classify(t.Context(), m, clips, 1))(t)
	must.Equal(t, slices.EqualFunc(before, after, func(a, b task.Classified) bool { return a.Found == b.Found }), true, "labels")
	const accuracy = 17. / 22
	must.Equal(t, mean(before) > 0.98 && mean(after) < 0.98 && mean(after) > accuracy-0.05, true, "confidence %v, then %v", mean(before), mean(after))
	same := must.Get(tonemodel.New())(t)
	must.Do(t, cool(t.Context(), same, nil, 1))
	must.Equal(t, same.Hash(), must.Get(tonemodel.New())(t).Hash(), "the network without clips")
}
