package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/model"
)

// stateVersion changes whenever an older checkpoint can no longer be resumed with bit-identical
// results.
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

// saveCheckpoint replaces the checkpoint, and keeps the one before it where the file system has
// hard links.
func (t *Trainer) saveCheckpoint() error {
	if t.dir == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.checkpointData()
	if err != nil {
		return err
	}
	return t.writeCheckpoint(f)
}

func (t *Trainer) writeCheckpoint(f *safetensors.File) error {
	path, previous := t.path(checkpointFile), t.path(previousFile)
	return replaceFile(t.files, path, func(w io.Writer) error {
		if _, err := f.WriteTo(w); err != nil { // the disk is full: the previous checkpoint stays
			return err
		}
		if _, err := t.files.Stat(path); err == nil {
			t.files.Remove(previous)
			t.files.Link(path, previous)
		}
		return nil
	})
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
	if t.dir == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.validTensors(); err != nil {
		return t.diverged(err.Error())
	}
	f, err := t.checkpointData()
	if err != nil {
		return err
	}
	return t.writeCheckpoint(f)
}

// loadCheckpoint restores the state of the run's checkpoint. If it is damaged or missing, it
// restores the previous one and warns. An error is fs.ErrNotExist if there is neither. If the
// checkpoint cannot be read, loadCheckpoint returns the error and changes neither file.
func (t *Trainer) loadCheckpoint() error {
	err := t.readCheckpoint(checkpointFile)
	if !errors.Is(err, ErrData) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch e := t.readCheckpoint(previousFile); {
	case errors.Is(e, fs.ErrNotExist):
		return err
	case e != nil && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; %s is missing", e, t.path(checkpointFile))
	case e != nil:
		return fmt.Errorf("%w; the previous checkpoint: %w", err, e)
	}
	// The next save would otherwise replace the previous checkpoint by the damaged one.
	if e := t.files.Rename(t.path(previousFile), t.path(checkpointFile)); e != nil {
		return fmt.Errorf("train: %w", e)
	}
	t.warn("%v; the run continues from the previous checkpoint, after step %d", err, t.state.Step)
	return nil
}

// readCheckpoint restores the state in a checkpoint. An error of its content is ErrData, and one of
// its version or of other data ErrConfig.
func (t *Trainer) readCheckpoint(name string) error {
	path := t.path(name)
	f, s, err := readState(t.files, path)
	if err != nil {
		return err
	}
	if err := s.Data.compare(t.fingerprint); err != nil {
		return configErrorf("out: the run in %s began with other data: %w; resume it with the same data or start a new run", t.dir, err)
	}
	if err := t.restore(f, s); err != nil {
		return dataError{fmt.Errorf("train: %s: %w", path, err)}
	}
	return nil
}

// readState reads a checkpoint and the state in it, which it does not validate.
func readState(files atomicfile.Files, path string) (*safetensors.File, state, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, state{}, fmt.Errorf("train: %w", err)
	}
	defer file.Close()
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, state{}, contentError(fmt.Errorf("train: %s: %w", path, err))
	}
	s, err := stateOf(f)
	if err != nil {
		return nil, s, dataError{fmt.Errorf("train: %s: %w", path, err)}
	}
	if s.Version != stateVersion {
		return nil, s, configErrorf("out: %s: checkpoint of version %d, expected %d", path, s.Version, stateVersion)
	}
	return f, s, nil
}

// stateOf returns the state in a checkpoint, which it does not validate.
func stateOf(f *safetensors.File) (s state, err error) {
	if err := json.Unmarshal([]byte(f.Metadata["state"]), &s); err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	return s, nil
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
			if a.I64 != nil || !slices.Equal(a.Shape, x.Shape) {
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
	if !s.Standardised { // the run began with targets as they are
		t.model.Meta.TargetMean, t.model.Meta.TargetStd = nil, nil
		s.Sums.Squares = s.Sums.Loss
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

// saveBest writes the model of the best epoch.
func (t *Trainer) saveBest() error {
	return replaceFile(t.files, t.path(bestFile), func(w io.Writer) error {
		_, err := t.best.WriteTo(w)
		return err
	})
}

// loadBest reads the model of the best epoch.
func (t *Trainer) loadBest() (*model.Model, error) {
	f, err := t.files.Open(t.path(bestFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := model.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path(bestFile), err)
	}
	return m, nil
}
