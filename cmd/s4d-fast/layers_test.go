package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
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
			must.Equal(t, poles.Aliased == nil, layer.Layer == ssm.LayerS4 || layer.Layer == ssm.LayerLRU, "no count of aliased modes")
			text := ok(t, "inspect", file)
			must.Equal(t, strings.Contains(text, "aliased"), poles.Aliased != nil, "inspect prints a count of aliased modes")
			if !strings.Contains(text, "layer="+string(layer.Layer)) {
				t.Errorf("inspect does not name layer %q: %s", layer.Layer, text)
			}
			for _, plot := range []string{"poles", "kernels"} {
				picture := filepath.Join(dir, plot+".png")
				ok(t, "plot", plot, file, "--out", picture)
				mustBePNG(t, picture, 0, 0)
			}
			hinf := filepath.Join(dir, "hinf.png")
			if layer.Layer == ssm.LayerLRU {
				checkRun(t, nil, []string{"plot", "hinf", file, "--out", hinf}, exitBadInput, "no step Δ", "inspect --scores")
			} else {
				ok(t, "plot", "hinf", file, "--out", hinf)
			}
			small := filepath.Join(dir, "small.safetensors")
			if layer.Layer != ssm.LayerS4 {
				ok(t, "prune", file, small, "--keep", "0.5")
				must.Equal(t, must.Get(model.Load(small))(t).Config.SSM.Modes(), layer.Modes()/2, "modes after pruning")
				ok(t, "inspect", file, "--scores")
			} else {
				checkRun(t, nil, []string{"prune", file, small, "--keep", "0.5"}, exitUsage, string(layer.Layer))
				checkRun(t, nil, []string{"inspect", file, "--scores"}, exitBadInput, string(layer.Layer))
			}
		})
	}
}

// Every kind of layer trains on a table. A stream of its rows ends with the outputs of eval. DSS
// and S4 convert to PyTorch and back.
func TestTrainLayerKinds(t *testing.T) {
	const ids, length = 6, 40
	dir := t.TempDir()
	draw, csv := random.New(1, random.Signal, 0, 0), "id,size,x\n"
	for i := range ids * length {
		csv += fmt.Sprintf("%d,%d,%.3f\n", i/length, i/length%3, draw.Normal(uint64(i)))
	}
	file := filepath.Join(dir, "table.csv")
	testfiles.Write(t, file, csv)
	for kind, set := range map[string][]string{
		"dss":  {"ssm.layer=dss", "ssm.init=legs", "ssm.train_b=true"},
		"s4":   {"ssm.layer=s4", "ssm.init=legs", "ssm.disc=bilinear"},
		"fout": {"ssm.layer=s4", "ssm.init=fout", "ssm.disc=bilinear"},
		"s5":   {"ssm.layer=s5", "ssm.init=legs"},
		"lru":  {"ssm.layer=lru", "ssm.init=ring", "ssm.r_max=0.99"},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"train", "series", "--data", file, "--id", "id", "--target", "size", "--mode", "regression", "--out", dir}, small...)
			ok(t, slices.Concat(args, sets("model.norm=layer"), sets(set...))...)
			best, predictions := filepath.Join(dir, "best.safetensors"), filepath.Join(dir, "predictions.jsonl")
			ok(t, "eval", best, "--data", file, "--split", "all", "--predictions", predictions)
			evaluated := strings.Split(strings.TrimSpace(string(read(t, predictions))), "\n")
			_, rows, _ := streamRows(t, csv, best)
			must.Equal(t, fmt.Sprint(len(evaluated), len(rows)), fmt.Sprint(ids, ids*length), "series and rows")
			var want, got []float32
			for i, text := range evaluated {
				var line predictionLine
				decode(t, text, &line)
				want, got = append(want, line.Output...), append(got, rows[(i+1)*length-1].Output...)
			}
			slices.Sort(want) // eval lists the training set first
			slices.Sort(got)
			equalFloats(t, "last outputs of the stream", got, want)
			checkpoint, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "back.safetensors")
			if kind == "s5" || kind == "lru" {
				checkRun(t, nil, []string{"convert", best, checkpoint}, exitBadInput, fmt.Sprintf("layer %q", kind))
				return
			}
			flags := strings.Fields(ok(t, "convert", best, checkpoint))
			ok(t, append([]string{"convert", checkpoint, back}, flags...)...)
			equalFloats(t, "output after two conversions", modelOutput(t, must.Get(model.Load(back))(t)), modelOutput(t, must.Get(model.Load(best))(t)))
		})
	}
}

func equalFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	must.Equal(t, len(got), len(want), "%s: length", what)
	for i, v := range got {
		if !(math.Abs(float64(v-want[i])) <= 1e-5) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
}
