package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// state is where a run stands between two steps: with weights and moments, all that a checkpoint
// holds.
type state struct {
	Version      int          `json:"version"`
	Step         int          `json:"step"`           // complete steps
	Epoch        int          `json:"epoch"`          // complete epochs, validation included
	Batch        int          `json:"batch"`          // complete steps of the epoch under way
	Sums         sums         `json:"sums"`           // over these
	LR           float64      `json:"lr"`             // of the last step
	Seconds      float64      `json:"seconds"`        // spent on the epoch under way
	Best         *Metrics     `json:"best"`           // the best epoch
	Stale        int          `json:"stale"`          // epochs since
	Data         *fingerprint `json:"data,omitempty"` // nil: of an earlier version
	Standardised bool         `json:"standardised"`   // targets are; false in checkpoints from before they were
}

// Fit trains until the budget is spent, patience is at an end or ctx is cancelled; then it returns
// ErrInterrupted after writing a checkpoint. A loss that is no number ends it with ErrDiverged.
func (t *Trainer) Fit(ctx context.Context) error {
	net, err := convmode.New(t.model, t.netOptions())
	if err != nil {
		return err
	}
	defer net.Close()
	t.reporter.Begin(t.progress())
	defer t.reporter.End()
	s := newStepper(t, net)
	for !t.finished() {
		if err := t.epoch(ctx, s); err != nil {
			return err
		}
		if err := t.closeEpoch(ctx); err != nil {
			return err
		}
	}
	return t.evaluateBest(ctx)
}

// finished reports whether the budget is spent or patience at an end.
func (t *Trainer) finished() bool {
	closed := t.state.Batch == 0 // else an epoch is under way, or not yet validated
	return t.state.Epoch >= t.cfg.Train.Epochs || t.spent() && closed ||
		t.cfg.Train.Patience > 0 && t.state.Stale >= t.cfg.Train.Patience && closed
}

// spent reports whether the limit on steps is reached.
func (t *Trainer) spent() bool {
	return t.cfg.Train.MaxSteps > 0 && t.state.Step >= t.cfg.Train.MaxSteps
}

// epoch runs the remaining training steps of the epoch under way.
func (t *Trainer) epoch(ctx context.Context, s *stepper) error {
	batches := t.batches(t.state.Epoch)
	load := newLoader(t.data.Train, batches[t.state.Batch:], t.state.Epoch, s.buffers)
	defer load.close()
	began, before := time.Now(), t.state.Seconds
	for t.state.Batch < len(batches) && !t.spent() {
		if ctx.Err() != nil {
			return t.interrupted()
		}
		b := load.next()
		if b.err != nil {
			return dataError{b.err}
		}
		if err := s.step(b); err != nil {
			return err
		}
		load.giveBack(b)
		t.state.Seconds = before + time.Since(began).Seconds()
		if every := t.cfg.Train.CheckpointEvery; every > 0 && t.state.Step%every == 0 {
			if err := t.checkpoint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stepper owns what a training step needs.
type stepper struct {
	*Trainer
	net     *convmode.Net
	buffers [2]*batch
	dlogits []float32
}

func newStepper(t *Trainer, net *convmode.Net) *stepper {
	s := &stepper{Trainer: t, net: net}
	for i := range s.buffers {
		s.buffers[i] = newBatch(t.data.Info, &t.model.Meta, t.cfg.Train.Batch)
	}
	width := t.data.Outputs
	if t.data.PerPosition {
		width *= t.data.MaxLen
	}
	s.dlogits = make([]float32, t.cfg.Train.Batch*width)
	return s
}

// step makes one update of the weights.
func (s *stepper) step(b *batch) error {
	st := &s.state
	logits := s.net.ForwardTrain(b.Batch, convmode.Step{Seed: s.cfg.Seed, Step: st.Step})
	dlogits := s.dlogits[:len(logits)]
	got := b.loss(dlogits, logits)
	if math.IsNaN(got.Loss) || math.IsInf(got.Loss, 0) {
		return s.diverged(fmt.Sprintf("loss %v", got.Loss))
	}
	s.grads.Zero()
	s.net.Backward(dlogits, s.grads)
	factor := s.plan.schedule.at(st.Step, st.Epoch)
	s.optim.step(s.grads, st.Step+1, factor)
	st.Step++
	st.Batch++
	st.Sums.add(got)
	st.LR = s.cfg.Optim.LR * factor
	s.reporter.Step(s.progress())
	return nil
}

// closeEpoch validates, records the epoch and writes a checkpoint.
func (t *Trainer) closeEpoch(ctx context.Context) error {
	val, err := t.evaluate(ctx, t.model, t.data.Val)
	if errors.Is(err, errNotFinite) || err == nil && t.model.Weights.Validate() != nil {
		return t.diverged(fmt.Sprintf("validation loss %v", val.Loss))
	}
	if err != nil {
		return err
	}
	st := &t.state
	m := newMetrics(t.data.Info, st.Sums.result(t.data.Info), val)
	m.Epoch, m.Step, m.LR, m.Seconds = st.Epoch+1, st.Step, st.LR, st.Seconds
	if st.Seconds > 0 {
		m.SequencesPerSecond = float64(st.Sums.Examples) / st.Seconds
	}
	st.Stale++
	if m.betterThan(st.Best) {
		st.Best, st.Stale = &m, 0
		if err := t.model.Save(t.path(bestFile)); err != nil {
			return err
		}
	}
	if err := appendLine(t.path(metricsFile), m); err != nil {
		return err
	}
	st.Epoch, st.Batch, st.Sums, st.Seconds = st.Epoch+1, 0, sums{}, 0
	t.reporter.Epoch(m, st.Stale == 0)
	return t.saveCheckpoint()
}

// evaluateBest tests the weights of the best epoch where the data have a test split.
func (t *Trainer) evaluateBest(ctx context.Context) error {
	if t.data.Test == nil || t.data.Test.Len() == 0 || t.state.Best == nil {
		return nil
	}
	best, err := t.BestModel()
	if err != nil {
		return err
	}
	r, err := t.evaluate(ctx, best, t.data.Test)
	if err != nil {
		return err
	}
	t.test = &r
	record := testRecord{Split: "test", Epoch: t.state.Best.Epoch, N: r.N, Loss: r.Loss}
	if t.data.Regression {
		record.RMSE, record.R2 = &r.RMSE, Finite(r.R2)
	} else {
		record.Accuracy = &r.Accuracy
	}
	if _, err := t.restoreLog(); err != nil { // without the test of an earlier Fit
		return err
	}
	return appendLine(t.path(metricsFile), record)
}

// evaluate runs a network over a set of the run's data.
func (t *Trainer) evaluate(ctx context.Context, m *model.Model, set dataset.Set) (Result, error) {
	r, err := Evaluate(m, set, EvalOptions{
		Info: t.data.Info, Batch: t.cfg.Train.EvalBatch, Workers: t.cfg.Workers, Context: ctx,
	})
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return r, t.interrupted()
	}
	return r, err
}

// checkpoint writes the state between two steps, unless the last one spoiled the weights.
func (t *Trainer) checkpoint() error {
	if err := t.model.Weights.Validate(); err != nil {
		return t.diverged(err.Error())
	}
	return t.saveCheckpoint()
}

// interrupted leaves a checkpoint behind.
func (t *Trainer) interrupted() error {
	if err := t.checkpoint(); err != nil {
		return err
	}
	return fmt.Errorf("train: step %d: %w", t.state.Step, ErrInterrupted)
}

func (t *Trainer) diverged(why string) error {
	return fmt.Errorf("train: step %d: %s: %w; the last good checkpoint is in %s", t.state.Step, why, ErrDiverged, t.dir)
}
