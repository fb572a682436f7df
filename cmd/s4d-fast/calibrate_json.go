package main

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
)

type detectionResult struct {
	Words      *wordsResult             `json:"words,omitempty"`
	Background []calibration.Background `json:"background"`
	Skipped    []string                 `json:"skipped,omitempty"`
	Ignored    []string                 `json:"ignored,omitempty"`
	Model      pointResult              `json:"model"` // at its own options; with --write at the default options
	Curve      []pointResult            `json:"curve"`
	Chosen     *pointResult             `json:"chosen,omitempty"`
	Out        string                   `json:"out,omitempty"`

	// With --list: those of the chosen point or of the model's own options.
	Alarms []calibration.Alarm `json:"false_alarm_list,omitempty"`
	Missed []calibration.Word  `json:"missed_list,omitempty"`
}

type wordsResult struct {
	Count   int            `json:"count"`
	Labels  map[string]int `json:"labels"`
	Unknown []string       `json:"unknown_labels,omitempty"`
	Seconds float64        `json:"seconds"`
	Gap     [2]float64     `json:"gap"`
	SNR     *float64       `json:"snr_db,omitempty"` // nil: clean
}

// pointResult is what was measured with one set of options. PointWords is nil without words, and
// the false alarms are absent without background.
type pointResult struct {
	events.Options

	// Thresholds has the threshold of each label, if there are offsets.
	Thresholds map[string]float64 `json:"threshold_by_label,omitempty"`

	*PointWords

	ByGroup       []alarmCount   `json:"false_alarms_by_background,omitempty"`
	AlarmsByLabel map[string]int `json:"false_alarms_by_label,omitempty"`
}

// PointWords is exported for encoding/json, which sets no pointers to unexported structs.
type PointWords struct {
	Missed       int            `json:"missed"`
	MissRate     float64        `json:"miss_rate"`
	MissInterval [2]float64     `json:"miss_interval"`
	Mistaken     int            `json:"mistaken"`
	Unrelated    int            `json:"unrelated"` // events without a word, or a second one of a word
	Latency      *latency       `json:"latency,omitempty"`
	Precision    float64        `json:"precision"`
	Recall       float64        `json:"recall"`
	F1           float64        `json:"f1"`
	ByLabel      map[string]int `json:"missed_by_label"`
}

// latency is the distribution of the seconds from the end of a word to the report of its event.
type latency struct {
	Median  float64 `json:"median"`
	Share90 float64 `json:"90_percent"`
	Largest float64 `json:"largest"`
}

// latencyOf returns the latency of a point. It is nil if no word is found.
func latencyOf(p *calibration.Point) *latency {
	n := len(p.Latency)
	if n == 0 {
		return nil
	}
	return &latency{p.Latency[n/2], p.Latency[n*9/10], p.Latency[n-1]}
}

// alarmCount is the number of false alarms in a background.
type alarmCount struct {
	FalseAlarms int        `json:"false_alarms"`
	PerHour     float64    `json:"per_hour"`
	Interval    [2]float64 `json:"interval"`
}

func (d *detection) point(p *calibration.Point) pointResult {
	r := pointResult{Options: p.Options}
	if len(p.Offsets) > 0 {
		r.Thresholds = map[string]float64{}
	}
	if p.Words > 0 {
		rate, low, high := p.MissRate()
		r.PointWords = &PointWords{
			Missed: p.Missed(), MissRate: rate, MissInterval: [2]float64{low, high}, Mistaken: p.Mistaken, Unrelated: p.False,
			Latency: latencyOf(p), Precision: p.Precision(), Recall: p.Recall(), F1: p.F1(), ByLabel: map[string]int{},
		}
	}
	all := p.All()
	if all.Hours > 0 {
		r.AlarmsByLabel = map[string]int{}
		for _, b := range p.Backgrounds {
			rate, low, high := b.FalseAlarmRate()
			r.ByGroup = append(r.ByGroup, alarmCount{b.FalseAlarms, rate, [2]float64{low, high}})
		}
	}
	for i, label := range d.Labels {
		if label == events.None {
			continue
		}
		if len(p.Offsets) > 0 {
			r.Thresholds[label] = thresholdOf(r.Threshold, p.Offsets[i])
		}
		if d.Words[i] > 0 {
			r.ByLabel[label] = p.MissedWords[i]
		}
		if all.Hours > 0 {
			r.AlarmsByLabel[label] = all.ByLabel[i]
		}
	}
	return r
}

// result returns the measurement as JSON, with the lists of a point.
func (d *detection) result(p *calibration.Point) detectionResult {
	r := detectionResult{Background: append([]calibration.Background{}, p.Backgrounds...), Ignored: d.ignored, Model: d.point(&d.own), Alarms: p.Alarms, Missed: p.Lost}
	if p.Words > 0 {
		r.Words = &wordsResult{Count: p.Words, Labels: map[string]int{}, Unknown: d.unknown, Seconds: d.Seconds, Gap: [2]float64{d.words.MinGap, d.words.MaxGap}}
		if !math.IsInf(d.words.SNR, 1) {
			r.Words.SNR = &d.words.SNR
		}
		for i, n := range d.Words {
			if n > 0 {
				r.Words.Labels[d.Labels[i]] = n
			}
		}
	}
	for _, err := range slices.Concat(d.skipped, d.Skipped) {
		r.Skipped = append(r.Skipped, err.Error())
	}
	for _, p := range d.Curve() {
		r.Curve = append(r.Curve, d.point(&p))
	}
	return r
}
