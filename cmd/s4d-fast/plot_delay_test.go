package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// delayRunDir trains a small delay network for a few steps and returns its run folder.
func delayRunDir(t *testing.T, name string, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	args := []string{"train", "--out", dir}
	for _, s := range append([]string{"data.length=200", "data.delay=50", "ssm.d_state=16", "data.train_size=64", "data.eval_size=8", "train.epochs=1", "train.batch=16"}, set...) {
		args = append(args, "--set", s)
	}
	ok(t, args...)
	return dir
}

// A run has one result: train, eval and the title of the plot report the same number, over the
// whole validation set.
func TestOneResultOfDelay(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	stdout := ok(t, "train", "--out", out, "--set", "data.length=200", "--set", "data.delay=50", "--set", "ssm.d_state=16",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=3", "--set", "train.batch=16")
	_, result, _ := strings.Cut(stdout, ": ")
	result, _, _ = strings.Cut(result, " (an output of zeros")
	if !strings.HasPrefix(result, "relative squared error ") {
		t.Fatalf("train prints %q", stdout)
	}
	if got := ok(t, "eval", filepath.Join(out, "best.safetensors")); !strings.Contains(got, result) {
		t.Errorf("eval prints %q, train %q", got, result)
	}
	mustHave(t, drawn(t, 0, 0, "delay", out), "Delay task: repeat the input 50 samples (12.5 ms) later. Validation set: "+result,
		"kernel of run: S4D-DFouT, ξ = 0.0025 ("+result+")")
}

func TestPlotDelay(t *testing.T) {
	one, two := delayRunDir(t, "one"), delayRunDir(t, "two", "data.delay=70", "ssm.init=lin", "ssm.dt_max=0.01")
	mustHave(t, drawn(t, 1200, 3*320+80, "delay", one), "output of the network", "target: the input, delayed", "τ = 50 samples", "|K[l]|", "lag l [samples of 0.25 ms]")
	mustHave(t, drawn(t, 0, 0, "delay", filepath.Join(one, "best.safetensors"), two), "output of best.safetensors: S4D-DFouT, ξ = 0.0025", "τ = 70 samples")
	alone := write(t, "alone.safetensors", read(t, filepath.Join(one, "best.safetensors")))
	mustHave(t, drawn(t, 1200, 3*320+80, "delay", alone), "τ = 50 samples")
}
