package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// sweep writes a table and a plot; run again, it changes nothing.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grid")
	args := []string{"sweep", "delay", "--preset", "step", "--set", "data.length=64", "--set", "data.delay=16", "--set", "data.train_size=64", "--set", "data.eval_size=64", "--set", "ssm.d_state=8",
		"--set", "train.epochs=1", "--set", "ssm.init=lin,dfout", "--set", "ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.01,0.03,0.1", "--out", dir}
	out := ok(t, args...)
	for _, name := range []string{"sweep.csv", "sweep.png", "ssm.init=dfout,ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.03,seed=1/best.safetensors"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	table := must.Get(os.ReadFile(filepath.Join(dir, "sweep.csv")))(t)
	equal(t, "lines of sweep.csv", strings.Count(string(table), "\n"), 1+6)
	contains(t, "stdout", out, "sweep.csv", "sweep.png")
	redrawn := filepath.Join(t.TempDir(), "again.png")
	ok(t, "plot", "sweep", dir, "--out", redrawn)
	if !bytes.Equal(read(t, redrawn), read(t, filepath.Join(dir, "sweep.png"))) {
		t.Error("plot sweep and sweep draw different plots")
	}
	ok(t, args...)
	if again, _ := os.ReadFile(filepath.Join(dir, "sweep.csv")); string(again) != string(table) {
		t.Errorf("the second time\n%s\nthe first\n%s", again, table)
	}
	checkRun(t, nil, []string{"sweep", "delay", "--preset", "steps", "--out", dir}, exitUsage, "kernel-length, ssm-layers, step, step-max")
	checkRun(t, nil, []string{"sweep", "delay", "--set", "ssm.init", "--out", dir}, exitUsage, "ssm.init")
}
