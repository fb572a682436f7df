package calibration

import (
	"cmp"
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
// is false if no thresholds have so few false alarms, or without background.
//
// Of thresholds that miss equally many words, those with the fewest false alarms are chosen, and of
// these the ones nearest to the model's threshold. So a label without words keeps the model's
// threshold, unless it gives false alarms there.
//
// The events of one label are taken to be independent of the thresholds of the others, which is
// nearly so. The measurement must be of the model without offsets. Store the offsets in
// model.Detection and measure again.
func (m *Measurement) Offsets(base *model.Model, falseAlarms float64) (offsets []float64, ok bool) {
	own, hours := m.Points[0].Options.Threshold, m.Points[0].Hours
	if !(hours > 0) {
		return nil, false
	}
	var best *plan
	for _, points := range m.families() {
		if p := m.allot(points, own, falseAlarms*hours); p != nil && (best == nil || cmp.Or(p.missed-best.missed, p.alarms-best.alarms) < 0) {
			best = p
		}
	}
	if best == nil {
		return nil, false
	}
	offsets = make([]float64, len(base.Meta.Labels))
	for i, p := range best.thresholds {
		if base.Meta.Labels[i] != events.None {
			offsets[i] = logOdds(own) - logOdds(p)
		}
	}
	return offsets, true
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
		slices.SortStableFunc(points, func(a, b *Point) int { return cmp.Compare(b.Options.Threshold, a.Options.Threshold) })
	}
	return list
}

// plan is a threshold for each of the first labels, and what is counted with them.
type plan struct {
	missed, alarms int
	distance       float64 // of the thresholds from the model's, in log-odds: the sum
	thresholds     []float64
}

// allot chooses a threshold for each of the model's labels from the points, so that the fewest
// words are missed with a number of false alarms that is at most the budget. own is the model's
// threshold. The result is nil if there are no such thresholds.
func (m *Measurement) allot(points []*Point, own, budget float64) *plan {
	if !(budget >= 0) {
		return nil
	}
	budget += 1e-9 // it may be a whole number, up to rounding
	missed := func(p *Point, label int) int {
		if word := slices.Index(m.Labels, m.All[label]); word >= 0 {
			return p.MissedWords[word]
		}
		return 0
	}
	distance := func(p *Point) float64 { return math.Abs(logOdds(p.Options.Threshold) - logOdds(own)) }
	free := &plan{} // the best of all plans, without the budget
	for label := range m.All {
		p := slices.MinFunc(points, func(a, b *Point) int {
			return cmp.Or(missed(a, label)-missed(b, label), a.ByLabel[label]-b.ByLabel[label], cmp.Compare(distance(a), distance(b)))
		})
		free.missed += missed(p, label)
		free.alarms += p.ByLabel[label]
		free.thresholds = append(free.thresholds, p.Options.Threshold)
	}
	if float64(free.alarms) <= budget {
		return free
	}
	most := int(budget)            // less than the alarms of free
	plans := make([]*plan, most+1) // by the number of false alarms so far
	plans[0] = &plan{}
	for label := range m.All {
		next := make([]*plan, most+1)
		for _, p := range points {
			for alarms := p.ByLabel[label]; alarms <= most; alarms++ {
				before := plans[alarms-p.ByLabel[label]]
				if before == nil {
					continue
				}
				v := plan{missed: before.missed + missed(p, label), alarms: alarms, distance: before.distance + distance(p)}
				if o := next[alarms]; o == nil || cmp.Or(v.missed-o.missed, cmp.Compare(v.distance, o.distance)) < 0 {
					v.thresholds = append(slices.Clone(before.thresholds), p.Options.Threshold)
					next[alarms] = &v
				}
			}
		}
		plans = next
	}
	var best *plan
	for _, p := range plans {
		if p != nil && (best == nil || p.missed < best.missed) {
			best = p
		}
	}
	return best
}

// logOdds returns log(p/(1−p)), bounded for 0 and 1.
func logOdds(p float64) float64 { return math.Log(max(p, 1e-9) / max(1-p, 1e-9)) }
