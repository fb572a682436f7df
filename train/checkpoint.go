package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/model"
)

// stateVersion changes whenever an older checkpoint can no longer be resumed to the same bits.
const stateVersion = 1

// A checkpoint is one file, replaced in one rename: weights, AdamW's two moments, and the state as metadata. No
// random state is needed, since every draw is a function of (seed, step, layer, element).

// sections are the parts of a checkpoint, each a set of the network's tensors.
func (t *Trainer) sections() []section {
	return []section{{"weights.", t.model.Weights}, {"adam.m.", t.optim.m}, {"adam.v.", t.optim.v}}
}

type section struct {
	prefix  string
	weights *model.Weights
}

// saveCheckpoint replaces the checkpoint.
func (t *Trainer) saveCheckpoint() error {
	t.state.Version = stateVersion
	text, err := json.Marshal(t.state)
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	f := safetensors.File{Metadata: map[string]string{"format": "s4d-fast checkpoint", "state": string(text)}}
	for _, s := range t.sections() {
		for _, x := range s.weights.Tensors() {
			f.Arrays = append(f.Arrays, safetensors.Array{Name: s.prefix + x.Name, Shape: x.Shape, F32: x.Data})
		}
	}
	return replaceFile(t.path(checkpointFile), func(w io.Writer) error {
		_, err := f.WriteTo(w)
		return err
	})
}

// loadCheckpoint takes up the state of the run's checkpoint.
func (t *Trainer) loadCheckpoint() error {
	path := t.path(checkpointFile)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return configErrorf("out: %s cannot be resumed: %s is missing", t.dir, checkpointFile)
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer file.Close()
	f, err := safetensors.Read(file)
	if err == nil {
		err = t.restore(f)
	}
	if err != nil {
		return dataError{fmt.Errorf("train: %s: %w", path, err)}
	}
	return nil
}

// readState returns the state of a checkpoint alone.
func readState(path string) (state, error) {
	file, err := os.Open(path)
	if err != nil {
		return state{}, err
	}
	defer file.Close()
	f, err := safetensors.Read(file)
	if err != nil {
		return state{}, err
	}
	return stateOf(f)
}

func stateOf(f *safetensors.File) (s state, err error) {
	if err := json.Unmarshal([]byte(f.Metadata["state"]), &s); err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	if s.Version != stateVersion {
		return s, fmt.Errorf("version %d of the checkpoint: want %d", s.Version, stateVersion)
	}
	return s, nil
}

func (t *Trainer) restore(f *safetensors.File) error {
	s, err := stateOf(f)
	if err != nil {
		return err
	}
	for _, part := range t.sections() {
		for _, x := range part.weights.Tensors() {
			a := f.Find(part.prefix + x.Name)
			if a == nil {
				return fmt.Errorf("tensor %q is missing", part.prefix+x.Name)
			}
			if a.I64 != nil || !slices.Equal(a.Shape, x.Shape) {
				return fmt.Errorf("tensor %q: shape %v, want %v", a.Name, a.Shape, x.Shape)
			}
			copy(x.Data, a.F32)
		}
	}
	if !s.Standardised { // the run began with targets as they are
		t.model.Meta.TargetMean, t.model.Meta.TargetStd = nil, nil
		s.Sums.Squares = s.Sums.Loss
	}
	t.state = s
	return nil
}
