package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// eval uses the data as training did: at the model's rate, and with the run's configuration.
func TestEvalRepeatsTheRun(t *testing.T) {
	data, out := tones(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", out, "--set", "data.decimate=2"}, small...)...)
	best := filepath.Join(out, "best.safetensors")
	var e evaluation
	decode(t, ok(t, "eval", best, "--data", data, "--json"), &e)
	equal(t, "rate", e.Rate, 4000)
	equal(t, "accuracy", *e.Accuracy, bestAccuracy(t, filepath.Join(out, "metrics.jsonl")))
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "3000"), &e)
	equal(t, "rate with --rate 3000", e.Rate, 3000)
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "11025"), &e)
	equal(t, "rate with --rate 11025", e.Rate, 11025)
	var limited evaluation
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "2000"), &e)
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "2000", "--bandlimit", "1"), &limited)
	if limited.Loss == e.Loss {
		t.Errorf("loss at half the rate is %v with and without the modes that alias", e.Loss)
	}
	checkRun(t, nil, []string{"eval", best, "--data", data, "--rate-rule", "keep"}, exitUsage, "--rate-rule, --bandlimit: ", `layer "s4d" has no such setting`)
	checkRun(t, nil, []string{"eval", best, "--data", data, "--bandlimit=-1"}, exitUsage, "--rate-rule, --bandlimit: ", "expected a finite number")
	checkRun(t, nil, []string{"eval", best, "--data", data, "--rate", "3000.5"}, exitUsage, "3000.5 Hz", "whole number")
	checkRun(t, nil, []string{"eval", best, "--data", data, "--rate", "1e6"}, exitUsage, "--rate 1e+06", "62.5 to 256000 Hz")
	checkRun(t, nil, []string{"eval", best, "--data", data, "--rate", "1"}, exitUsage, "--rate 1", "62.5 to")
}

// The data settings are those of the model file; --set overrides them.
func TestEvalUsesTheModelsData(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "--out", out, "--seed", "7"}, shortDelay...)...)
	var m struct {
		Loss float64 `json:"val_loss"`
	}
	decode(t, strings.TrimSpace(string(read(t, filepath.Join(out, "metrics.jsonl")))), &m)
	best := filepath.Join(out, "best.safetensors")
	var e evaluation
	decode(t, ok(t, "eval", best, "--json"), &e)
	equal(t, "examples", e.N, 8)
	equal(t, "loss", e.Loss, m.Loss)
	decode(t, ok(t, "eval", best, "--json", "--set", "data.eval_size=5", "--set", "seed=3"), &e)
	equal(t, "examples with data.eval_size=5", e.N, 5)
	if e.Loss == m.Loss {
		t.Errorf("loss %v with another seed, the same as with the run's", e.Loss)
	}
}

// The built-in model labels the frames of streams of real clips that it was not trained on, and
// recognises these clips, each alone.
func TestEvalBuiltIn(t *testing.T) {
	dir := filepath.Join(os.Getenv("S4D_DATA"), "fsdd")
	if os.Getenv("S4D_DATA") == "" {
		t.Skip("S4D_DATA is not set")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("two minutes of speech")
	}
	var e evaluation
	decode(t, ok(t, "eval", "digits", "--task", "digits", "--data", dir, "--json"), &e)
	_, clips, _ := strings.Cut(ok(t, "eval", "digits", "--task", "digits", "--data", dir), "Validation clips: ")
	right := 0
	fmt.Sscanf(clips, "%d of 300 right", &right)
	if right < 278 { // measured: 285
		t.Errorf("%d of 300 clips right, expected at least 278", right)
	}
	equal(t, "streams", e.N, 160)
	if *e.Accuracy < 0.94 { // measured: 0.9446, in noise up to 5 dB above the words
		t.Errorf("accuracy per frame %v, expected at least 0.94", *e.Accuracy)
	}
	var r detectionResult
	decode(t, ok(t, "calibrate", "digits", "--words", filepath.Join(dir, "recordings"), "--label", `^(\d)_\w+_[5-9]\.wav$`, "--json"), &r)
	equal(t, "clips", r.Words.Count, 300)
	if r.Model.F1 < 0.88 { // measured: 0.8893
		t.Errorf("F1 in streams %v, expected at least 0.88", r.Model.F1)
	}
}

// eval and prune read data that lack a class of the model, and reject data with another class.
func TestEvalMissingClass(t *testing.T) {
	dir, out := beeps(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "audio", "--data", dir, "--out", out}, smallAudio...)...)
	best, small := filepath.Join(out, "best.safetensors"), filepath.Join(out, "small.safetensors")
	must.Do(t, os.RemoveAll(filepath.Join(dir, "high")))
	var e evaluation
	decode(t, ok(t, "eval", best, "--data", dir, "--split", "all", "--json"), &e)
	equal(t, "streams", e.N, 320)
	contains(t, "output of prune", ok(t, "prune", best, small, "--keep", "0.5", "--data", dir), "of 160 examples (val)")
	checkRun(t, nil, []string{"eval", best, "--data", dir, "--rate", "4000"}, exitUsage, "--rate 4000", `task "audio"`, "8000 Hz; omit --rate")
	decode(t, ok(t, "eval", best, "--data", dir, "--split", "all", "--rate", "8000", "--json"), &e)
	must.Do(t, os.Rename(filepath.Join(dir, "low"), filepath.Join(dir, "odd")))
	checkRun(t, nil, []string{"eval", best, "--data", dir}, exitBadInput, `class "odd"`, `expected one of ["high" "low"]`)

	table := write(t, "rooms.csv", []byte("room,time,temp,load,state\na,0,1,2,used\nb,0,3,4,used\nc,0,5,6,used\n"))
	rows, _ := rowsModel(t, model.SeriesClassification, func(m *model.Model) {
		m.Meta.Data = model.Settings{"data.id": "room", "data.time": "time", "data.target": []any{"state"}}
	})
	decode(t, ok(t, "eval", rows, "--data", table, "--split", "all", "--json"), &e)
	equal(t, "series", e.N, 3)
	table = write(t, "odd.csv", []byte("room,time,temp,load,state\na,0,1,2,used\nb,0,3,4,sold\n"))
	checkRun(t, nil, []string{"eval", rows, "--data", table}, exitBadInput, `class "sold"`, `expected one of ["empty" "used"]`)
}

// A regression reports its RMSE, R² and a baseline in the target's unit, not the sentence of the
// delay task.
func TestRegressionResults(t *testing.T) {
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	text := "@targetLabel true\n@data\n" + strings.Repeat("1,2,3:70\n4,3,5:80\n9,7,8:93\n", 7)
	for _, name := range []string{"Set_TRAIN.ts", "Set_TEST.ts"} {
		must.Do(t, os.WriteFile(filepath.Join(data, name), []byte(text), 0o666))
	}
	stdout := ok(t, "train", "ts", "--data", data, "--out", out, "--set", "train.epochs=2", "--set", "model.d_model=8",
		"--set", "model.n_layers=1", "--set", "ssm.d_state=4", "--baseline")
	equal(t, "RMSEs of the training set and the test set, their baselines, and that of ROCKET", strings.Count(stdout, "RMSE"), 5)
	contains(t, "output", stdout, "Last epoch on the training set, ")
	contains(t, "output", stdout, "ROCKET with ridge regression, on the test set: RMSE ")
	checkRun(t, nil, []string{"train", "--baseline", "--out", out + "-delay"}, exitUsage, `--baseline: task "delay"`)
	equal(t, "R² of the validation and the test set", strings.Count(stdout, "R²"), 2)
	if strings.Contains(stdout, "an output of zeros") {
		t.Errorf("the baseline of task delay is stated for another task: %s", stdout)
	}
	if _, err := os.Stat(filepath.Join(out, "delay.png")); err == nil {
		t.Error("a run of another task writes the plot of task delay")
	}
	var e evaluation
	predictions := filepath.Join(t.TempDir(), "predictions.jsonl")
	decode(t, ok(t, "eval", filepath.Join(out, "best.safetensors"), "--data", data, "--split", "test", "--json", "--predictions", predictions), &e)
	equal(t, "evaluation has an RMSE", e.RMSE != nil, true)
	equal(t, "evaluation has R²", e.R2 != nil, true)
	equal(t, "evaluation has a relative error", e.Relative != nil, false)
	if e.BaselineRMSE == nil {
		t.Error("evaluation has no baseline")
	} else if math.Abs(*e.BaselineRMSE-9.416) > 0.001 { // the standard deviation of 70, 80 and 93
		t.Errorf("RMSE of the mean %v, expected 9.416", *e.BaselineRMSE)
	}
	var p predictionLine
	decode(t, strings.SplitN(string(read(t, predictions)), "\n", 2)[0], &p)
	equal(t, "logits of a regression", len(p.Logits), 0)
	equal(t, "target", fmt.Sprint(p.Target), "[70]")
	equal(t, "outputs", len(p.Output), 1)
	if math.Abs(float64(p.Output[0])-80) > 30 {
		t.Errorf("output %v, expected it near the targets 70, 80 and 93, in their unit", p.Output)
	}
}
