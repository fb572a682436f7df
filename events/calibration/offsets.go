package calibration

import (
	"cmp"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
)

// Offsets returns a number for each label of the model, to be added to its
// log-odds (model.Detection.Offsets), so that one threshold suits all labels. Some labels give many
// false alarms where others give none. So each label has a threshold of its own among those that
// were measured, and together they miss few words with at most so many false alarms per hour in
// each background: the fewest if there is one background, nearly the fewest with several. An offset
// is the difference of the model's threshold and that of the label, in log-odds. ok is false if no
// thresholds have so few false alarms, or without background.
//
// Of thresholds that miss equally many words, those with the fewest false alarms are chosen, and of
// these the ones nearest to the model's threshold. So a label without words keeps the model's
// threshold, unless it gives false alarms there.
//
// The events of one label are taken to be independent of the thresholds of the others, which is
// nearly so. The measurement must be of the model without offsets. Store the offsets in
// model.Detection and measure again.
func (m *Measurement) Offsets(falseAlarms float64) (offsets []float64, ok bool) {
	own := m.Points[0].Options.Threshold
	if m.Points[0].All().Hours == 0 {
		return nil, false
	}
	var best *plan
	for _, points := range m.families() {
		if p := m.allot(points, own, falseAlarms); p != nil && (best == nil || cmp.Or(p.missed-best.missed, cmp.Compare(p.worst, best.worst), p.total-best.total) < 0) {
			best = p
		}
	}
	if best == nil {
		return nil, false
	}
	offsets = make([]float64, len(m.Labels))
	for i := len(offsets) - 1; i >= 0; i, best = i-1, best.before {
		if m.Labels[i] != events.None {
			offsets[i] = logOdds(own) - logOdds(best.threshold)
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
	missed    int
	alarms    []int   // in each background
	total     int     // the sum
	worst     float64 // false alarms per hour in the worst background
	distance  float64 // of the thresholds from the model's, in log-odds: the sum
	threshold float64 // of the last label
	before    *plan   // for the labels before the last one; nil if there are none
}

// allot chooses a threshold for each of the model's labels from the points, so that few words are
// missed with a rate of false alarms that is at most the limit in each background. own is the
// model's threshold. The result is nil if there are no such thresholds. Of the plans that miss
// equally many words with the first labels, it keeps the one with the lowest rate in its worst
// background. The number of plans grows with the number of words or of rates, whichever is lower.
func (m *Measurement) allot(points []*Point, own, limit float64) *plan {
	limit += rounding
	plans := []*plan{{alarms: make([]int, len(points[0].Backgrounds))}} // each misses more words than the one before, at a lower rate
	for label := range m.Labels {
		missed := func(p *Point) int { return p.MissedWords[label] }
		most := missed(slices.MaxFunc(points, func(a, b *Point) int { return missed(a) - missed(b) }))
		next := make([]*plan, plans[len(plans)-1].missed+most+1) // by the number of missed words
		for _, p := range points {
			distance := math.Abs(logOdds(p.Options.Threshold) - logOdds(own))
			for _, before := range plans {
				v := plan{missed: before.missed + missed(p), total: before.total, distance: before.distance + distance, threshold: p.Options.Threshold, before: before}
				for i := range p.Backgrounds {
					b := &p.Backgrounds[i]
					v.total += b.ByLabel[label]
					v.worst = max(v.worst, float64(before.alarms[i]+b.ByLabel[label])/max(b.Hours, 1e-9))
				}
				o := next[v.missed]
				if v.worst <= limit && (o == nil || cmp.Or(cmp.Compare(v.worst, o.worst), v.total-o.total, cmp.Compare(v.distance, o.distance)) < 0) {
					better := v // a copy, so that only better plans are allocated
					better.alarms = slices.Clone(before.alarms)
					for i, b := range p.Backgrounds {
						better.alarms[i] += b.ByLabel[label]
					}
					next[v.missed] = &better
				}
			}
		}
		plans = nil
		for _, v := range next {
			if v != nil && (len(plans) == 0 || cmp.Or(cmp.Compare(v.worst, plans[len(plans)-1].worst), v.total-plans[len(plans)-1].total) < 0) {
				plans = append(plans, v)
			}
		}
		if len(plans) == 0 {
			return nil
		}
	}
	return plans[0]
}

// logOdds returns log(p/(1−p)), bounded for 0 and 1.
func logOdds(p float64) float64 { return math.Log(max(p, 1e-9) / max(1-p, 1e-9)) }
