package calibration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// False alarms are listed with their file and their time in it, by confidence, and missed words
// with the file of their clip. Neither list depends on the number of workers.
func TestAlarms(t *testing.T) {
	dir := t.TempDir()
	save := func(name, label string, after float64, gain float32) string {
		s := &tonemodel.Sound{}
		s.Silence(after)
		s.Tone(label, 0.5)
		s.Silence(3)
		for i := range s.Samples {
			s.Samples[i] *= gain
		}
		path := filepath.Join(dir, name)
		testfiles.Clip(t, path, rate, s.Samples)
		return path
	}
	room := []string{save("room/0.wav", "low", 2, 0.5), save("room/1.wav", "high", 3, 1), save("room/2.wav", "low", 1, 0)}
	street := save("street.wav", "low", 4, 0.7)
	soft := save("words/soft.wav", "high", 0.1, 0.001)
	clips := []calibration.Clip{{Path: save("words/loud.wav", "low", 0.1, 1), Label: "low"}, {Path: soft, Label: "high"}}
	streams := append(background(t, filepath.Dir(room[0]), false), background(t, street, false)...)
	streams = append(streams, wordStreams(t, clips, clean())...)
	streams = append(streams, stream("memory", isolated(map[string][]float64{"low": {0.8}})))

	opt := options(t)
	opt.Candidates, opt.List = []events.Options{events.Defaults().WithThreshold(0.2), events.Defaults()}, 100
	all := measure(t, streams, opt)
	p := all.Points[0]
	must.Equal(t, len(p.Alarms), p.All().FalseAlarms, "false alarms that are listed")
	found := map[string]calibration.Alarm{}
	for i, a := range p.Alarms {
		found[a.File] = a
		if i > 0 && a.Confidence > p.Alarms[i-1].Confidence {
			t.Errorf("confidence %v after %v", a.Confidence, p.Alarms[i-1].Confidence)
		}
	}
	for file, want := range map[string]calibration.Alarm{
		room[0]: {Start: 2, Label: "low"}, room[1]: {Start: 3, Label: "high"}, street: {Start: 4, Label: "low"}, "memory": {Start: 1, Label: "low"},
	} {
		if a := found[file]; a.Label != want.Label || a.Start < want.Start-0.1 || a.Start > want.Start+0.2 || a.End < a.Start+0.3 || a.End > a.Start+1.5 {
			t.Errorf("%s: %+v, expected %q at %v s", file, a, want.Label, want.Start)
		}
	}
	must.Equal(t, len(found), 4, "files with false alarms")
	if len(p.Lost) != 1 || p.Lost[0].File != soft || p.Lost[0].Label != "high" {
		t.Errorf("missed words %+v", p.Lost)
	}

	opt.List = 2
	for _, workers := range []int{1, 4} {
		opt.Workers = workers
		m := measure(t, streams, opt)
		for i, p := range m.Points {
			full := all.Points[i].Alarms
			must.Equal(t, fmt.Sprint(p.Alarms), fmt.Sprint(full[:min(2, len(full))]), "two false alarms of candidate %d", i)
		}
	}
	opt.List = 0
	if p := measure(t, streams, opt).Points[0]; p.Alarms != nil || p.Lost != nil {
		t.Errorf("lists %v and %v without List", p.Alarms, p.Lost)
	}
}

// A model stores the whole operating point: with it, the measurement is the same as before.
func TestDetectionIsWholePoint(t *testing.T) {
	m := toneModel(t)
	m.Meta.Detection = &model.Detection{Threshold: 0.4, OffThreshold: 0.2, Confirm: 2, Refractory: 0.3, Smoothing: 0.1, Offsets: []float64{-3, 0.5, 0}}
	streams := []calibration.Stream{stream("", tonemodel.Words()), stream("b", isolated(map[string][]float64{"low": {0.3, 1}, "high": {0.5}}))}
	measure := func(m *model.Model) calibration.Point {
		opt := calibration.Options{Candidates: []events.Options{events.DefaultsFor(m)}, Tolerance: 0.3}
		return must.Get(calibration.Measure(context.Background(), m, streams, opt))(t).Points[0]
	}
	first := measure(m)
	d := first.Detection()
	if !slices.Equal(d.Offsets, m.Meta.Detection.Offsets) || d.Smoothing != 0.1 || d.Confirm != 2 {
		t.Errorf("detection %+v", d)
	}
	m.Meta.Detection = d
	second := measure(m)
	must.Equal(t, fmt.Sprintf("%+v", second), fmt.Sprintf("%+v", first), "point of the stored form")
	d.Offsets[0] = 0
	must.Equal(t, first.Offsets[0], -3, "an offset of the stored form, which shares none with the point")
}
