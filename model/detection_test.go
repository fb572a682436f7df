package model

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// framewise returns a model that labels the frames of a filter bank, with an operating point.
func framewise(t *testing.T) *Model {
	t.Helper()
	f := filterbank.Default(8000)
	c := tiny()
	c.DInput, c.DOutput, c.Pool = f.Bands, 3, PoolNone
	m := mustNew(t, c, 1)
	m.Meta = Meta{
		Labels: []string{"yes", "no", "none"}, SampleRate: 8000, Filterbank: &f,
		Detection: &Detection{
			Threshold: 0.8, OffThreshold: 0.3, Confirm: 3, Refractory: 0.2, Smoothing: 0.1, Offsets: []float64{-1.5, 0.25, 0},
			FalseAlarmsPerHour: 0.5, MissRate: 0.08, Interval: [2]float64{0.06, 0.11}, BackgroundHours: 3.5, Words: 400,
		},
	}
	return m
}

func TestFilterbankAndDetection(t *testing.T) {
	m := framewise(t)
	got := must.Get(Read(bytes.NewReader(encode(t, m))))(t)
	if !reflect.DeepEqual(got.Meta, m.Meta) {
		t.Errorf("read %+v, wrote %+v", got.Meta, m.Meta)
	}
	must.Equal(t, m.Meta.PositionRate(), 50.0, "positions per second")
	hash := m.Hash()
	m.Meta.Detection = nil
	must.Equal(t, m.Hash(), hash, "hash without the operating point")
	m.Meta.Filterbank.Low++
	if m.Hash() == hash {
		t.Error("the hash does not depend on the filter bank")
	}
	m.Meta.Filterbank = nil
	if m.Hash() == hash {
		t.Error("the hash does not depend on the existence of a filter bank")
	}
	must.Equal(t, m.Meta.PositionRate(), 8000.0, "positions per second without a filter bank")
}

func TestBadFilterbanksAndDetections(t *testing.T) {
	for want, change := range map[string]func(m *Model){
		"hop 0: expected 1":                               func(m *Model) { m.Meta.Filterbank.Hop = 0 },
		"30 bands for a network that reads":               func(m *Model) { m.Meta.Filterbank.Bands = 30 },
		"sample rate 8000, expected that of":              func(m *Model) { m.Meta.SampleRate = 16000 },
		"rows of named columns":                           func(m *Model) { m.Meta.Series = series(m) },
		"detection: 2 offsets, expected one per label, 3": func(m *Model) { m.Meta.Detection.Offsets = []float64{1, 2} },
		"detection: the model has no labels":              func(m *Model) { m.Meta.Labels = nil },
		`linear input with d_input 41`:                    func(m *Model) { c := m.Config; c.DInput++; *m = *withMeta(mustNew(t, c, 1), m.Meta) },
		`embedding input with d_input 40`:                 func(m *Model) { c := m.Config; c.Encoder = EncoderEmbedding; *m = *withMeta(mustNew(t, c, 1), m.Meta) },
	} {
		m := framewise(t)
		change(m)
		must.Reject(m.WriteTo(new(bytes.Buffer)))(t, "model: meta: ", want)
	}
}

func withMeta(m *Model, meta Meta) *Model {
	m.Meta = meta
	return m
}

func series(m *Model) *Series {
	s := &Series{Mode: SeriesClassification}
	for i := range m.Config.DInput {
		s.Columns = append(s.Columns, string(rune('a'+i)))
	}
	return s
}
