package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// prune writes a model with fewer modes and prints both sizes.
func TestPrune(t *testing.T) {
	from, to := digitsModel(t), filepath.Join(t.TempDir(), "small.safetensors")
	var p pruning
	decode(t, ok(t, "prune", from, to, "--keep", "0.5", "--json"), &p)
	m := must.Get(model.Load(to))(t)
	equal(t, "modes kept", p.Modes[1], (p.Modes[0]+1)/2)
	equal(t, "modes in the file", m.Config.SSM.Modes(), p.Modes[1])
	equal(t, "parameters in the file", m.Config.CountParams(), p.Parameters[1])
	if p.Parameters[1] >= p.Parameters[0] {
		t.Errorf("%d parameters, not fewer than %d", p.Parameters[1], p.Parameters[0])
	}
	if p.Microsecs == nil {
		t.Error("no streaming times")
	} else if !(p.Microsecs[1] > 0) {
		t.Errorf("streaming times %v", *p.Microsecs)
	}
	contains(t, "prune", ok(t, "prune", from, to, "--keep", "1"), "µs per sample", "parameters")
	var global pruning
	decode(t, ok(t, "prune", from, to, "--keep", "0.5", "--global", "--json"), &global)
	m = must.Get(model.Load(to))(t)
	equal(t, "modes in the file with --global", m.Config.SSM.Modes(), global.Modes[1])
	equal(t, "modes before", global.Remaining[0], m.Config.CountSSM()*m.Config.DModel*global.Modes[0])
	equal(t, "modes that remain", global.Remaining[1], global.Remaining[0]/2)
	contains(t, "prune --global", ok(t, "prune", from, to, "--keep", "0.25", "--global"), "modes in all")
	for want, args := range map[string][]string{
		"keep 2": {from, to, "--keep", "2"}, "nowhere": {"nowhere.safetensors", to, "--keep", "0.5"}, ".safetensors": {from, "x.bin", "--keep", "0.5"},
		"name another file": {from, from, "--keep", "0.5"}, "nodata": {from, to, "--keep", "0.5", "--data", "nodata"},
	} {
		code, _, stderr := invoke(nil, append([]string{"prune"}, args...)...)
		if code == exitOK {
			t.Errorf("prune %q succeeded", args)
		}
		contains(t, fmt.Sprintf("stderr of prune %q", args), stderr, want)
	}
}

// A pruned detector keeps its operating point. The error rates of the whole network are dropped.
func TestPruneDropsTheMeasurement(t *testing.T) {
	to := filepath.Join(t.TempDir(), "small.safetensors")
	code, _, stderr := invoke(nil, "prune", "digits", to, "--keep", "0.5")
	equal(t, "exit code", code, exitOK)
	contains(t, "stderr", stderr, "run s4d-fast calibrate again")
	before, after := must.Get(pretrained.Load("digits"))(t).Meta.Detection, must.Get(model.Load(to))(t).Meta.Detection
	if !before.Measured() || after.Measured() || after.MissRate != 0 || after.FalseAlarmsPerHour != 0 {
		t.Errorf("measured before pruning: %+v, after: %+v", before, after)
	}
	equal(t, "threshold", after.Threshold, before.Threshold)
	equal(t, "confirmations", after.Confirm, before.Confirm)
	equal(t, "offsets", fmt.Sprint(after.Offsets), fmt.Sprint(before.Offsets))
	if text := ok(t, "inspect", to); strings.Contains(text, "miss rate") {
		t.Errorf("inspect prints a miss rate that was not measured:\n%s", text)
	}
	contains(t, "inspect of the model", ok(t, "inspect", "digits"), "miss rate")
}

// Times are printed with three digits.
func TestPruneTimes(t *testing.T) {
	p := pruning{Microsecs: &[2]float64{0.02345, 0.01849}}
	var text strings.Builder
	must.Do(t, p.print(&text))
	contains(t, "text", text.String(), "0.0234 → 0.0185 µs")
}
