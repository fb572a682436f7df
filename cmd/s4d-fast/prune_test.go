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
	contains(t, "prune", ok(t, "prune", from, to, "--keep", "0.5"), "modes per SSM     4 → 2\n", "parameters        ", "outputs of SSMs   change by ")
	equal(t, "modes in the file", must.Get(model.Load(to))(t).Config.SSM.Modes(), 2)
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
