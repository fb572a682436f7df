package calibration

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// A label keeps the model's threshold where another one is no better. It has another one if it
// gives false alarms, or if its words are missed. A huge limit of false alarms needs no memory.
func TestOffsetsNearThreshold(t *testing.T) {
	labels := []string{"good", "loud", "soft", "unheard", "noisy", events.None}
	d := &Measurement{Labels: labels}
	for _, v := range []struct {
		threshold       float64
		missed, byLabel []int
	}{
		{0.5, []int{0, 0, 4}, []int{0, 2, 0, 0, 1, 0}}, // the model's
		{0.1, []int{0, 0, 1}, []int{0, 5, 0, 1, 3, 0}},
		{0.3, []int{0, 0, 1}, []int{0, 4, 0, 0, 2, 0}},
		{0.7, []int{0, 0, 5}, []int{0, 1, 0, 0, 0, 0}},
		{0.9, []int{0, 0, 8}, []int{0, 0, 0, 0, 0, 0}},
	} {
		d.Points = append(d.Points, Point{Options: events.Options{Confirm: 1}.WithThreshold(v.threshold), MissedWords: append(v.missed, 0, 0, 0), Backgrounds: []Background{{Hours: 3, ByLabel: v.byLabel}}})
	}
	for limit, thresholds := range map[float64][]float64{
		0:           {0.5, 0.9, 0.3, 0.5, 0.7, 0.5},
		2:           {0.5, 0.9, 0.3, 0.5, 0.7, 0.5},
		math.Inf(1): {0.5, 0.9, 0.3, 0.5, 0.7, 0.5},
		1e300:       {0.5, 0.9, 0.3, 0.5, 0.7, 0.5},
	} {
		offsets, ok := d.Offsets(limit)
		must.Equal(t, ok, true, "offsets for %v false alarms per hour", limit)
		for i, v := range offsets {
			if math.Abs(v-(logOdds(0.5)-logOdds(thresholds[i]))) > 1e-12 {
				t.Errorf("%v false alarms per hour: offset %v of %q, expected that of threshold %v", limit, v, labels[i], thresholds[i])
			}
		}
	}
	for i := range d.Points {
		d.Points[i].Backgrounds = nil
	}
	if offsets, ok := d.Offsets(1); ok {
		t.Errorf("offsets %v without background", offsets)
	}
}

// The thresholds are those that all combinations, tried one by one, do not improve on. The second
// background, which is a quarter of the first, forbids some that the sum of both allows.
func TestOffsets(t *testing.T) {
	labels := []string{"a", "b", "c", events.None}
	thresholds := []float64{0.9, 0.5, 0.2}
	forbidden, worse := 0, 0
	for seed := range uint64(50) {
		draw := random.Sampler{Stream: random.New(seed, random.Noise, 0, 0)}
		// Lower thresholds miss fewer words and give more false alarms. No clip says "c".
		d := &Measurement{Labels: labels}
		missed, alarms := []int{20, 20}, [2][]int{make([]int, 4), make([]int, 4)}
		for _, v := range thresholds {
			for i := range missed {
				missed[i] -= draw.Below(8)
			}
			for i := range labels[:3] {
				alarms[0][i] += draw.Below(4)
				alarms[1][i] += draw.Below(2)
			}
			d.Points = append(d.Points, Point{
				Options: events.Options{Confirm: 1}.WithThreshold(v), MissedWords: []int{missed[0], missed[1], 0, 0},
				Backgrounds: []Background{{Hours: 2, ByLabel: slices.Clone(alarms[0])}, {Hours: 0.5, ByLabel: slices.Clone(alarms[1])}},
			})
		}
		d.Points[0], d.Points[1] = d.Points[1], d.Points[0] // the model's threshold is the first: 0.5
		least, pooled := math.MaxInt, math.MaxInt
		for _, a := range d.Points {
			for _, b := range d.Points {
				for _, c := range d.Points {
					var n [2]int
					for i := range n {
						n[i] = a.Backgrounds[i].ByLabel[0] + b.Backgrounds[i].ByLabel[1] + c.Backgrounds[i].ByLabel[2]
					}
					if n[0] <= 6 && n[1] <= 1 { // three an hour
						least = min(least, a.MissedWords[0]+b.MissedWords[1])
					}
					if n[0]+n[1] <= 7 {
						pooled = min(pooled, a.MissedWords[0]+b.MissedWords[1])
					}
				}
			}
		}
		forbidden += min(1, least-pooled)
		offsets, ok := d.Offsets(3)
		if must.Equal(t, ok, least < math.MaxInt, "seed %d: possible", seed); !ok {
			continue
		}
		must.Equal(t, offsets[3], 0, "offset of none")
		var total [2]int
		words := 0
		for label, offset := range offsets[:3] {
			for _, p := range d.Points {
				if math.Abs(logOdds(p.Options.Threshold)-(logOdds(0.5)-offset)) < 1e-9 {
					total[0] += p.Backgrounds[0].ByLabel[label]
					total[1] += p.Backgrounds[1].ByLabel[label]
					if label < 2 {
						words += p.MissedWords[label]
					}
				}
			}
		}
		if total[0] > 6 || total[1] > 1 || words < least {
			t.Errorf("seed %d: offsets %v give %d false alarms and miss %d words, expected at most 6 and 1, and %d", seed, offsets, total, words, least)
		}
		worse += words - least
	}
	if forbidden == 0 || worse > 5 {
		t.Errorf("%d more missed words than necessary; the worst background forbids what the sum allows for %d seeds", worse, forbidden)
	}
}

// With a high limit, whether or not thresholds exceed it, time and memory do not grow with the
// number of false alarms.
func TestOffsetsOfManyAlarms(t *testing.T) {
	labels := []string{"a", "b", "c", "d", "e", "f", "g", events.None}
	d := &Measurement{Labels: labels}
	for i, threshold := range []float64{0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9} {
		var alarms []int
		for label := range labels {
			alarms = append(alarms, 1000+label*label*i)
		}
		alarms[0] -= 10 * i
		d.Points = append(d.Points, Point{Options: events.Options{Confirm: 1}.WithThreshold(threshold), Backgrounds: []Background{{Hours: 1, ByLabel: alarms}}, MissedWords: []int{i, 0, 0, 0, 0, 0, 0, 0}})
	}
	for limit, threshold := range map[float64]float64{1e9: 0.5, 8000: 0.5, 7999: 0.1, 7920: 0.9} {
		var offsets []float64
		n := testing.AllocsPerRun(1, func() { offsets, _ = d.Offsets(limit) })
		if want := []float64{logOdds(0.5) - logOdds(threshold), 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(offsets, want) || n > 1000 {
			t.Errorf("limit %v: offsets %v with %v allocations, expected %v with at most 1000", limit, offsets, n, want)
		}
	}
}
