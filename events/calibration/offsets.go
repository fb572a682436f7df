package calibration

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
)

// Offsets returns a number for each label of a model that labels every frame, to be added to its
// log-odds (model.Detection.Offsets), so that one threshold suits all labels. Some labels give many
// false alarms where others give none. So each label has a threshold of its own among those that
// were measured, and together they miss the fewest words with at most so many false alarms per
// hour. An offset is the difference of the model's threshold and that of the label, in log-odds. ok
// is false if no thresholds have so few false alarms.
//
// The events of one label are taken to be independent of the thresholds of the others, which is
// nearly so. The measurement is of the model without offsets. Measure again with them.
func (m *Measurement) Offsets(base *model.Model, falseAlarms float64) (offsets []float64, ok bool) {
	budget := int(falseAlarms * m.Points[0].Hours)
	best := m.words() + 1
	var chosen []float64
	for _, points := range m.families() {
		if missed, thresholds := m.allot(points, budget); missed < best {
			best, chosen = missed, thresholds
		}
	}
	if chosen == nil {
		return nil, false
	}
	offsets = make([]float64, len(base.Meta.Labels))
	for i, p := range chosen {
		if base.Meta.Labels[i] != events.None {
			offsets[i] = logOdds(m.Points[0].Options.Threshold) - logOdds(p)
		}
	}
	return offsets, true
}

// words returns the number of words of all labels.
func (m *Measurement) words() (n int) {
	for _, k := range m.Words {
		n += k
	}
	return n
}

// families returns the points in groups whose options differ in their thresholds only, those with
// the highest threshold first.
func (m *Measurement) families() (list [][]*Point) {
	at := map[events.Options]int{}
	for i := range m.Points {
		p := &m.Points[i]
		key := p.Options
		key.Threshold, key.OffThreshold = 0, 0
		k, ok := at[key]
		if !ok {
			k, at[key] = len(list), len(list)
			list = append(list, nil)
		}
		list[k] = append(list[k], p)
	}
	for _, points := range list {
		slices.SortFunc(points, func(a, b *Point) int {
			if a.Options.Threshold > b.Options.Threshold {
				return -1
			}
			return 1
		})
	}
	return list
}

// allot chooses a threshold for each of the model's labels from the points, so that the fewest
// words are missed with a number of false alarms that is at most the budget. It returns the number
// of missed words, which is larger than that of all words if there are no such thresholds.
func (m *Measurement) allot(points []*Point, budget int) (missed int, thresholds []float64) {
	impossible := m.words() + 1
	type plan struct {
		missed     int
		thresholds []float64
	}
	plans := make([]plan, budget+1) // by the number of false alarms so far
	for i := range plans[1:] {
		plans[i+1].missed = impossible
	}
	for label := range points[0].ByLabel {
		word := slices.Index(m.Labels, m.All[label])
		next := make([]plan, budget+1)
		for used := range next {
			next[used].missed = impossible
			for _, p := range points {
				rest := used - p.ByLabel[label]
				if rest < 0 || plans[rest].missed >= impossible {
					continue
				}
				n := plans[rest].missed
				if word >= 0 {
					n += p.MissedWords[word]
				}
				if n < next[used].missed {
					next[used] = plan{n, append(slices.Clone(plans[rest].thresholds), p.Options.Threshold)}
				}
			}
		}
		plans = next
	}
	best := slices.MinFunc(plans, func(a, b plan) int { return a.missed - b.missed })
	return best.missed, best.thresholds
}

// logOdds returns log(p/(1−p)), bounded for 0 and 1.
func logOdds(p float64) float64 { return math.Log(max(p, 1e-9) / max(1-p, 1e-9)) }
