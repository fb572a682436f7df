package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// eval repeats the accuracy of the training run, and the last posterior of stream is that of eval.
func TestTrainEvalStream(t *testing.T) {
	data, out := tones(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", out}, small...)...)
	best := filepath.Join(out, "best.safetensors")
	predictions := filepath.Join(t.TempDir(), "predictions.jsonl")
	var e evaluation
	decode(t, ok(t, "eval", best, "--task", "fsdd", "--data", data, "--json", "--predictions", predictions), &e)
	equal(t, "task", e.Task, "fsdd")
	equal(t, "split", e.Split, "val")
	equal(t, "examples", e.N, 15)
	if e.Accuracy == nil {
		t.Fatal("no accuracy")
	}
	equal(t, "accuracy", *e.Accuracy, bestAccuracy(t, filepath.Join(out, "metrics.jsonl")))
	for _, line := range strings.Split(strings.TrimSpace(string(read(t, predictions))), "\n") {
		var p predictionLine
		decode(t, line, &p)
		want := model.Posterior(nil, p.Logits)
		code, stdout, stderr := invoke(bytes.NewReader(read(t, p.Path)), "stream", best, "--format", "wav", "--emit", "frames", "-")
		if code != exitOK {
			t.Fatalf("stream: exit code %d: %s", code, stderr)
		}
		all := frames(t, stdout)
		last := all[len(all)-1]
		for i, v := range last.Posterior {
			if math.Abs(float64(v-want[i])) > 1e-4 {
				t.Errorf("%s: the last posterior is %v, that of eval %v", p.Path, last.Posterior, want)
				break
			}
		}
		equal(t, p.Path+": label", last.Label, p.Prediction)
	}
}

// --from starts from a model and takes its network. Another network is an error that has both.
func TestTrainFrom(t *testing.T) {
	data, dir := tones(t), t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", first}, small...)...)
	best := filepath.Join(first, "best.safetensors")
	args := []string{"train", "fsdd", "--data", data, "--from", best, "--out", second, "--set", "train.epochs=1", "--set", "train.batch=4"}
	code, _, stderr := invoke(nil, append(args, "--set", `optim.freeze=["layers", "encoder"]`)...)
	equal(t, "exit code", code, exitOK)
	contains(t, "stderr", stderr, "2×6 channels, 8 states (dfout), ", " parameters of a trained model; ")
	a, b := must.Get(model.Load(best))(t), must.Get(model.Load(filepath.Join(second, "best.safetensors")))(t)
	for i, x := range a.Weights.Tensors() {
		if same := slices.Equal(x.Data, b.Weights.Tensors()[i].Data); same == x.In("decoder") {
			t.Errorf("%s kept its values: %t", x.Name, same)
		}
	}
	checkRun(t, nil, []string{"train", "--out", second, "--resume"}, exitOK)
	checkRun(t, nil, append(args, "--out", filepath.Join(dir, "third"), "--set", "model.d_model=8"), exitUsage, "from: model.d_model is 6 in the model, 8 in this run")
	checkRun(t, nil, []string{"train", "--from", data}, exitBadInput, "is a folder, expected a model file")
	checkRun(t, nil, []string{"train", "--set", "optim.freeze=[\"decodr\"]"}, exitUsage, `did you mean "decoder"?`)
}

// A run that diverges exits with 4 and keeps its last good checkpoint; so does one that resumes it.
func TestDivergenceExitCode(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	must.Equal(t, exitDiverged, 4, "exit code")
	args := slices.Concat([]string{"train", "--out", out}, shortDelay, sets("data.train_size=256", "optim.lr=1e30"))
	checkRun(t, nil, args, exitDiverged, "train: step ", `the output of "layers.0" is `, "diverged; the last good checkpoint is in "+out)
	must.Reject(model.Load(filepath.Join(out, "best.safetensors")))(t, fs.ErrNotExist)
	checkRun(t, nil, []string{"train", "--resume", "--out", out}, exitDiverged, "train: step ")
}

// An interrupt stops training at the next step, saves, prints the command that resumes, and exits
// with 130.
func TestInterruptAndResume(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	code, stderr := interrupted(t, "epoch=2", slices.Concat([]string{"train", "--out", out}, shortDelay, sets("train.epochs=1000000"))...)
	must.Equal(t, code, 128+int(syscall.SIGINT), "exit code")
	if !strings.Contains(stderr, "train delay --out "+out+" --resume") {
		t.Errorf("stderr does not show how to resume: %s", stderr)
	}
	epochs := strings.Count(string(read(t, filepath.Join(out, "metrics.jsonl"))), "\n")
	ok(t, "train", "--out", out, "--resume", "--set", fmt.Sprintf("train.epochs=%d", epochs+2))
	must.Equal(t, strings.Count(string(read(t, filepath.Join(out, "metrics.jsonl"))), "\n"), epochs+2, "epochs after the resumed run")
}

func bestAccuracy(t *testing.T, path string) float64 {
	t.Helper()
	best := -1.0
	for _, line := range strings.Split(strings.TrimSpace(string(read(t, path))), "\n") {
		var m struct {
			Accuracy float64 `json:"val_accuracy"`
		}
		decode(t, line, &m)
		best = max(best, m.Accuracy)
	}
	return best
}
