package model

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// forecaster returns a model that predicts one of two columns.
func forecaster(t *testing.T) *Model {
	t.Helper()
	c := tiny()
	c.DInput, c.DOutput, c.Pool, c.SSM.Bidirectional = 2, 1, PoolNone, false
	m := mustNew(t, c, 1)
	m.Meta = Meta{
		TargetMean: []float32{20}, TargetStd: []float32{3},
		Series: &Series{Mode: SeriesAnomaly, Columns: []string{"load", "degrees"}, Targets: []string{"degrees"}, Horizon: 24, Season: 168, Missing: MissingPrevious, Residual: []float32{0.5}, Window: 1000},
	}
	return m
}

func TestSeries(t *testing.T) {
	m := forecaster(t)
	got := must.Get(Read(bytes.NewReader(encode(t, m))))(t)
	if !reflect.DeepEqual(got.Meta, m.Meta) {
		t.Fatalf("read %+v, wrote %+v", got.Meta.Series, m.Meta.Series)
	}
	must.Equal(t, got.Meta.Series.TargetColumn(0), 1, "column of target 0")
	hash := m.Hash()
	m.Meta.Series.Horizon++
	if m.Hash() == hash {
		t.Error("the hash does not depend on the horizon")
	}
}

func TestBadSeries(t *testing.T) {
	for want, change := range map[string]func(m *Model){
		`mode "guess"`:                func(m *Model) { m.Meta.Series.Mode = "guess" },
		"1 columns for 2 input":       func(m *Model) { m.Meta.Series.Columns = []string{"degrees"} },
		"2 targets for 1 outputs":     func(m *Model) { m.Meta.Series.Targets = []string{"load", "degrees"} },
		"different names":             func(m *Model) { m.Meta.Series.Columns[0] = "degrees" },
		"season -1":                   func(m *Model) { m.Meta.Series.Season = -1 },
		"horizon 0":                   func(m *Model) { m.Meta.Series.Horizon = 0 },
		`pool "mean"`:                 func(m *Model) { m.Config.Pool = PoolMean },
		"bidirectional":               func(m *Model) { m.Config.SSM.Bidirectional = true },
		`target "rain" is not one of`: func(m *Model) { m.Meta.Series.Targets[0] = "rain" },
		"2 residuals for 1 targets":   func(m *Model) { m.Meta.Series.Residual = []float32{1, 2} },
	} {
		m := forecaster(t)
		change(m)
		must.Reject(m.WriteTo(new(bytes.Buffer)))(t, "model: meta: series: ", want)
	}
}
