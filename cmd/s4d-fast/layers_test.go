package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// inspect and the plots work for every kind of layer. What a kind does not have is an error.
func TestPlotLayerKinds(t *testing.T) {
	for kind, layer := range map[string]ssm.Config{
		"dss":  {Layer: ssm.LayerDSS, Init: ssm.LegS, Disc: ssm.ZOH, DState: 8, AReal: 0.5, DtMin: 0.01, DtMax: 0.1, LKernel: 64},
		"s4":   {Layer: ssm.LayerS4, Init: ssm.LegS, Disc: ssm.Bilinear, DState: 8, DtMin: 0.01, DtMax: 0.1, LKernel: 64},
		"fout": {Layer: ssm.LayerS4, Init: ssm.FouT, Disc: ssm.Bilinear, DState: 8, DtMin: 0.01, DtMax: 0.1, LKernel: 64},
		"s5":   {Layer: ssm.LayerS5, Init: ssm.LegS, Disc: ssm.ZOH, DState: 8, DtMin: 0.01, DtMax: 0.1},
		"lru":  {Layer: ssm.LayerLRU, Init: ssm.Ring, Disc: ssm.ZOH, DState: 8, RMax: 0.99},
	} {
		t.Run(kind, func(t *testing.T) {
			file, dir := saved(t, func(c *model.Config) { c.SSM = layer }), t.TempDir()
			var info inspection
			decode(t, ok(t, "inspect", file, "--json"), &info)
			poles := info.Poles[0]
			if poles.Modulus[0] <= 0 || poles.Modulus[1] >= 1 || poles.Modes == 0 {
				t.Errorf("poles %+v: expected some inside the unit circle", poles)
			}
			must.Equal(t, poles.HInf == nil, layer.MIMO(), "no largest gain")
			text := ok(t, "inspect", file)
			if !strings.Contains(text, "layer="+string(layer.Layer)) {
				t.Errorf("inspect does not name layer %q: %s", layer.Layer, text)
			}
			for _, plot := range []string{"poles", "kernels"} {
				picture := filepath.Join(dir, plot+".png")
				ok(t, "plot", plot, file, "--out", picture)
				mustBePNG(t, picture, 0, 0)
			}
			hinf := filepath.Join(dir, "hinf.png")
			if layer.MIMO() {
				checkRun(t, nil, []string{"plot", "hinf", file, "--out", hinf}, exitBadInput, "channels have no scores")
			} else {
				ok(t, "plot", "hinf", file, "--out", hinf)
			}
			small := filepath.Join(dir, "small.safetensors")
			if layer.Diagonal() {
				ok(t, "prune", file, small, "--keep", "0.5")
				ok(t, "inspect", file, "--scores")
			} else {
				checkRun(t, nil, []string{"prune", file, small, "--keep", "0.5"}, exitUsage, string(layer.Layer))
				checkRun(t, nil, []string{"inspect", file, "--scores"}, exitBadInput, string(layer.Layer))
			}
		})
	}
}

// plot all skips what a kind of layer does not have.
func TestPlotAllSkips(t *testing.T) {
	file, dir := saved(t, func(c *model.Config) {
		c.SSM = ssm.Config{Layer: ssm.LayerLRU, Init: ssm.Ring, Disc: ssm.ZOH, DState: 8, RMax: 0.99}
	}), t.TempDir()
	code, _, stderr := invoke(nil, "plot", "all", "--out", dir, "--model", file)
	must.Equal(t, code, exitOK, "exit code: %s", stderr)
	if want := "skipped " + filepath.Join(dir, "hinf.png") + ": "; !strings.Contains(stderr, want) {
		t.Errorf("%s: expected %q", stderr, want)
	}
}
