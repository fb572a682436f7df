package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// writeCheckpoint writes the checkpoint of the last complete step.
func (t *Trainer) writeCheckpoint(w io.Writer) error {
	text, err := json.Marshal(t.state)
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	f := &safetensors.File{Metadata: map[string]string{"format": "s4d-fast checkpoint", "state": string(text)}}
	for _, s := range t.sections() {
		for _, x := range s.weights.Tensors() {
			f.Arrays = append(f.Arrays, safetensors.Array{Name: s.prefix + x.Name, Shape: x.Shape, F32: x.Data})
		}
	}
	_, err = f.WriteTo(w)
	return err
}

// Checkpoint writes a checkpoint of the last complete step, if there is a run folder. During Fit,
// another goroutine may call it at any time, for example when Fit waits for a rank that is lost. A
// checkpoint that a resumed run would reject, such as one with a weight that is NaN, is an error,
// and is not written.
func (t *Trainer) Checkpoint() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.model.Weights.Validate(); err != nil {
		return t.diverged(err.Error())
	}
	return t.run.replace(checkpointFile, t.writeCheckpoint)
}

// parseCheckpoint reads a checkpoint and the state in it, which it does not validate.
func parseCheckpoint(r io.Reader) (f *safetensors.File, s state, err error) {
	if f, err = safetensors.Read(r); err != nil {
		return nil, s, err
	}
	if err := json.Unmarshal([]byte(f.Metadata["state"]), &s); err != nil {
		return nil, s, fmt.Errorf("state: %w", err)
	}
	return f, s, nil
}

// restoreCheckpoint restores the checkpoint of the run folder. It reports whether there is one: a
// run that ended before its first checkpoint has neither that nor results.
func (t *Trainer) restoreCheckpoint() (found bool, err error) {
	f, s, err := t.run.readState(checkpointFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		trained, err := t.run.exists(BestFile)
		if trained {
			err = configErrorf("out: %s cannot be resumed: %s is missing", t.run.Dir, checkpointFile)
		}
		return false, err
	case err != nil:
		return false, err
	}
	if err := s.Data.compare(&t.state.Data); err != nil {
		return true, configErrorf("out: the run in %s began with other data: %w; resume it with the same data or start a new run", t.run.Dir, err)
	}
	if err := t.restore(f, s); err != nil {
		return true, DataError(fmt.Errorf("train: %s: %w", t.run.path(checkpointFile), err))
	}
	return true, nil
}

// restore sets the trainer's tensors and state to those of a checkpoint. After an error, the
// tensors are not those of any state.
func (t *Trainer) restore(f *safetensors.File, s state) error {
	for _, part := range t.sections() {
		for _, x := range part.weights.Tensors() {
			a := f.Find(part.prefix + x.Name)
			if a == nil {
				return fmt.Errorf("tensor %q is missing", part.prefix+x.Name)
			}
			if !slices.Equal(a.Shape, x.Shape) {
				return fmt.Errorf("tensor %q: shape %v, expected %v", a.Name, a.Shape, x.Shape)
			}
			copy(x.Data, a.F32)
		}
	}
	if (s.From != nil) != (t.cfg.From != "") {
		return fmt.Errorf("state: trained weights at the start: %t, the configuration: %t", s.From != nil, t.cfg.From != "")
	}
	if s.From != nil {
		meta := t.model.Meta
		meta.InputMean, meta.InputStd, meta.TargetMean, meta.TargetStd = s.From.InputMean, s.From.InputStd, s.From.TargetMean, s.From.TargetStd
		if err := meta.Validate(t.model.Config); err != nil {
			return err
		}
		t.model.Meta = meta
	}
	t.state = s
	return nil
}
