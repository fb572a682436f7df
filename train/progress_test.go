package train

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
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
		t.Errorf("lines %q, expected one an epoch", lines)
	}
}

// After a first step of 37 s the bar shows the remaining time. A resumed run counts only its own
// steps.
func TestBarTimeLeft(t *testing.T) {
	for first, expected := range map[int]string{0: "37s, 5m33s left", 8: "37s, 37s left"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			b := Bar(&out)
			b.Begin(Progress{Step: first, Steps: 10, Epoch: 1, Epochs: 1})
			if text := out.String(); strings.Contains(text, "loss") {
				t.Errorf("bar %q before the first step: expected no loss", text)
			}
			time.Sleep(37 * time.Second)
			b.Step(Progress{Step: first + 1, Steps: 10, Epoch: 1, Epochs: 1, Loss: 0.5})
			if text := out.String(); !strings.Contains(text, expected) || !strings.Contains(text, fmt.Sprintf("(%d/10)", first+1)) {
				t.Errorf("bar %q, expected %s", text, expected)
			}
		})
	}
}

// The bar shows the result of the best epoch, in the words of the closing line. The complete bar
// includes the last epoch.
func TestBarShowsTheBestEpoch(t *testing.T) {
	low, high := 0.00457, 0.129
	good, bad := Metrics{RelativeMSE: &low}, Metrics{RelativeMSE: &high}
	must.Equal(t, good.Validation(), "relative squared error 0.457 %", "validation")
	for _, epochs := range [][]Metrics{{good, bad}, {bad, good}} {
		var out bytes.Buffer
		b := Bar(&out)
		b.Begin(Progress{Steps: 2, Epoch: 1, Epochs: 2})
		for i, m := range epochs {
			b.Step(Progress{Step: i + 1, Steps: 2, Epoch: i + 1, Epochs: 2})
			b.Epoch(m, i == 0 || m == good)
		}
		b.End()
		drawings := strings.Split(strings.TrimSpace(out.String()), "\r")
		last := drawings[len(drawings)-1]
		for _, want := range []string{"best " + good.Validation(), "(2/2)"} {
			if !strings.Contains(last, want) {
				t.Errorf("complete bar %q, expected %q in it; all: %q", last, want, drawings)
			}
		}
	}
}
