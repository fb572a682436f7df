package model_test

import (
	"cmp"
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

// scanModel returns a network of two S5 or LRU layers, whose C differ in size.
func scanModel(t *testing.T, change func(*model.Config)) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 3, 5, 2
	c.SSM = ssm.Config{Layer: ssm.LayerS5, DState: 24, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 1e-3, DtMax: 0.1}
	change(&c)
	m := must.Get(model.New(c, 1))(t)
	for i := range m.Weights.Layers[1].C {
		m.Weights.Layers[1].C[i] *= float32(1 + i%7)
	}
	return m
}

// silenced returns the model with C = 0 in the modes that are not in the list, and fitted in the
// others.
func silenced(m *model.Model, keep [][]int) *model.Model {
	out := &model.Model{Config: m.Config, Meta: m.Meta, Weights: model.NewWeights(m.Config)}
	for i, x := range out.Weights.Tensors() {
		copy(x.Data, m.Weights.Tensors()[i].Data)
	}
	modes := m.Config.SSM.Modes()
	for i := range out.Weights.Layers {
		p, fit := m.SSMParams(i), m.SSMParams(i).ModeGains().Fit(0, keep[i])
		clear(out.Weights.Layers[i].C)
		for row := range len(p.C) / modes {
			fitted, _, _ := fit.Solve(p.C[row*modes : (row+1)*modes])
			for k, n := range keep[i] {
				copy(out.Weights.Layers[i].C[2*(row*modes+n):], []float32{float32(real(fitted[k])), float32(imag(fitted[k]))})
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
			var best [][]int
			for i := range m.Config.NLayers {
				score, order := m.SSMParams(i).ModeGains().LAST(), make([]int, modes)
				for n := range order {
					order[n] = n
				}
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
				best = append(best, slices.Sorted(slices.Values(order[:kept])))
			}
			p, _, err := m.Prune(float64(kept) / float64(modes))
			must.Do(t, err)
			must.Equal(t, p.Config.SSM.Modes(), kept, "%s: modes", name)
			if blocks := m.Config.SSM.Blocks; blocks > 0 && kept%blocks == 0 {
				must.Equal(t, p.Config.SSM.Blocks, blocks, "%s: blocks of %d modes", name, kept)
			} else {
				must.Equal(t, p.Config.SSM.Blocks, 0, "%s: blocks of %d modes", name, kept)
			}
			comparePruned(t, fmt.Sprintf("%s, %d modes", name, kept), p, silenced(m, best))
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
