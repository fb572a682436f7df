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
	smoothing := []float64{base.Smoothing}
	for _, seconds := range []float64{0.1, 0.2, 0.3} {
		if seconds != base.Smoothing {
			smoothing = append(smoothing, seconds)
		}
	}
	list := []events.Options{base}
	for _, seconds := range smoothing {
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

// FalseAlarmRate returns the false alarms per hour, with their 95 % interval (Poisson).
func (b *Background) FalseAlarmRate() (rate, low, high float64) {
	low, high = Poisson(b.FalseAlarms, b.Hours)
	return float64(b.FalseAlarms) / b.Hours, low, high
}

// MissRate returns the fraction of the words that were missed, with its 95 % interval (Wilson).
func (p *Point) MissRate() (rate, low, high float64) {
	low, high = Wilson(p.Missed(), p.Words)
	return float64(p.Missed()) / float64(p.Words), low, high
}

// compare orders points by misses, then by false alarms, then by the distance of their options from
// those of the first candidate.
func (m *Measurement) compare(a, b *Point) int {
	base := &m.Points[0].Options
	return cmp.Or(
		cmp.Compare(a.Missed(), b.Missed()), cmp.Compare(a.FalseAlarms, b.FalseAlarms),
		cmp.Compare(distance(&a.Options, base), distance(&b.Options, base)),
	)
}

// distance returns the distance of two options: the sum of the differences of their thresholds in
// log-odds, and of the logarithms of their numbers of confirmations and of their smoothing.
func distance(a, b *events.Options) float64 {
	ratio := func(x, y float64) float64 { return math.Abs(math.Log2(max(x, 1e-9) / max(y, 1e-9))) }
	return math.Abs(logOdds(a.Threshold)-logOdds(b.Threshold)) + ratio(float64(a.Confirm), float64(b.Confirm)) + ratio(a.Smoothing, b.Smoothing)
}

// Best returns the point that misses the fewest words, among those with at most falseAlarms false
// alarms per hour. ok is false if there is none.
func (m *Measurement) Best(falseAlarms float64) (best Point, ok bool) {
	for i := range m.Points {
		p := &m.Points[i]
		if rate, _, _ := p.FalseAlarmRate(); rate <= falseAlarms && (!ok || m.compare(p, &best) < 0) {
			best, ok = *p, true
		}
	}
	return best, ok
}

// Curve returns the trade-off: the points for which no other point has fewer missed words without
// more false alarms. They are ordered by false alarms.
func (m *Measurement) Curve() []Point {
	sorted := slices.Clone(m.Points)
	slices.SortStableFunc(sorted, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.FalseAlarms, b.FalseAlarms), m.compare(&a, &b))
	})
	var curve []Point
	for _, p := range sorted {
		if len(curve) == 0 || p.Missed() < curve[len(curve)-1].Missed() {
			curve = append(curve, p)
		}
	}
	return curve
}

// Detection returns the point in the form that a model stores, with its offsets.
func (p *Point) Detection() *model.Detection {
	rate, _, _ := p.FalseAlarmRate()
	misses, low, high := p.MissRate()
	o := p.Options
	return &model.Detection{
		Threshold: o.Threshold, OffThreshold: o.OffThreshold, Confirm: o.Confirm, Refractory: o.Refractory,
		Smoothing: o.Smoothing, Offsets: slices.Clone(p.Offsets),
		FalseAlarmsPerHour: rate, MissRate: misses, Interval: [2]float64{low, high}, BackgroundHours: p.Hours, Words: p.Words,
	}
}
