package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// state is the progress of a run between two steps. A checkpoint holds it with the weights and
// AdamW's moments.
type state struct {
	Version      int          `json:"version"`
	Step         int          `json:"step"`           // complete steps
	Epoch        int          `json:"epoch"`          // complete epochs, validation included
	Batch        int          `json:"batch"`          // complete steps of the current epoch
	Sums         sums         `json:"sums"`           // over these steps
	LR           float64      `json:"lr"`             // of the last step
	Seconds      float64      `json:"seconds"`        // of training in the current epoch
	Best         *Metrics     `json:"best"`           // the best epoch; nil before the first
	Stale        int          `json:"stale"`          // epochs since the best one
	Data         *fingerprint `json:"data,omitempty"` // nil in checkpoints of earlier versions
	Standardised bool         `json:"standardised"`   // targets; false in earlier checkpoints
	From         *moments     `json:"from,omitempty"` // of a run from trained weights
}

// Fit trains until the budget or the patience is exhausted, or ctx is cancelled. In the last case
// it writes a checkpoint and returns ErrInterrupted; without a run folder, Fit may be called again.
// A NaN or infinite loss ends it with ErrDiverged.
func (t *Trainer) Fit(ctx context.Context) error {
	net, err := convmode.New(t.model, t.netOptions())
	if err != nil {
		return err
	}
	defer net.Close()
	t.reporter.Begin(t.progress())
	defer t.reporter.End()
	s := newStepper(t, net)
	defer s.pool.Close()
	for !t.finished() {
		if err := t.epoch(ctx, s); err != nil {
			return err
		}
		if err := t.closeEpoch(ctx, s); err != nil {
			return err
		}
	}
	return t.evaluateBest(ctx)
}

// finished reports whether the budget or the patience is exhausted.
func (t *Trainer) finished() bool {
	closed := t.state.Batch == 0 // otherwise the epoch is not complete or not validated
	return t.state.Epoch >= t.cfg.Train.Epochs || t.exhausted() && closed ||
		t.cfg.Train.Patience > 0 && t.state.Stale >= t.cfg.Train.Patience && closed
}

// exhausted reports whether max_steps is reached.
func (t *Trainer) exhausted() bool {
	return t.cfg.Train.MaxSteps > 0 && t.state.Step >= t.cfg.Train.MaxSteps
}

// epoch runs the remaining training steps of the current epoch.
func (t *Trainer) epoch(ctx context.Context, s *stepper) error {
	batches := t.batches(t.state.Epoch)
	for i, members := range batches {
		batches[i] = members[t.team.examples.Lo:t.team.examples.Hi]
	}
	load := newLoader(t.data.Train, batches[t.state.Batch:], t.state.Epoch, s.buffers)
	defer load.close()
	began, before := time.Now(), t.state.Seconds
	for t.state.Batch < len(batches) && !t.exhausted() {
		b, err := t.nextBatch(ctx, load)
		if err != nil {
			return err
		}
		if err := s.step(b); err != nil {
			return err
		}
		load.release(b)
		t.settling.Lock()
		t.state.Seconds = before + time.Since(began).Seconds()
		t.settling.Unlock()
		if every := t.cfg.Train.CheckpointEvery; every > 0 && t.state.Step%every == 0 {
			if err := t.checkpoint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextBatch returns the next batch. All ranks agree to stop, and on the length of the batch.
func (t *Trainer) nextBatch(ctx context.Context, load *loader) (*batch, error) {
	if t.team.group == nil && ctx.Err() != nil {
		return nil, t.interrupted()
	}
	b := load.next()
	const fields = 3
	own := [fields]float64{2: float64(b.Len)}
	for i, is := range [...]bool{ctx.Err() != nil, b.err != nil} {
		if is {
			own[i] = 1
		}
	}
	all, err := t.team.gather(own[:])
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	most := own
	for i, v := range all {
		most[i%fields] = max(most[i%fields], v)
	}
	switch {
	case most[0] > 0 && t.team.group != nil:
		return nil, t.interrupted()
	case b.err != nil:
		return nil, dataError{b.err}
	case most[1] > 0:
		return nil, dataError{fmt.Errorf("train: step %d: another rank could not read its examples", t.state.Step)}
	}
	b.pad(int(most[2]))
	b.Part = t.team.part
	return b, nil
}

// stepper owns the network and the buffers of training steps.
type stepper struct {
	*Trainer
	net     *convmode.Net
	buffers [2]*batch
	dlogits []float32
	held    []held
	pool    *par.Pool // adds gradients
	done    func(block int)
}

func newStepper(t *Trainer, net *convmode.Net) *stepper {
	s := &stepper{Trainer: t, net: net, held: heldStatistics(t.cfg.Optim, t.model.Weights), pool: par.New(t.cfg.Workers)}
	s.done = func(block int) { t.team.sumBlock(s.pool, block) }
	for i := range s.buffers {
		s.buffers[i] = newBatch(t.data.Info, &t.model.Meta, t.team.examples.Len())
	}
	width := t.data.Outputs
	if t.data.PerPosition {
		width *= t.data.MaxLen
	}
	s.dlogits = make([]float32, t.team.examples.Len()*width)
	return s
}

// step updates the weights once.
func (s *stepper) step(b *batch) (err error) {
	defer catch(&err)
	st := &s.state
	logits := s.net.ForwardTrain(b.Batch, convmode.Step{Seed: s.cfg.Seed, Step: st.Step})
	for _, h := range s.held {
		copy(h.tensor, h.values)
	}
	dlogits := s.dlogits[:len(logits)]
	got := s.team.loss(b, dlogits, logits)
	if math.IsNaN(got.Loss) || math.IsInf(got.Loss, 0) {
		return s.diverged(fmt.Sprintf("loss %v: %s", got.Loss, s.cause(b)))
	}
	for _, g := range s.team.grads {
		g.Zero()
	}
	s.net.BackwardShards(dlogits, s.team.grads, s.done)
	if err := s.team.wait(); err != nil {
		return err
	}
	s.update(got)
	s.reporter.Step(s.progress())
	return nil
}

// update changes the weights by the gradients, and the state by the loss of the step.
func (s *stepper) update(got sums) {
	s.settling.Lock()
	defer s.settling.Unlock()
	st := &s.state
	factor := s.plan.schedule.Factor(st.Step, st.Epoch)
	s.optim.Step(s.team.grads[0], st.Step+1, factor)
	st.Step++
	st.Batch++
	st.Sums.add(got)
	st.LR = s.cfg.Optim.LR * factor
	s.settle()
}

// closeEpoch validates the network, records the epoch and writes a checkpoint.
func (t *Trainer) closeEpoch(ctx context.Context, s *stepper) error {
	if t.state.Sums.Terms == 0 {
		return dataError{fmt.Errorf("train: epoch %d: no training example has a scored position, expected at least one", t.state.Epoch+1)}
	}
	val, err := t.evaluate(ctx, t.model, t.data.Val)
	if errors.Is(err, errNotFinite) || err == nil && t.model.Weights.Validate() != nil {
		return t.diverged(fmt.Sprintf("validation loss %v: %s", val.Loss, s.causeInValidation(err)))
	}
	if err != nil {
		return err
	}
	m, better, err := t.record(val)
	if err != nil {
		return err
	}
	t.reporter.Epoch(m, better)
	return t.checkpoint()
}

// record appends the epoch to the log, and saves its model if it is the best.
func (t *Trainer) record(val Result) (m Metrics, better bool, err error) {
	t.settling.Lock()
	defer t.settling.Unlock()
	st := &t.state
	m = newMetrics(st.Sums.result(t.data.Info), val)
	if t.model.Meta.TargetMean == nil { // an older run: the baseline would predict 0
		m.BaselineRMSE = nil
	}
	m.Epoch, m.Step, m.LR, m.Seconds = st.Epoch+1, st.Step, st.LR, st.Seconds
	if st.Seconds > 0 {
		m.SequencesPerSecond = float64(st.Sums.Examples) / st.Seconds
	}
	st.Stale++
	if m.betterThan(st.Best, t.data.Info.PerPosition) {
		st.Best, st.Stale = &m, 0
		t.best = cloneModel(t.model)
		t.best.Meta.Series = withResidual(t.model.Meta.Series, val.OutputRMSE)
		if t.dir != "" {
			if err := t.saveBest(); err != nil {
				return m, false, err
			}
		}
	}
	if t.dir != "" {
		if err := t.appendLog(m); err != nil {
			return m, false, err
		}
	}
	st.Epoch, st.Batch, st.Sums, st.Seconds = st.Epoch+1, 0, sums{}, 0
	return m, st.Stale == 0, nil
}

// withResidual returns the description s of a forecast with the root mean square errors of its
// targets. It returns s itself if s does not describe a forecast, or if an error is NaN because a
// target has no value.
func withResidual(s *model.Series, rmse []float64) *model.Series {
	if s == nil || !s.Forecasts() || slices.ContainsFunc(rmse, math.IsNaN) {
		return s
	}
	with := *s
	with.Residual = make([]float32, len(rmse))
	for o, v := range rmse {
		with.Residual[o] = float32(v)
	}
	return &with
}

// evaluateBest evaluates the weights of the best epoch on the test split, if there is one.
func (t *Trainer) evaluateBest(ctx context.Context) error {
	if t.data.Test == nil || t.data.Test.Len() == 0 || t.state.Best == nil {
		return nil
	}
	r, err := t.evaluate(ctx, t.best, t.data.Test)
	if err != nil {
		return err
	}
	t.test = &r
	if t.dir == "" {
		return nil
	}
	record := testRecord{Split: "test", Epoch: t.state.Best.Epoch, N: r.N, Loss: r.Loss}
	if t.data.Regression {
		record.RMSE, record.R2 = &r.RMSE, Finite(r.R2)
	} else {
		record.Accuracy = &r.Accuracy
	}
	if _, err := t.restoreLog(); err != nil { // removes the test of an earlier Fit
		return err
	}
	return t.appendLog(record)
}

// evaluate runs a network over a set of the run's data.
func (t *Trainer) evaluate(ctx context.Context, m *model.Model, set dataset.Set) (Result, error) {
	r, err := Evaluate(ctx, m, set, EvalOptions{Info: t.data.Info, Batch: t.cfg.Train.EvalBatch, Workers: t.cfg.Workers, team: &t.team, evaluated: t.evaluated})
	if errors.Is(err, errStopped) || err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return r, t.interrupted()
	}
	return r, err
}

// checkpoint writes a checkpoint between two steps and calls Options.Saved, unless a resumed run
// would reject it.
func (t *Trainer) checkpoint() error {
	if err := t.validTensors(); err != nil {
		return t.diverged(err.Error())
	}
	if err := t.saveCheckpoint(); err != nil {
		return err
	}
	return t.saved()
}

// interrupted writes a checkpoint and returns ErrInterrupted.
func (t *Trainer) interrupted() error {
	if err := t.checkpoint(); err != nil {
		return err
	}
	return fmt.Errorf("train: step %d: %w", t.state.Step, ErrInterrupted)
}

func (t *Trainer) diverged(why string) error {
	err := fmt.Errorf("train: step %d: %s: %w", t.state.Step, why, ErrDiverged)
	if t.dir == "" {
		return err
	}
	return fmt.Errorf("%w; the last good checkpoint is in %s", err, t.dir)
}
