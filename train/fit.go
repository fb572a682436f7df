package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// state is the progress of a run between two steps. A checkpoint holds it with the weights and
// AdamW's moments.
type state struct {
	Version int         `json:"version"`
	Step    int         `json:"step"`    // complete steps
	Epoch   int         `json:"epoch"`   // complete epochs, validation included
	Batch   int         `json:"batch"`   // complete steps of the current epoch
	Sums    sums        `json:"sums"`    // over these steps
	LR      float64     `json:"lr"`      // of the last step
	Seconds float64     `json:"seconds"` // of training in the current epoch
	Best    *Metrics    `json:"best"`    // the best epoch; nil before the first
	Stale   int         `json:"stale"`   // epochs since the best one
	Log     []Metrics   `json:"log"`     // of the complete epochs
	Data    fingerprint `json:"data"`
	From    *model.Meta `json:"from,omitempty"` // of a run from trained weights: means and standard deviations
}

// Fit trains until the budget or the patience is exhausted, or ctx is cancelled. In the last case
// it writes a checkpoint and returns ErrInterrupted; without a run folder, Fit may be called again.
// A NaN or infinite loss ends it with ErrDiverged.
func (t *Trainer) Fit(ctx context.Context) error {
	if err := t.share(); err != nil {
		return err
	}
	s, err := newStepper(t)
	if err != nil {
		return err
	}
	defer s.shards.close()
	t.reporter.Begin(t.progress())
	defer t.reporter.End()
	for !t.state.finished(t.cfg.Train) {
		for t.state.Batch < t.plan.perEpoch && !t.state.exhausted(t.cfg.Train) {
			if err := t.trainPass(ctx, s); err != nil {
				return err
			}
		}
		if err := t.closeEpoch(ctx); err != nil {
			return err
		}
	}
	return t.evaluateBest(ctx)
}

// finished reports whether the budget or the patience is exhausted.
func (s *state) finished(c LoopConfig) bool {
	closed := s.Batch == 0 // otherwise the epoch is not complete or not validated
	return s.Epoch >= c.Epochs || s.exhausted(c) && closed || c.Patience > 0 && s.Stale >= c.Patience && closed
}

// exhausted reports whether max_steps is reached.
func (s *state) exhausted(c LoopConfig) bool { return c.MaxSteps > 0 && s.Step >= c.MaxSteps }

// trainPass runs the remaining steps of the current pass over the training set.
func (t *Trainer) trainPass(ctx context.Context, s *stepper) error {
	perPass := t.plan.perEpoch / t.plan.passes
	done := t.state.Batch % perPass
	pass := t.state.Epoch*t.plan.passes + t.state.Batch/perPass
	batches := dataset.Buckets(t.lengths, t.cfg.Train.Batch, t.cfg.Seed, pass, true)
	p := t.partition
	for i, members := range batches { // of which this process computes some examples
		batches[i] = members[p.first*p.size:][:p.count*p.size]
	}
	load := newLoader(t.data.Train, batches[done:], pass, s.buffers, t.cfg.Workers)
	defer load.close()
	began, before := time.Now(), t.state.Seconds
	for end := t.state.Batch + perPass - done; t.state.Batch < end && !t.state.exhausted(t.cfg.Train); {
		b, err := t.nextBatch(ctx, load)
		if err != nil {
			return err
		}
		if err := t.step(s, b); err != nil {
			return err
		}
		load.release(b)
		t.mu.Lock()
		t.state.Seconds = before + time.Since(began).Seconds()
		t.mu.Unlock()
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
	e := t.partition.exchange
	if e.Ranks() == 1 && ctx.Err() != nil {
		return nil, t.interrupted()
	}
	b := load.next()
	if b.err != nil {
		return nil, DataError(b.err)
	}
	v := make([]float64, e.Ranks()+1) // the lengths of all ranks, and the number of those that stop
	v[e.Rank()] = float64(b.Len)
	if ctx.Err() != nil {
		v[e.Ranks()] = 1
	}
	if err := e.SumStatistics(v); err != nil {
		return nil, err
	}
	if v[e.Ranks()] > 0 {
		return nil, t.interrupted()
	}
	if longest := int(slices.Max(v)); longest > b.Len { // on another rank
		b.Len, b.Lengths = longest, b.lengths[:b.Size]
		b.pack()
	}
	return b, nil
}

// frozenStatistics is a tensor of running statistics in a frozen group, with its values. The
// network updates those of all groups, so the trainer restores the values after each step.
type frozenStatistics struct{ tensor, values []float32 }

// stepper owns the networks and the buffers of training steps.
type stepper struct {
	shards  *shards
	buffers [2]*batch
	frozen  []frozenStatistics
}

func newStepper(t *Trainer) (*stepper, error) {
	shards, err := newShards(t)
	if err != nil {
		return nil, err
	}
	s := &stepper{shards: shards}
	for _, w := range t.model.Weights.Tensors() {
		if w.Kind == model.KindBuffer && t.cfg.Optim.Frozen(w) {
			s.frozen = append(s.frozen, frozenStatistics{w.Data, slices.Clone(w.Data)})
		}
	}
	for i := range s.buffers {
		s.buffers[i] = newBatch(t.data.Info, &t.model.Meta, shards.count*shards.size)
	}
	return s, nil
}

// step updates the weights once.
func (t *Trainer) step(s *stepper, b *batch) error {
	s.shards.batch, s.shards.step = b, convmode.Step{Seed: t.cfg.Seed, Step: t.state.Step}
	if err := s.shards.advance(); err != nil {
		return err
	}
	total := s.shards.sums
	if math.IsNaN(total.Loss) || math.IsInf(total.Loss, 0) {
		return t.diverged(fmt.Sprintf("loss %v: %s", total.Loss, t.cause(s, b)))
	}
	grads, err := s.shards.backward()
	if err != nil {
		return err
	}
	t.update(s, grads, total)
	t.reporter.Step(t.progress())
	return nil
}

// update changes the weights by the gradients, and the state by the loss of the step.
func (t *Trainer) update(s *stepper, grads *model.Weights, total sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := &t.state
	factor := t.plan.schedule.Factor(st.Step, st.Epoch)
	t.optim.Step(grads, st.Step+1, factor)
	s.shards.list[0].net.UpdateStatistics()
	for _, f := range s.frozen {
		copy(f.tensor, f.values)
	}
	st.Step++
	st.Batch++
	st.Sums.add(total)
	st.LR = t.cfg.Optim.LR * factor
}

// closeEpoch validates the network, records the epoch and writes a checkpoint.
func (t *Trainer) closeEpoch(ctx context.Context) error {
	if t.state.Sums.Terms == 0 {
		return DataError(fmt.Errorf("train: epoch %d: no training example has a scored position, expected at least one", t.state.Epoch+1))
	}
	val, err := t.evaluate(ctx, t.model, t.data.Val)
	if invalid := t.model.Weights.Validate(); errors.Is(err, errNotFinite) || err == nil && invalid != nil {
		return t.diverged(fmt.Sprintf("validation loss %v: %v", val.Loss, cmp.Or(invalid, err)))
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

// record adds the epoch to the log, and saves its model if it is the best.
func (t *Trainer) record(val Result) (m Metrics, better bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := &t.state
	m = newMetrics(st.Sums.result(t.data.Info), val)
	m.Epoch, m.Step, m.LR, m.Seconds = st.Epoch+1, st.Step, st.LR, st.Seconds
	if st.Seconds > 0 {
		m.SequencesPerSecond = float64(st.Sums.Examples) / st.Seconds
	}
	st.Stale++
	if t.data.NoValidation || m.betterThan(st.Best, t.data.Info.PerPosition) {
		st.Best, st.Stale = &m, 0
		best := *t.model
		best.Weights = t.model.Weights.Clone()
		best.Meta.Series = withResidual(t.model.Meta.Series, val.OutputRMSE)
		t.best = &best
		if err := t.run.replace(BestFile, t.writeBest); err != nil {
			return m, false, err
		}
	}
	log := append(slices.Clip(st.Log), m)
	if err := t.run.writeLog(log, nil); err != nil {
		return m, false, err
	}
	st.Log, st.Epoch, st.Batch, st.Sums, st.Seconds = log, st.Epoch+1, 0, sums{}, 0
	return m, st.Stale == 0, nil
}

// writeBest writes the model of the best epoch, if there is one.
func (t *Trainer) writeBest(w io.Writer) error {
	if t.best == nil {
		return nil
	}
	_, err := t.best.WriteTo(w)
	return err
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
	record := testRecord{Split: "test", Epoch: t.state.Best.Epoch, N: r.N, Loss: r.Loss}
	if t.data.Regression {
		record.RMSE, record.R2 = &r.RMSE, finite(r.R2)
	} else {
		record.Accuracy = &r.Accuracy
	}
	return t.run.writeLog(t.state.Log, &record)
}

// evaluate runs a network over a set of the run's data.
func (t *Trainer) evaluate(ctx context.Context, m *model.Model, set dataset.Set) (Result, error) {
	r, err := Evaluate(ctx, m, set, EvalOptions{Info: t.data.Info, Batch: t.cfg.Train.Batch, Workers: t.cfg.Workers, exchange: t.partition.exchange})
	if errors.Is(err, ErrInterrupted) || err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return r, t.interrupted()
	}
	return r, err
}

// checkpoint writes a checkpoint between two steps and calls Options.Saved.
func (t *Trainer) checkpoint() error {
	if err := t.Checkpoint(); err != nil {
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
	if t.run.Dir == "" {
		return err
	}
	return fmt.Errorf("%w; the last good checkpoint is in %s", err, t.run.Dir)
}
