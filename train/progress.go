package train

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Reporter is told how a run goes, from the goroutine that runs Fit.
type Reporter interface {
	Begin(p Progress)             // before the first step
	Step(p Progress)              // after every step
	Epoch(m Metrics, better bool) // after every epoch; better: no epoch was before
	End()                         // when Fit returns
}

// Progress is where a run stands.
type Progress struct {
	Step, Steps   int     // complete, and planned
	Epoch, Epochs int     // under way, from 1, and planned
	Loss          float64 // mean over the epoch under way; 0 before its first step
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

// LogLines reports a line an epoch.
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
	if m.RelativeMSE != nil {
		args = append(args, "relative_mse", round(*m.RelativeMSE))
	}
	args = append(args, "seconds", round(m.Seconds), "sequences_per_second", round(m.SequencesPerSecond), "best", better)
	l.log.Info("epoch", args...)
}

// round keeps four significant digits, for people.
func round(v float64) string { return fmt.Sprintf("%.4g", v) }

// Bar draws a progress bar on a terminal, with the last epoch's figures before it.
func Bar(w io.Writer) Reporter { return &bar{w: w} }

type bar struct {
	w    io.Writer
	bar  *progressbar.ProgressBar
	last string // figures of the last epoch
}

func (b *bar) Begin(p Progress) {
	b.bar = progressbar.NewOptions(p.Steps,
		progressbar.OptionSetWriter(b.w), progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
	b.show(p)
}

func (b *bar) Step(p Progress) { b.show(p) }

func (b *bar) show(p Progress) {
	b.bar.Describe(fmt.Sprintf("epoch %d/%d  loss %.4g%s", p.Epoch, p.Epochs, p.Loss, b.last))
	_ = b.bar.Set(p.Step) // a terminal that cannot be written to is no reason to stop
}

func (b *bar) Epoch(m Metrics, _ bool) {
	switch {
	case m.ValAccuracy != nil:
		b.last = fmt.Sprintf("  validation %.1f %%", 100**m.ValAccuracy)
	case m.RelativeMSE != nil:
		b.last = fmt.Sprintf("  error %.2g %%", 100**m.RelativeMSE)
	default:
		b.last = fmt.Sprintf("  validation loss %.4g", m.ValLoss)
	}
}

func (b *bar) End() {
	_ = b.bar.Exit()
	fmt.Fprintln(b.w)
}
