package service

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// With a model that labels every frame, the service returns the events of a Detector, also across a
// shutdown at any sample.
func TestFramewise(t *testing.T) {
	load := func(t *testing.T) *model.Model { return must.Get(tonemodel.NewFramewise())(t) }
	resumes(t, load, len(tonemodel.Words().Tones), 162, 9474, 40002, 2*len(tonemodel.Words().Samples)-2)
}

// With every other kind of layer, the service returns the events of a Detector, also across a
// shutdown.
func TestLayers(t *testing.T) {
	for _, layer := range tonemodel.Layers() {
		t.Run(string(layer.Layer), func(t *testing.T) {
			resumes(t, func(t *testing.T) *model.Model { return must.Get(tonemodel.Untrained(toneModel(t, 0), layer))(t) },
				7, 46202, 50002) // within a word
		})
	}
}

// resumes interrupts uploads by a shutdown at the given bytes, and compares their events with those
// of a Detector.
func resumes(t *testing.T, load func(t *testing.T) *model.Model, count int, cuts ...int) {
	t.Helper()
	m := load(t)
	pcm := encode(tonemodel.Words().Samples)
	var all []report.Event
	for _, e := range must.Get(must.Get(events.New(m, events.DefaultsFor(m)))(t).Recognize(decodePCM(pcm)))(t) {
		all = append(all, report.NewEvent(e, func(n int64) int64 { return n }))
	}
	if len(all) != count || all[0].Confidence == all[1].Confidence {
		t.Fatalf("events %v, expected %d, the first two with different confidences", all, count)
	}
	want := fmt.Sprint(all)
	for _, cut := range cuts {
		t.Run(fmt.Sprint(cut/2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				keep := func(c *Options) { c.Snapshots = dir }
				first := shutDownUpload(startService(t, load(t), keep), pcm[:cut])
				checkLine(t, "interrupted", first.err, "shutdown")
				at := *first.err.Samples
				path := fmt.Sprintf("/v1/streams/mine?format=s16le&events=%d", len(first.events))
				_, body := startService(t, load(t), keep).post(path, bytes.NewReader(pcm[2*at:]))
				second := parse(t, body)
				must.Equal(t, *second.start.Samples, at, "resumes at sample")
				must.Equal(t, fmt.Sprint(append(first.events, second.events...)), want, "events")
			})
		})
	}
}

// A filter bank has one rate: the service rejects another one and names the remedy.
func TestFramewiseRate(t *testing.T) {
	m := must.Get(tonemodel.NewFramewise())(t)
	opt := events.DefaultsFor(m)
	opt.SampleRate = 16000
	must.Reject(New(m, opt, Defaults()))(t, "sampling rate 16000 Hz, expected 8000 Hz", "resample the audio")
}
