package calibration

import (
	"cmp"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
)

// Candidates returns options to try: first base, then base with thresholds from 0.12 to 0.9939,
// which no posterior reaches, because the log-odds of a frame are bounded. Each threshold is tried
// with several numbers of confirmations, and with the smoothing of base and 0.1, 0.2 and 0.3 s. The
// refractory time is that of base.
func Candidates(base events.Options) []events.Options {
	list := []events.Options{base}
	for i, seconds := range []float64{base.Smoothing, 0.1, 0.2, 0.3} {
		if i > 0 && seconds == base.Smoothing {
			continue
		}
		for logit := -2.0; logit <= 5.15; logit += 0.1 {
			p := 1 / (1 + math.Exp(-logit))
			scale := math.Pow(10, 1-math.Floor(math.Log10(min(p, 1-p)))) // two digits of p or of 1−p
			for _, confirm := range []int{1, 2, 4, 8} {
				o := base.WithThreshold(math.Round(p*scale) / scale)
				o.Confirm, o.Smoothing = confirm, seconds
				if o != base {
					list = append(list, o)
				}
			}
		}
	}
	return list
}

// Worst returns the background with the most false alarms per hour, and of several the shortest.
// It is empty without background.
func (p *Point) Worst() (worst Background) {
	for i, b := range p.Backgrounds {
		if i == 0 || cmp.Or(cmp.Compare(b.rate(), worst.rate()), cmp.Compare(worst.Hours, b.Hours)) > 0 {
			worst = b
		}
	}
	return worst
}

// All returns the sums over all backgrounds.
func (p *Point) All() (all Background) {
	for _, b := range p.Backgrounds {
		all.Hours += b.Hours
		all.FalseAlarms += b.FalseAlarms
		if all.ByLabel == nil {
			all.ByLabel = make([]int, len(b.ByLabel))
		}
		for label, n := range b.ByLabel {
			all.ByLabel[label] += n
		}
	}
	return all
}

// rate returns the false alarms per hour; 0 if there is no background.
func (b *Background) rate() float64 { return float64(b.FalseAlarms) / max(b.Hours, 1e-9) }

// FalseAlarmRate returns the false alarms per hour, with their 95 % interval (Poisson).
func (b *Background) FalseAlarmRate() (rate, low, high float64) {
	low, high = Poisson(b.FalseAlarms, b.Hours)
	return b.rate(), low, high
}

// MissRate returns the fraction of the words that were missed, with its 95 % interval (Wilson).
func (p *Point) MissRate() (rate, low, high float64) {
	low, high = Wilson(p.Missed(), p.Words)
	return float64(p.Missed()) / float64(p.Words), low, high
}

// compare orders points by misses, then by false alarms (in the worst background, and in all), then
// by the distance of their options from those of the first candidate.
func (m *Measurement) compare(a, b *Point) int {
	base := &m.Points[0].Options
	return cmp.Or(
		cmp.Compare(a.Missed(), b.Missed()), a.CompareAlarms(b),
		cmp.Compare(distance(&a.Options, base), distance(&b.Options, base)),
	)
}

// CompareAlarms orders points by the false alarms per hour in the worst background, then by all.
func (p *Point) CompareAlarms(q *Point) int {
	a, b := p.Worst(), q.Worst()
	return cmp.Or(cmp.Compare(a.rate(), b.rate()), cmp.Compare(p.All().FalseAlarms, q.All().FalseAlarms))
}

// distance returns the distance of two options: the sum of the differences of their thresholds in
// log-odds, and of the logarithms of their numbers of confirmations and of their smoothing.
func distance(a, b *events.Options) float64 {
	ratio := func(x, y float64) float64 { return math.Abs(math.Log2(max(x, 1e-9) / max(y, 1e-9))) }
	return math.Abs(logOdds(a.Threshold)-logOdds(b.Threshold)) + ratio(float64(a.Confirm), float64(b.Confirm)) + ratio(a.Smoothing, b.Smoothing)
}

// rounding is how much a rate of false alarms may exceed a limit: 6 in 0.2 hours are 30 per hour.
const rounding = 1e-9

// Best returns the point that misses the fewest words, among those with at most falseAlarms false
// alarms per hour in each background. ok is false if there is none.
func (m *Measurement) Best(falseAlarms float64) (best Point, ok bool) {
	for i := range m.Points {
		p := &m.Points[i]
		if worst := p.Worst(); worst.rate() <= falseAlarms+rounding && (!ok || m.compare(p, &best) < 0) {
			best, ok = *p, true
		}
	}
	return best, ok
}

// Curve returns the trade-off: the points for which no other point has fewer missed words without
// more false alarms per hour in the worst background. They are ordered by these false alarms.
func (m *Measurement) Curve() []Point {
	sorted := slices.Clone(m.Points)
	slices.SortStableFunc(sorted, func(a, b Point) int {
		return cmp.Or(a.CompareAlarms(&b), m.compare(&a, &b))
	})
	var curve []Point
	for _, p := range sorted {
		if len(curve) == 0 || p.Missed() < curve[len(curve)-1].Missed() {
			curve = append(curve, p)
		}
	}
	return curve
}

// toleratedMisses is the share of the words that may be missed for fewer false alarms, beyond those
// that every threshold misses.
const toleratedMisses = 0.1

// Balanced returns the point with the fewest false alarms among those that miss few words.
func (m *Measurement) Balanced() Point {
	curve := m.Curve()
	least := curve[len(curve)-1]
	i := slices.IndexFunc(curve, func(p Point) bool {
		return float64(p.Missed()-least.Missed()) <= toleratedMisses*float64(p.Words)
	})
	return curve[i]
}

// Detection returns the point in the form that a model stores, with its offsets.
func (p *Point) Detection() *model.Detection {
	worst := p.Worst()
	misses, low, high := p.MissRate()
	o := p.Options
	return &model.Detection{
		Threshold: o.Threshold, OffThreshold: o.OffThreshold, Confirm: o.Confirm, Refractory: o.Refractory,
		Smoothing: o.Smoothing, Offsets: slices.Clone(p.Offsets),
		FalseAlarmsPerHour: worst.rate(), MissRate: misses, Interval: [2]float64{low, high}, BackgroundHours: worst.Hours, Words: p.Words,
	}
}
