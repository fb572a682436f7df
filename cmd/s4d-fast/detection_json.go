package main

import (
	"encoding/json"
	"math"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
)

// detectionResult is a measurement as JSON.
type detectionResult struct {
	Words      *wordsResult       `json:"words,omitempty"`
	Background []backgroundResult `json:"background"`
	Hours      float64            `json:"background_hours"`
	Skipped    []string           `json:"skipped,omitempty"`
	Ignored    []string           `json:"ignored,omitempty"`
	Clips      *clipsResult       `json:"clips,omitempty"`
	Model      pointResult        `json:"model"` // at its own options; with --write at the default options
	Curve      []pointResult      `json:"curve"`
	Chosen     *pointResult       `json:"chosen,omitempty"`
	Out        string             `json:"out,omitempty"`

	// With --list: those of the chosen point or of the model's own options.
	Alarms []alarmResult  `json:"false_alarm_list,omitempty"`
	Missed []missedResult `json:"missed_list,omitempty"`
}

// alarmResult is a false alarm: from its start to its exclusive end in seconds of a file.
type alarmResult struct {
	File       string  `json:"file"`
	Start      float64 `json:"start"`
	End        float64 `json:"end"`
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// missedResult is the clip of a missed word.
type missedResult struct {
	File  string `json:"file"`
	Label string `json:"label"`
}

type wordsResult struct {
	Count   int            `json:"count"`
	Labels  map[string]int `json:"labels"`
	Unknown []string       `json:"unknown_labels,omitempty"`
	Seconds float64        `json:"seconds"`
	Gap     [2]float64     `json:"gap"`
	SNR     *float64       `json:"snr_db,omitempty"` // nil: clean
}

// clipsResult is the accuracy on clips on their own, at the model's threshold and at the best one.
type clipsResult struct {
	Count         int     `json:"count"`
	Others        int     `json:"others"` // without a label of the model
	Threshold     float64 `json:"threshold"`
	Accuracy      float64 `json:"accuracy"`
	BestThreshold float64 `json:"best_threshold"`
	BestAccuracy  float64 `json:"best_accuracy"`
}

type backgroundResult struct {
	Name  string  `json:"name"`
	Hours float64 `json:"hours"`
}

// pointResult is what was measured with one set of options. PointWords is nil without words,
// PointBackground without background.
type pointResult struct {
	Threshold    float64 `json:"threshold"`
	OffThreshold float64 `json:"off_threshold"`
	Confirm      int     `json:"confirm"`
	Refractory   float64 `json:"refractory"`
	Smoothing    float64 `json:"smoothing,omitempty"`

	// Thresholds has the threshold of each label, if there are offsets.
	Thresholds map[string]float64 `json:"threshold_by_label,omitempty"`

	*PointWords
	*PointBackground
}

// PointWords is exported for encoding/json, which sets no pointers to unexported structs.
type PointWords struct {
	Missed       int            `json:"missed"`
	MissRate     float64        `json:"miss_rate"`
	MissInterval [2]float64     `json:"miss_interval"`
	Mistaken     int            `json:"mistaken"`
	Unrelated    int            `json:"unrelated"` // events without a word in the streams of words
	Precision    float64        `json:"precision"`
	Recall       float64        `json:"recall"`
	F1           float64        `json:"f1"`
	ByLabel      map[string]int `json:"missed_by_label"`
}

// PointBackground is exported like PointWords.
type PointBackground struct {
	FalseAlarms   int            `json:"false_alarms"`
	PerHour       float64        `json:"false_alarms_per_hour"`
	Interval      [2]float64     `json:"false_alarms_interval"`
	ByGroup       []int          `json:"false_alarms_by_background"`
	AlarmsByLabel map[string]int `json:"false_alarms_by_label"`
}

func (d *detection) point(p *calibration.Point) pointResult {
	o := p.Options
	r := pointResult{Threshold: o.Threshold, OffThreshold: o.OffThreshold, Confirm: o.Confirm, Refractory: o.Refractory, Smoothing: o.Smoothing}
	for i, offset := range p.Offsets {
		if d.All[i] == events.None {
			continue
		}
		if r.Thresholds == nil {
			r.Thresholds = map[string]float64{}
		}
		r.Thresholds[d.All[i]] = thresholdOf(o.Threshold, offset)
	}
	if p.Words > 0 {
		rate, low, high := p.MissRate()
		r.PointWords = &PointWords{
			Missed: p.Missed(), MissRate: rate, MissInterval: [2]float64{low, high}, Mistaken: p.Mistaken, Unrelated: p.False,
			Precision: p.Precision(), Recall: p.Recall(), F1: p.F1(), ByLabel: map[string]int{},
		}
		for i, l := range d.Labels {
			r.ByLabel[l] = p.MissedWords[i]
		}
	}
	if p.Hours > 0 {
		rate, low, high := p.FalseAlarmRate()
		r.PointBackground = &PointBackground{FalseAlarms: p.FalseAlarms, PerHour: rate, Interval: [2]float64{low, high}, ByGroup: p.ByGroup, AlarmsByLabel: map[string]int{}}
		for i, l := range d.All {
			if l != events.None {
				r.AlarmsByLabel[l] = p.ByLabel[i]
			}
		}
	}
	return r
}

// result returns the measurement as JSON.
func (d *detection) result() detectionResult {
	r := detectionResult{Background: []backgroundResult{}, Hours: d.Points[0].Hours, Model: d.point(&d.Points[0])}
	if d.Points[0].Words > 0 {
		r.Words = &wordsResult{
			Count: d.Points[0].Words, Labels: map[string]int{}, Unknown: d.unknown, Seconds: d.Seconds,
			Gap: [2]float64{d.words.MinGap, d.words.MaxGap},
		}
		if !math.IsInf(d.words.SNR, 1) {
			r.Words.SNR = &d.words.SNR
		}
		for i, l := range d.Labels {
			r.Words.Labels[l] = d.Words[i]
		}
	}
	for _, g := range d.Groups {
		r.Background = append(r.Background, backgroundResult{filepath.ToSlash(g.Name), g.Seconds / 3600})
	}
	for _, err := range d.Skipped {
		r.Skipped = append(r.Skipped, err.Error())
	}
	r.Ignored = d.ignored
	r.Clips = d.clipsResult()
	for _, p := range d.Curve() {
		r.Curve = append(r.Curve, d.point(&p))
	}
	return r
}

// list adds the false alarms and the missed words of a point.
func (r *detectionResult) list(p *calibration.Point) {
	for _, a := range p.Alarms {
		r.Alarms = append(r.Alarms, alarmResult{filepath.ToSlash(a.File), a.Start, a.End, a.Label, a.Confidence})
	}
	for _, w := range p.Lost {
		r.Missed = append(r.Missed, missedResult{filepath.ToSlash(w.File), w.Label})
	}
}

// clipsResult returns the accuracy on clips on their own, nil if it was not measured.
func (d *detection) clipsResult() *clipsResult {
	n := len(d.classified)
	if n == 0 {
		return nil
	}
	threshold := d.Points[0].Options.Threshold
	best, correct := calibration.BestThreshold(d.classified)
	r := &clipsResult{
		Count: n, Threshold: threshold, Accuracy: float64(calibration.Accuracy(d.classified, threshold)) / float64(n),
		BestThreshold: best, BestAccuracy: float64(correct) / float64(n),
	}
	for _, c := range d.classified {
		if c.Label == events.None {
			r.Others++
		}
	}
	return r
}

// write prints the result as JSON.
func (r detectionResult) write(std *streams) error { return json.NewEncoder(std.out).Encode(r) }
