package train

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func report(r Reporter) {
	accuracy, relative := 0.875, 0.0321
	r.Begin(Progress{Steps: 4, Epoch: 1, Epochs: 2})
	for step := range 4 {
		r.Step(Progress{Step: step + 1, Steps: 4, Epoch: 1 + step/2, Epochs: 2, Loss: 1.5})
		if step == 1 {
			r.Epoch(Metrics{Epoch: 1, Step: 2, TrainLoss: 1.25, ValLoss: 0.5, ValAccuracy: &accuracy}, true)
		}
	}
	r.Epoch(Metrics{Epoch: 2, Step: 4, TrainLoss: 1.25, ValLoss: 0.5, RelativeMSE: &relative}, false)
	r.End()
}

func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	report(LogLines(slog.New(slog.NewTextHandler(&out, nil))))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "val_accuracy=0.875") || !strings.Contains(lines[0], "best=true") ||
		!strings.Contains(lines[1], "relative_mse=0.0321") {
		t.Errorf("lines %q, want one an epoch", lines)
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	report(Bar(&out))
	if !strings.Contains(out.String(), "epoch 1/2") || !strings.Contains(out.String(), "(4/4)") || !strings.HasSuffix(out.String(), "\n") {
		t.Errorf("bar %q, want the epoch and a line's end", out.String())
	}
}
