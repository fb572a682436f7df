package train

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Reporter receives the progress of a run. Fit calls it from its own goroutine.
type Reporter interface {
	Begin(p Progress)             // before the first step
	Step(p Progress)              // after every step
	Epoch(m Metrics, better bool) // after every epoch; better: it is the best so far
	End()                         // when Fit returns
}

// Progress is the progress of a run.
type Progress struct {
	Step, Steps   int     // complete and planned steps
	Epoch, Epochs int     // current epoch, from 1, and planned epochs
	Loss          float64 // mean over the current epoch; 0 before its first step
}

func (t *Trainer) progress() Progress {
	p := Progress{
		Step: t.state.Step, Steps: t.plan.total,
		Epoch: min(t.state.Epoch+1, t.cfg.Train.Epochs), Epochs: t.cfg.Train.Epochs,
	}
	if t.state.Sums.Terms > 0 {
		p.Loss = t.state.Sums.Loss / float64(t.state.Sums.Terms)
	}
	return p
}

type silent struct{}

func (silent) Begin(Progress)      {}
func (silent) Step(Progress)       {}
func (silent) Epoch(Metrics, bool) {}
func (silent) End()                {}

// LogLines logs one line per epoch.
func LogLines(log *slog.Logger) Reporter { return logLines{log: log} }

type logLines struct {
	silent
	log *slog.Logger
}

func (l logLines) Epoch(m Metrics, better bool) {
	args := []any{"epoch", m.Epoch, "step", m.Step, "train_loss", round(m.TrainLoss), "val_loss", round(m.ValLoss)}
	if m.ValAccuracy != nil {
		args = append(args, "val_accuracy", round(*m.ValAccuracy))
	}
	for _, v := range []struct {
		key   string
		value *float64
	}{{"relative_mse", m.RelativeMSE}, {"val_rmse", m.ValRMSE}, {"val_r2", m.ValR2}} {
		if v.value != nil {
			args = append(args, v.key, round(*v.value))
		}
	}
	args = append(args, "seconds", round(m.Seconds), "sequences_per_second", round(m.SequencesPerSecond), "best", better)
	l.log.Info("epoch", args...)
}

// round returns v with four significant digits.
func round(v float64) string { return fmt.Sprintf("%.4g", v) }

// Bar draws a progress bar on a terminal, preceded by the best epoch's result and followed by the
// time passed and left.
func Bar(w io.Writer) Reporter { return &bar{w: w} }

type bar struct {
	w            io.Writer
	best         string // result of the best epoch
	now          Progress
	width        int // of the previous drawing
	first        int // complete steps at the beginning
	began, drawn time.Time
}

const barWidth = 24 // characters

// redraw is the least time between two drawings.
const redraw = 100 * time.Millisecond

func (b *bar) Begin(p Progress) {
	b.now, b.first, b.began, b.best = p, p.Step, time.Now(), ""
	b.draw()
}

// Step does not draw the last step: a complete bar cannot change, and the last epoch's result is
// not known yet.
func (b *bar) Step(p Progress) {
	b.now = p
	if p.Step < p.Steps && time.Since(b.drawn) >= redraw {
		b.draw()
	}
}

func (b *bar) draw() {
	p := b.now
	b.drawn = time.Now()
	text := fmt.Sprintf("epoch %d/%d", p.Epoch, p.Epochs)
	if p.Loss != 0 {
		text += fmt.Sprintf("  loss %.4g", p.Loss)
	}
	text += b.best
	if passed, done := b.drawn.Sub(b.began), p.Step-b.first; done > 0 {
		left := time.Duration(float64(passed) / float64(done) * float64(p.Steps-p.Step))
		text += fmt.Sprintf("  %v, %v left", passed.Round(time.Second), left.Round(time.Second))
	}
	share := float64(p.Step) / float64(max(p.Steps, 1))
	filled := strings.Repeat("=", int(barWidth*share))
	text = fmt.Sprintf("%3.0f %% |%-*s| (%d/%d)  %s", math.Floor(100*share), barWidth, filled, p.Step, p.Steps, text)
	// Spaces replace the rest of a longer previous drawing. A terminal that cannot be written to is
	// no reason to stop.
	_, _ = fmt.Fprintf(b.w, "\r%-*s", b.width, text)
	b.width = utf8.RuneCountInString(text)
}

func (b *bar) Epoch(m Metrics, better bool) {
	if better {
		b.best = "  best " + m.Validation()
	}
	b.draw()
}

func (b *bar) End() {
	fmt.Fprintln(b.w)
}
