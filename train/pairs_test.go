package train

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// pairs returns pairs of sequences of the tokens 0 to 3. They are linked if both consist of 0 and
// 1, or both of 2 and 3.
func pairs(part, n int) (all []dataset.Example) {
	r := random.Sampler{Stream: random.New(3, random.Signal, part, 0)}
	for range n {
		var kinds [2]int
		var tokens [2][]int32
		for k := range tokens {
			kinds[k] = r.Below(2)
			for range 5 + r.Below(20) {
				tokens[k] = append(tokens[k], int32(2*kinds[k]+r.Below(2)))
			}
		}
		e := dataset.Example{Tokens: tokens[0], Other: tokens[1]}
		if kinds[0] == kinds[1] {
			e.Label = 1
		}
		all = append(all, e)
	}
	return all
}

// A network of pairs learns to compare.
func TestPairs(t *testing.T) {
	c := run{Config: preset(t, "retrieval"), Out: filepath.Join(t.TempDir(), "run")}
	for _, s := range []string{
		"threads=2", "model.d_model=16", "model.n_layers=1", "model.norm=layer", "ssm.d_state=8", "train.epochs=15", "train.batch=8",
		"optim.lr=0.02",
	} {
		must.Do(t, c.Set(s))
	}
	c.data = must.Get(dataset.FromSlices(dataset.Info{Pairs: true, Labels: []string{"unlinked", "linked"}}, pairs(0, 120), pairs(1, 40), nil))(t)
	run := fit(t, c)
	if best := run.BestEpoch(); *best.ValAccuracy < 0.95 {
		t.Errorf("validation accuracy %v", *best.ValAccuracy)
	}
	m := run.Best()
	if !m.Config.Pairs || m.Meta.Labels[1] != "linked" {
		t.Errorf("configuration %+v, labels %q", m.Config, m.Meta.Labels)
	}
	if _, err := Evaluate(t.Context(), m, ramps{3, -1}, EvalOptions{Info: rampInfo}); err == nil {
		t.Error("a task of single sequences was evaluated")
	}
}

// ablate.layers removes the SSMs of the later layers from the network and the file.
func TestAblation(t *testing.T) {
	c := tiny(t, "model.n_layers=3", "ablate.layers=1", "train.epochs=1")
	m := fit(t, c).Best()
	must.Equal(t, m.Config.SSMLayers, 1, "ssm_layers")
	if len(m.Weights.Layers[0].C) == 0 {
		t.Error("no values of C in the first layer, expected some")
	}
	must.Equal(t, len(m.Weights.Layers[1].C)+len(m.Weights.Layers[2].D), 0, "values of C and D in the other layers")
	recorded, err := LoadRun(c.Out)
	if err != nil || recorded.Ablate.Layers != 1 {
		t.Errorf("the run's configuration has ablate.layers %d, error %v", recorded.Ablate.Layers, err)
	}
	c = tiny(t, "ablate.layers=3")
	must.Fail(t, c.Validate(), "ablate.layers 3: expected at most 2")
}
