package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// delayRunDir trains a small delay network for a few steps and returns its run folder.
func delayRunDir(t *testing.T, name string, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	ok(t, slices.Concat([]string{"train", "--out", dir}, shortDelay, sets("data.length=200", "data.delay=50", "ssm.d_state=16", "train.batch=16"), sets(set...))...)
	return dir
}

// A run has one result: train, eval and the title of the plot report the same number, over the
// whole validation set. The run draws the plot, and its folder takes no other run.
func TestOneResultOfDelay(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	stdout := ok(t, slices.Concat([]string{"train", "--out", out}, shortDelay, sets("data.length=200", "data.delay=50", "ssm.d_state=16", "train.epochs=3", "train.batch=16"))...)
	mustBePNG(t, filepath.Join(out, "delay.png"), 0, 0)
	contains(t, "stdout", stdout, "delay.png", "best.safetensors")
	checkRun(t, nil, []string{"train", "--out", out}, exitUsage, out, "already holds a run")
	checkRun(t, nil, []string{"train", "fsdd", "--data", "missing", "--out", out}, exitUsage, out, "already holds a run") // before the data
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
