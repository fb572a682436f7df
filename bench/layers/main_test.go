package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A causal network has all times, a bidirectional one none of a stream.
func TestRow(t *testing.T) {
	var examples []dataset.Example
	for i := range 8 {
		examples = append(examples, dataset.Example{X: noise(32), Label: i % 2})
	}
	data := must.Get(dataset.FromSlices(dataset.Info{Name: "noise", Channels: 1, Labels: []string{"a", "b"}}, examples, examples, nil))(t)
	for _, bidirectional := range []bool{false, true} {
		cfg := train.Default()
		cfg.Model.DModel, cfg.Model.NLayers, cfg.Train.Epochs, cfg.Train.Batch = 4, 1, 2, 4
		cfg.SSM.Layer, cfg.SSM.Init, cfg.SSM.DState, cfg.SSM.Bidirectional = ssm.LayerDSS, ssm.LegS, 4, bidirectional
		dir := filepath.Join(t.TempDir(), "run")
		trainer := must.Get(train.New(t.Context(), cfg, data, train.Options{Dir: dir}))(t)
		must.Do(t, trainer.Fit(t.Context()))
		trainer.Close()
		r := must.Get(load(dir, 32, 1))(t)
		defer r.net.Close()
		r.measure()
		line := r.String()
		if !strings.HasPrefix(line, "| run | dss, legs | ") || !strings.Contains(line, " | 4 | 50.00 % | ") {
			t.Errorf("%s: expected the run, its layer, 4 steps and an accuracy of 50 %%", line)
		}
		must.Equal(t, strings.HasSuffix(line, "– | – |"), bidirectional, "no times of a stream: %s", line)
	}
	must.Reject(load(t.TempDir(), 32, 1))(t, "config.toml")
}
