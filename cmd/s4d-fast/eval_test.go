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

// Without --config the data settings are those of the model file; --set overrides them.
func TestEvalUsesTheModelsData(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	ok(t, "train", "--out", out, "--seed", "7", "--set", "data.length=64", "--set", "data.delay=16", "--set", "ssm.d_state=8",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=1")
	var m struct {
		Loss float64 `json:"val_loss"`
	}
	decode(t, strings.TrimSpace(string(read(t, filepath.Join(out, "metrics.jsonl")))), &m)
	best := filepath.Join(out, "best.safetensors")
	var e evaluation
	decode(t, ok(t, "eval", best, "--json"), &e)
	if e.N != 8 || e.Loss != m.Loss {
		t.Errorf("%d examples, loss %v; the run's validation set has 8 and %v", e.N, e.Loss, m.Loss)
	}
	decode(t, ok(t, "eval", best, "--json", "--set", "data.eval_size=5", "--seed", "3"), &e)
	if e.N != 5 || e.Loss == m.Loss {
		t.Errorf("%d examples with data.eval_size=5; loss %v with another seed", e.N, e.Loss)
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

// A regression reports its RMSE, R² and a baseline in the target's unit, not the sentence of the delay task.
func TestRegressionResults(t *testing.T) {
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	text := "@targetLabel true\n@data\n" + strings.Repeat("1,2,3:70\n4,3,5:80\n9,7,8:93\n", 7)
	for _, name := range []string{"Set_TRAIN.ts", "Set_TEST.ts"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stdout := ok(t, "train", "ts", "--data", data, "--out", out, "--set", "train.epochs=2", "--set", "model.d_model=8",
		"--set", "model.n_layers=1", "--set", "ssm.d_state=4")
	if strings.Contains(stdout, "silence") || strings.Contains(stdout, "an output of 0") || strings.Count(stdout, "RMSE") != 3 || strings.Count(stdout, "R²") != 2 {
		t.Errorf("stdout %q, expected RMSE and R² of the validation and the test set, and a baseline", stdout)
	}
	if _, err := os.Stat(filepath.Join(out, "delay.png")); err == nil {
		t.Error("a regression leaves a picture of the delay task")
	}
	var e evaluation
	predictions := filepath.Join(t.TempDir(), "predictions.jsonl")
	decode(t, ok(t, "eval", filepath.Join(out, "best.safetensors"), "--data", data, "--split", "test", "--json", "--predictions", predictions), &e)
	if e.RMSE == nil || e.R2 == nil || e.Relative != nil || e.BaselineRMSE == nil || !(*e.BaselineRMSE > 8 && *e.BaselineRMSE < 11) {
		t.Errorf("evaluation %+v", e)
	}
	var p predictionLine
	decode(t, strings.SplitN(string(read(t, predictions)), "\n", 2)[0], &p)
	if len(p.Output) != 1 || p.Output[0] < 50 || p.Output[0] > 110 || len(p.Target) != 1 || p.Target[0] != 70 || p.Logits != nil {
		t.Errorf("prediction %+v, expected an output and a target in the target's unit", p)
	}
}
