package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Evaluation meets the data as training did: at the model's rate, and with a run's own configuration.
func TestEvalRepeatsTheRun(t *testing.T) {
	data, out := tones(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", out, "--set", "data.decimate=2"}, small...)...)
	best := filepath.Join(out, "best.safetensors")
	var e evaluation
	decode(t, ok(t, "eval", best, "--data", data, "--json"), &e)
	if e.Rate != 4000 || *e.Accuracy != bestAccuracy(t, filepath.Join(out, "metrics.jsonl")) {
		t.Errorf("a model of 4000 Hz is evaluated at %v Hz: accuracy %v", e.Rate, *e.Accuracy)
	}
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "2000"), &e)
	if e.Rate != 2000 {
		t.Errorf("--rate 2000 evaluates at %v Hz", e.Rate)
	}
	mustSay(t, nil, []string{"eval", best, "--data", data, "--rate", "3000"}, exitUsage, "3000", "8000")

	delay := filepath.Join(t.TempDir(), "delay")
	ok(t, "train", "--out", delay, "--seed", "7", "--set", "data.length=64", "--set", "data.delay=16", "--set", "ssm.d_state=8",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=1")
	var m struct {
		Loss float64 `json:"val_loss"`
	}
	decode(t, strings.TrimSpace(string(read(t, filepath.Join(delay, "metrics.jsonl")))), &m)
	decode(t, ok(t, "eval", filepath.Join(delay, "best.safetensors"), "--config", filepath.Join(delay, "config.toml"), "--json"), &e)
	if e.Loss != m.Loss {
		t.Errorf("eval's loss is %v, the run's %v", e.Loss, m.Loss)
	}
}

// The model in the binary names the real clips that it was not trained on.
func TestEvalBuiltIn(t *testing.T) {
	dir := filepath.Join(os.Getenv("S4D_DATA"), "fsdd")
	if _, err := os.Stat(dir); os.Getenv("S4D_DATA") == "" || err != nil {
		t.Skip("S4D_DATA is not set, or holds no fsdd")
	}
	if testing.Short() {
		t.Skip("two minutes of speech")
	}
	var e evaluation
	decode(t, ok(t, "eval", "digits", "--task", "digits", "--data", dir, "--json"), &e)
	if e.N != 300 || *e.Accuracy < 0.97 {
		t.Errorf("%.1f %% of %d clips", 100**e.Accuracy, e.N)
	}
}
