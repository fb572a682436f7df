package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/model"
)

// prune writes a model with fewer modes, and says so.
func TestPrune(t *testing.T) {
	from, to := digitsModel(t), filepath.Join(t.TempDir(), "small.safetensors")
	var p pruning
	if err := json.Unmarshal([]byte(ok(t, "prune", from, to, "--keep", "0.5", "--json")), &p); err != nil {
		t.Fatal(err)
	}
	m, err := model.Load(to)
	if err != nil {
		t.Fatal(err)
	}
	if p.Modes[1] != (p.Modes[0]+1)/2 || m.Config.SSM.Modes() != p.Modes[1] || m.Config.CountParams() != p.Parameters[1] || p.Parameters[1] >= p.Parameters[0] {
		t.Errorf("%+v, and a file of %d modes", p, m.Config.SSM.Modes())
	}
	if p.Microsecs == nil || !(p.Microsecs[1] > 0) {
		t.Errorf("stream's times %v", p.Microsecs)
	}
	if text := ok(t, "prune", from, to, "--keep", "1"); !strings.Contains(text, "µs a sample") || !strings.Contains(text, "parameters") {
		t.Errorf("text:\n%s", text)
	}
	for want, args := range map[string][]string{
		"keep 2": {from, to, "--keep", "2"}, "nowhere": {"nowhere.safetensors", to, "--keep", "0.5"}, ".safetensors": {from, "x.bin", "--keep", "0.5"},
		"name another file": {from, from, "--keep", "0.5"}, `task "fsdd" requires --data`: {from, to, "--keep", "0.5", "--task", "fsdd"},
	} {
		if code, _, stderr := invoke(nil, append([]string{"prune"}, args...)...); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("prune %v: exit code %d, stderr %s", args, code, stderr)
		}
	}
}

// prune evaluates on a run's own data: at its length and seed, not the preset's.
func TestPruneEvaluatesOnTheRun(t *testing.T) {
	run := delayRunDir(t, "run", "seed=7")
	best, to := filepath.Join(run, "best.safetensors"), filepath.Join(t.TempDir(), "small.safetensors")
	for _, where := range [][]string{
		{"--config", filepath.Join(run, "config.toml")},
		{"--task", "delay", "--set", "data.length=200", "--set", "data.delay=50", "--set", "data.eval_size=8", "--set", "seed=7"},
	} {
		var e evaluation
		decode(t, ok(t, append([]string{"eval", best, "--json"}, where...)...), &e)
		var p pruning
		decode(t, ok(t, append([]string{"prune", best, to, "--keep", "0.5", "--json"}, where...)...), &p)
		if p.N != 8 || p.RMSE == nil || p.RMSE[0] != *e.RMSE {
			t.Errorf("%v: prune finds %+v, eval %v", where, p, *e.RMSE)
		}
	}
	p := pruning{Microsecs: &[2]float64{0.02345, 0.01849}}
	var text strings.Builder
	if err := p.print(&text); err != nil || !strings.Contains(text.String(), "0.0234 → 0.0185 µs") {
		t.Errorf("%v, %s", err, text.String())
	}
}
