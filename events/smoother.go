package events

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// maxOdds bounds the log-odds of a frame, so that no frame decides alone.
const maxOdds = 5

// smoother averages the last frames' log-odds of every label against none, and keeps the levels of
// the audio, for decisions with an equal Smoothing. Before the start of a signal all frames are
// none. An average of log-odds tells words from background better than one of probabilities: a
// frame that contradicts counts as much as one that agrees. Other labels do not count, so that a
// word is found of which the model is not sure which of two it is. Offsets move the probabilities,
// so that labels have thresholds of their own, but they do not change which label is best.
type smoother struct {
	none      int       // index of the label none
	seconds   float64   // Options.Smoothing
	ring      []float32 // [frames][labels] log-odds
	oldest    int       // where in ring the oldest frame stands
	sum       []float32 // [labels]
	offsets   []float64 // added to the averages; nil: none
	posterior []float32 // of every label against none; of none, 1 less that of best
	best      int       // the most probable label before offsets, none aside
	contour   *contour
}

func newSmoother(r *rules) smoother {
	n := len(r.labels)
	s := smoother{
		none: slices.Index(r.labels, None), seconds: r.opt.Smoothing, offsets: r.offsets, contour: newContour(r),
		ring: make([]float32, r.smoothing*n), sum: make([]float32, n), posterior: make([]float32, n),
	}
	s.reset()
	return s
}

// push adds a frame. The order of the sum depends on the frames' order only.
func (s *smoother) push(level float64, logits []float32) {
	s.contour.push(level)
	n := len(s.posterior)
	for i, v := range logits {
		s.ring[s.oldest+i] = max(-maxOdds, min(maxOdds, v-logits[s.none]))
	}
	s.oldest = (s.oldest + n) % len(s.ring)
	clear(s.sum)
	for i := range len(s.ring) / n {
		at := (s.oldest + i*n) % len(s.ring)
		vek.Add(s.sum, s.sum, s.ring[at:at+n])
	}
	s.best = -1
	frames := float64(len(s.ring) / n)
	for i, v := range s.sum {
		odds := float64(v) / frames
		if s.offsets != nil {
			odds += s.offsets[i]
		}
		s.posterior[i] = float32(1 / (1 + math.Exp(-odds)))
		if i != s.none && (s.best < 0 || v > s.sum[s.best]) {
			s.best = i
		}
	}
	s.posterior[s.none] = 1 - s.posterior[s.best]
}

func (s *smoother) reset() {
	for i := range s.ring {
		s.ring[i] = -maxOdds
		if i%len(s.posterior) == s.none {
			s.ring[i] = 0
		}
	}
	s.oldest = 0
	s.contour.levels, s.contour.behind = s.contour.levels[:0], 0
}
