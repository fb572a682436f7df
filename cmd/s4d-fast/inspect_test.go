package main

import (
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// inspect shows what a model of series reads and predicts.
func TestInspectSeries(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesAnomaly, func(m *model.Model) {
		m.Meta.Series.Window, m.Meta.Series.Season, m.Meta.Series.Missing = 64, 24, model.MissingPrevious
		m.Meta.TargetMean, m.Meta.TargetStd = []float32{20}, []float32{5}
	})
	text := regexp.MustCompile("  +").ReplaceAllString(ok(t, "inspect", path), "  ")
	contains(t, "inspect", text, "series  anomaly, 3 rows ahead, season of 24 rows, deviation over 64 rows\n", "columns  temp, load\n", "targets  temp\n",
		"identifier  room\n", "time  time\n", "missing values  previous\n", "input load  mean 300, standard deviation 90\n",
		"target temp  mean 20, standard deviation 5, RMSE of the forecast 2\n")
	path, _ = rowsModel(t, model.SeriesClassification, nil)
	contains(t, "inspect", ok(t, "inspect", path), "classification\n", "empty used\n", "an error\n")
}

// The scores of inspect are those of package ssm. The largest gain of a layer is unbounded if that
// of one of its SSMs is.
func TestInspectScores(t *testing.T) {
	path := saved(t, func(c *model.Config) { c.SSM.Init, c.SSM.Bidirectional = ssm.Lin, true })
	m := must.Get(model.Load(path))(t)
	m.Weights.Layers[1].Decay[5] = float32(math.Inf(-1)) // a mode of channel 1
	mixed := filepath.Join(t.TempDir(), "mixed.safetensors")
	must.Do(t, m.Save(mixed))
	var info inspection
	decode(t, ok(t, "inspect", mixed, "--scores", "--json"), &info)
	if len(info.Scores) != 2 {
		t.Fatalf("scores of %d layers, expected 2", len(info.Scores))
	}
	for i, unbounded := range []int{0, 1} {
		must.Equal(t, info.Poles[i].Unbounded, unbounded, "layer %d: unbounded SSMs", i)
		must.Equal(t, info.Poles[i].HInf == nil, unbounded > 0, "layer %d: no largest gain", i)
	}
	must.Equal(t, info.Poles[1].HInfAngle == nil, true, "layer 1: no angle of the largest gain")
	for i, layer := range info.Scores {
		d := m.SSMParams(i).Discretize(ssm.ZOH, 1)
		modes := d.Gains().HInf()
		for h, one := range layer.SSMs {
			must.Equal(t, one.HInf == 0, i == 1 && h == 1, "layer %d, SSM %d: no score", i, h)
			if one.HInf != 0 {
				must.Equal(t, float64(one.HInf), math.Pow(max(d.HInf(h).Gain, d.HInf(d.H+h).Gain), 2), "layer %d, SSM %d: score", i, h)
			}
			for n, mode := range one.Modes {
				at := h*d.M + n
				want := modes[at]
				must.Equal(t, mode.HInf == 0, math.IsInf(want, 1), "layer %d, SSM %d, mode %d: no score", i, h, n)
				if mode.HInf != 0 {
					must.Equal(t, float64(mode.HInf), want, "layer %d, SSM %d, mode %d: score", i, h, n)
				}
			}
		}
	}
	text := ok(t, "inspect", mixed, "--scores")
	for _, part := range []string{"H∞ unbounded (1 of 4 SSMs)", "layer 1\nssm  Δ", "unbounded", "modes aliased"} {
		if !strings.Contains(text, part) {
			t.Errorf("inspect --scores does not print %q:\n%s", part, text)
		}
	}
	if text := ok(t, "inspect", saved(t, func(c *model.Config) { c.SSM.Init, c.SSM.Param = ssm.DFouTHalf, ssm.ParamDiscrete })); !strings.Contains(text, "modes beyond π (mirrored)") {
		t.Errorf("angles on the full circle:\n%s", text)
	}
}

// inspect prints the settings that are not zero.
func TestInspectSettings(t *testing.T) {
	text := ok(t, "inspect", saved(t, func(c *model.Config) {
		c.Norm, c.NormMomentum, c.SSM.Param, c.SSM.Bandlimit = model.NormBatch, 0.05, ssm.ParamDiscrete, 0.9
	}))
	contains(t, "inspect", text, "norm=batch, norm_momentum=0.05, ", "mixing=glu, n_layers=2, ", "bandlimit=0.9, ", "init=dfout, ", "param=discrete")
}
