package train

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/model"
)

// stateVersion is the version of the format of checkpoints. It also changes if a checkpoint can no
// longer be resumed with bit-identical results.
const stateVersion = 1

// A checkpoint is one safetensors file with a checksum. It holds the weights, AdamW's two moments,
// and the state as metadata. It holds no state of a random generator, since every draw is a
// function of (seed, step, layer, element).

// sections are the parts of a checkpoint, each a set of the network's tensors.
func (t *Trainer) sections() []section {
	m, v := t.optim.Moments()
	return []section{{"weights.", t.model.Weights}, {"adam.m.", m}, {"adam.v.", v}}
}

type section struct {
	prefix  string
	weights *model.Weights
}

// saveCheckpoint writes a checkpoint between two steps.
func (t *Trainer) saveCheckpoint() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeCheckpoint()
}

func (t *Trainer) writeCheckpoint() error {
	if t.run.Dir == "" {
		return nil
	}
	f, err := t.checkpointData()
	if err != nil {
		return err
	}
	return t.run.writeCheckpoint(f)
}

// checkpointData returns the checkpoint of the last complete step.
func (t *Trainer) checkpointData() (*safetensors.File, error) {
	t.state.Version = stateVersion
	text, err := json.Marshal(t.state)
	if err != nil {
		return nil, fmt.Errorf("train: checkpoint: %w", err)
	}
	f := &safetensors.File{Metadata: map[string]string{"format": "s4d-fast checkpoint", "state": string(text)}}
	for _, s := range t.sections() {
		for _, x := range s.weights.Tensors() {
			f.Arrays = append(f.Arrays, safetensors.Array{Name: s.prefix + x.Name, Shape: x.Shape, F32: x.Data})
		}
	}
	return f, nil
}

// Checkpoint writes a checkpoint of the last complete step, if there is a run folder. During Fit,
// another goroutine may call it at any time, for example when Fit waits for a rank that is lost. A
// checkpoint that a resumed run would reject, such as one with a weight that is NaN, is an error,
// and is not written.
func (t *Trainer) Checkpoint() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.validTensors(); err != nil {
		return t.diverged(err.Error())
	}
	return t.writeCheckpoint()
}

// stateOf returns the state in a checkpoint, which it does not validate.
func stateOf(f *safetensors.File) (s state, err error) {
	if err := json.Unmarshal([]byte(f.Metadata["state"]), &s); err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	return s, nil
}

// accept restores a checkpoint of the run folder.
func (t *Trainer) accept(f *safetensors.File, s state) error {
	if err := s.Data.compare(&t.fingerprint); err != nil {
		return configErrorf("out: the run in %s began with other data: %w; resume it with the same data or start a new run", t.run.Dir, err)
	}
	if err := t.restore(f, s); err != nil {
		return dataError{err}
	}
	return nil
}

// restore sets the trainer's tensors and state to those of a checkpoint. An error leaves them
// unchanged.
func (t *Trainer) restore(f *safetensors.File, s state) error {
	if err := s.validate(&t.cfg, t.plan.perEpoch); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	arrays := make(map[string]*safetensors.Array, len(f.Arrays))
	for i := range f.Arrays {
		arrays[f.Arrays[i].Name] = &f.Arrays[i]
	}
	var pairs [][2][]float32 // of the trainer and of the file
	for _, part := range t.sections() {
		for _, x := range part.weights.Tensors() {
			a := arrays[part.prefix+x.Name]
			if a == nil {
				return fmt.Errorf("tensor %q is missing", part.prefix+x.Name)
			}
			if !slices.Equal(a.Shape, x.Shape) {
				return fmt.Errorf("tensor %q: shape %v, expected %v", a.Name, a.Shape, x.Shape)
			}
			pairs = append(pairs, [2][]float32{x.Data, a.F32})
		}
	}
	swap := func() {
		for _, p := range pairs {
			for i, v := range p[0] {
				p[0][i], p[1][i] = p[1][i], v
			}
		}
	}
	swap()
	if err := t.validTensors(); err != nil {
		swap()
		return err
	}
	if (s.From != nil) != (t.cfg.From != "") {
		swap()
		return fmt.Errorf("state: trained weights at the start: %t, the configuration: %t", s.From != nil, t.cfg.From != "")
	}
	if s.From != nil {
		if err := t.restoreMoments(s.From); err != nil {
			swap()
			return err
		}
	}
	t.state = s
	return nil
}

// validTensors returns an error for the first weight or moment that no run can produce. A second
// moment may be +Inf, since the square of a gradient can overflow.
func (t *Trainer) validTensors() error {
	for _, x := range t.model.Weights.Tensors() {
		if err := x.Validate(); err != nil {
			return fmt.Errorf("weights: tensor %q: %w", x.Name, err)
		}
	}
	first, second := t.optim.Moments()
	means := first.Flat()
	for i, v := range second.Flat() {
		if m := float64(means[i]); math.IsNaN(m) || math.IsInf(m, 0) || !(v >= 0) {
			return fmt.Errorf("AdamW's moments %d are %v and %v, expected a finite number and one that is not negative", i, m, v)
		}
	}
	return nil
}

// validate reports the first value that no run of the configuration reaches. An epoch has perEpoch
// steps; max_steps may end the last one early.
func (s *state) validate(c *Config, perEpoch int) error {
	last := c.Train.MaxSteps > 0 && s.Step == c.Train.MaxSteps
	if s.Epoch < 0 || s.Epoch > math.MaxInt32 || s.Batch < 0 || s.Batch > perEpoch {
		return fmt.Errorf("epoch %d, batch %d: expected 0 … %d and 0 … %d", s.Epoch, s.Batch, math.MaxInt32, perEpoch)
	}
	if all := s.Epoch*perEpoch + s.Batch; s.Step != all && !(last && s.Batch == 0 && s.Step < all && s.Step > all-perEpoch) {
		return fmt.Errorf("step %d: expected %d after %d epochs of %d steps and %d more", s.Step, all, s.Epoch, perEpoch, s.Batch)
	}
	if s.Sums.Examples != s.Batch*c.Train.Batch || s.Sums.Correct < 0 || s.Sums.Correct > s.Sums.Terms {
		return fmt.Errorf("sums %+v: expected those of %d batches of %d examples", s.Sums, s.Batch, c.Train.Batch)
	}
	if !(s.LR >= 0) || !(s.Seconds >= 0) {
		return fmt.Errorf("learning rate %v, %v seconds: expected at least 0", s.LR, s.Seconds)
	}
	if s.Best == nil && s.Epoch == 0 && s.Stale == 0 {
		return nil
	}
	b := s.Best
	if b == nil {
		return fmt.Errorf("no best epoch: expected one of %d", s.Epoch)
	}
	if b.Epoch < 1 || b.Epoch > s.Epoch || s.Stale != s.Epoch-b.Epoch || !(b.ValLoss >= 0) ||
		b.Step <= (b.Epoch-1)*perEpoch || b.Step > min(s.Step, b.Epoch*perEpoch) {
		return fmt.Errorf("best epoch %d, step %d, loss %v, %d epochs ago: expected one of %d epochs",
			b.Epoch, b.Step, b.ValLoss, s.Stale, s.Epoch)
	}
	return nil
}
