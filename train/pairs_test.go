package train

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// pairFiles writes a small data set in the layout of LRA's Retrieval. Two texts are linked if both
// consist of the letters a and b, or both of c and d.
func pairFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	r := random.New(3, random.Signal, 0, 0)
	at := uint64(0)
	draw := func(n int) int {
		at++
		return int(r.Uint64(at) % uint64(n))
	}
	for name, n := range map[string]int{"train": 120, "eval": 40} {
		var lines strings.Builder
		for range n {
			var kinds [2]int
			var texts [2]string
			for k := range texts {
				kinds[k] = draw(2)
				for range 5 + draw(20) {
					texts[k] += string([]string{"ab", "cd"}[kinds[k]][draw(2)])
				}
			}
			linked := 0
			if kinds[0] == kinds[1] {
				linked = 1
			}
			fmt.Fprintf(&lines, "%d\tX\tY\t%s\t%s\n", linked, texts[0], texts[1])
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "new_aan_pairs."+name+".tsv"), []byte(lines.String()), 0o666))
	}
	return dir
}

// A network of pairs learns to compare. The output for a pair does not depend on the others of its
// batch.
func TestRetrieval(t *testing.T) {
	c := preset(t, "retrieval")
	for _, s := range []string{
		"threads=2", "model.d_model=16", "model.n_layers=1", "model.norm=layer", "ssm.d_state=8", "train.epochs=15", "train.batch=8",
		"optim.lr=0.02",
	} {
		must.Do(t, c.Set(s))
	}
	c.Data.Dir, c.Out = pairFiles(t), filepath.Join(t.TempDir(), "run")
	run := fit(t, c)
	if best := run.Best(); *best.ValAccuracy < 0.95 {
		t.Errorf("validation accuracy %v", *best.ValAccuracy)
	}
	m := must.Get(run.BestModel())(t)
	if !m.Config.Pairs || m.Meta.Labels[1] != "linked" {
		t.Errorf("configuration %+v, labels %q", m.Config, m.Meta.Labels)
	}
	var predictions [2][]Prediction
	for i, batch := range []int{1, 7} {
		must.Get(Evaluate(m, run.data.Val, EvalOptions{Info: run.data.Info, Batch: batch, Each: func(p Prediction) error {
			predictions[i] = append(predictions[i], p)
			return nil
		}}))(t)
	}
	if len(predictions[0]) != 40 || len(predictions[1]) != 40 {
		t.Fatalf("%d and %d predictions of 40 pairs", len(predictions[0]), len(predictions[1]))
	}
	for i, p := range predictions[0] {
		q := predictions[1][i]
		must.Equal(t, p.Index, q.Index, "index of pair %d alone and in a batch", i)
		must.Equal(t, p.Class, q.Class, "class of pair %d alone and in a batch", i)
		if slices.ContainsFunc([]int{0, 1}, func(k int) bool {
			return math.Abs(float64(p.Logits[k]-q.Logits[k])) > 1e-4*(1+math.Abs(float64(p.Logits[k])))
		}) {
			t.Errorf("pair %d alone: %v, in a batch: %v", i, p.Logits, q.Logits)
		}
	}
	if _, err := Evaluate(m, ramps{3, -1}, EvalOptions{Info: rampInfo}); err == nil {
		t.Error("a task of single sequences was evaluated")
	}
}

// ablate.layers removes the SSMs of the later layers from the network and the file.
func TestAblation(t *testing.T) {
	c := tiny(t, "model.n_layers=3", "ablate.layers=1", "train.epochs=1")
	m := must.Get(fit(t, c).BestModel())(t)
	must.Equal(t, m.Config.SSMLayers, 1, "ssm_layers")
	if len(m.Weights.Layers[0].C) == 0 {
		t.Error("no values of C in the first layer, expected some")
	}
	if c := m.Weights.Layers[1].C; c != nil {
		t.Errorf("C of the second layer is %v, expected none", c)
	}
	if d := m.Weights.Layers[2].D; d != nil {
		t.Errorf("D of the third layer is %v, expected none", d)
	}
	recorded, err := LoadRun(c.Out)
	if err != nil || recorded.Ablate.Layers != 1 {
		t.Errorf("the run's configuration has ablate.layers %d, error %v", recorded.Ablate.Layers, err)
	}
	c = tiny(t, "ablate.layers=3")
	must.Fail(t, c.Validate(), "ablate.layers 3: expected at most 2")
}
