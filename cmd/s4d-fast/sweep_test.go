package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// sweep writes a table and a plot; run again, it changes nothing.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grid")
	steps := sets("ssm.init=lin,dfout", "ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.01,0.03,0.1")
	args := slices.Concat([]string{"sweep", "delay", "--preset", "step", "--out", dir}, shortDelay, steps)
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

// Parts of a sweep and --collect write the table and the plot of the undivided sweep.
func TestSweepParts(t *testing.T) {
	args := func(dir string, more ...string) []string {
		return slices.Concat([]string{"sweep", "delay", "--set", "ssm.dt_max=0.1,0.2,0.3", "--out", dir}, shortDelay, more)
	}
	whole, dir := t.TempDir(), t.TempDir()
	ok(t, args(whole)...)
	ok(t, args(dir, "--part", "0/2")...)
	checkRun(t, nil, args(dir, "--collect"), exitFailed, "1 of 3 runs are not complete: 2 (ssm.dt_max=0.2 seed=1)")
	ok(t, args(dir, "--part", "1/2")...)
	ok(t, args(dir, "--collect")...)
	if !bytes.Equal(read(t, filepath.Join(dir, "sweep.png")), read(t, filepath.Join(whole, "sweep.png"))) {
		t.Error("sweep.png differs from that of the undivided sweep")
	}
	checkRun(t, nil, args(dir, "--part", "2/2"), exitUsage, "--part: ", `"2/2": expected I/N with I from 0 to N-1`)
	checkRun(t, nil, args(dir, "--part", "0/2", "--collect"), exitUsage, "can't be used together")
}
