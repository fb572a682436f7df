package model_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// scanModel returns a network of two S5 or LRU layers.
func scanModel(t *testing.T, change func(*model.Config)) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 3, 5, 2
	c.SSM = ssm.Config{Layer: ssm.LayerS5, DState: 24, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 1e-3, DtMax: 0.1}
	change(&c)
	return must.Get(model.New(c, 1))(t)
}

// silenced returns the model with the C of the pruned one in the modes that it has, and 0 in
// others.
func silenced(t *testing.T, m, pruned *model.Model) *model.Model {
	t.Helper()
	out := &model.Model{Config: m.Config, Meta: m.Meta, Weights: model.NewWeights(m.Config)}
	for i, x := range out.Weights.Tensors() {
		copy(x.Data, m.Weights.Tensors()[i].Data)
	}
	modes, kept := m.Config.SSM.Modes(), pruned.Config.SSM.Modes()
	for i := range out.Weights.Layers {
		c, small, poles := out.Weights.Layers[i].C, pruned.Weights.Layers[i].C, m.SSMParams(i).ModeGains().LogLambda
		clear(c)
		for k, pole := range pruned.SSMParams(i).ModeGains().LogLambda {
			n := slices.Index(poles, pole)
			for row := range len(c) / (2 * modes) {
				copy(c[2*(row*modes+n):], small[2*(row*kept+k):][:2])
			}
		}
	}
	return out
}

// A pruned network of S5 or LRU layers computes what the original one does with C = 0 in the
// removed modes and the fitted C in the others. Its file loads, and it streams if it is not
// bidirectional.
func TestPruneScans(t *testing.T) {
	lru := func(c *model.Config) {
		c.SSM = ssm.Config{Layer: ssm.LayerLRU, DState: 12, Init: ssm.Ring, Disc: ssm.ZOH}
	}
	for name, change := range map[string]func(*model.Config){
		"s5": func(*model.Config) {},
		"s5, bilinear, bidirectional, blocks": func(c *model.Config) {
			c.SSM.Disc, c.SSM.Bidirectional, c.SSM.Blocks, c.SSM.ClipEigs = ssm.Bilinear, true, 3, true
		},
		"lru":                lru,
		"lru, bidirectional": func(c *model.Config) { lru(c); c.SSM.Bidirectional = true },
	} {
		m := scanModel(t, change)
		modes := m.Config.SSM.Modes()
		for _, kept := range []int{1, 5, 6, modes} {
			p, lost, err := m.Prune(float64(kept) / float64(modes))
			must.Do(t, err)
			reference := silenced(t, m, p)
			if kept == modes {
				reference = m
			}
			if (kept == modes) != (lost == 0) || !(lost < 1) {
				t.Errorf("%s, %d modes: a share of %g is lost", name, kept, lost)
			}
			must.Equal(t, p.Config.SSM.Modes(), kept, "%s: modes", name)
			if blocks := m.Config.SSM.Blocks; blocks > 0 && kept%blocks == 0 {
				must.Equal(t, p.Config.SSM.Blocks, blocks, "%s: blocks of %d modes", name, kept)
			} else {
				must.Equal(t, p.Config.SSM.Blocks, 0, "%s: blocks of %d modes", name, kept)
			}
			comparePruned(t, fmt.Sprintf("%s, %d modes", name, kept), p, reference)
		}
	}
}

// comparePruned saves and loads a pruned model. Its outputs in both modes of running are those of
// the reference.
func comparePruned(t *testing.T, name string, pruned, reference *model.Model) {
	t.Helper()
	const length = 300
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, pruned.Save(path))
	pruned = must.Get(model.Load(path))(t)
	x := make([]float32, pruned.Config.DInput*length)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i) / 50))
	}
	evaluate := func(m *model.Model) []float32 {
		net := must.Get(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: length, Workers: 1}))(t)
		defer net.Close()
		return slices.Clone(net.Forward(convmode.Batch{Size: 1, Len: length, X: x}))
	}
	want := evaluate(reference)
	compare := func(mode string, got []float32) {
		t.Helper()
		for i, v := range got {
			if !(math.Abs(float64(v-want[i])) <= 1e-5) {
				t.Errorf("%s, %s: output %v, expected %v", name, mode, got, want)
				return
			}
		}
	}
	compare("evaluated", evaluate(pruned))
	if !pruned.Config.SSM.Bidirectional {
		compare("streamed", must.Get(recurrent.New(pruned, recurrent.Options{}))(t).NewStream().Process(x, length))
	}
}
