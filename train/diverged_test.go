package train

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A run that diverges names the step and the first tensor that is not finite, and keeps a
// checkpoint from which a run can resume.
func TestDivergenceNamesTheTensor(t *testing.T) {
	w := func(change func(w *model.Weights)) func(tr *Trainer) {
		return func(tr *Trainer) { change(tr.model.Weights) }
	}
	nothing := func(tr *Trainer) {}
	const large = 1e20 // its square is infinite in float32
	tests := []struct {
		name   string
		sets   []string
		change func(tr *Trainer) // after the first checkpoint
		want   []string
	}{
		{"learning rate of 1e6", []string{"optim.lr=1e6", "optim.weight_decay=0"}, nothing, []string{"step 1: loss +Inf: the output of the decoder is finite, but too large"}},
		{"learning rate of 1e30", []string{"optim.lr=1e30"}, nothing, []string{`step 1: loss NaN: the output of "layers.0" is NaN`, "in example "}},
		{"learning rate of 1e30, one step per epoch", []string{"optim.lr=1e30", "data.train_size=4"}, nothing, []string{`step 1: validation loss NaN: train: example 0: the network's output is`}},
		{"NaN weight", nil, w(func(w *model.Weights) { w.Layers[1].MixWeight[3] = nan }), []string{`step 0: loss NaN: tensor "layers.1.mix.weight": element 3 is NaN`}},
		{"infinite step", nil, w(func(w *model.Weights) { w.Layers[1].Step[0] = 1000 }), []string{`step 0: loss NaN: tensor "layers.1.log_dt": element 0 is 1000`}},
		{"large weights", nil, w(func(w *model.Weights) { w.EncoderWeight[0], w.Layers[0].D[0], w.Layers[0].C[0] = large, large, large }), []string{`step 0: loss NaN: the output of "layers.0" is`, "channel", "in example "}},
		{"large bias", nil, w(func(w *model.Weights) { w.EncoderBias[0], w.EncoderWeight[0] = math.MaxFloat32, math.MaxFloat32 }), []string{"step 0: loss NaN: the output of the encoder is +Inf at channel 0", "in example "}},
		{"large decoder", nil, w(func(w *model.Weights) {
			for i := range w.DecoderWeight {
				w.DecoderWeight[i] = math.MaxFloat32
			}
		}), []string{"step 0: loss ", "the output of the decoder is"}},
	}
	for _, tt := range tests {
		cfg := tiny(t, append([]string{"optim.schedule=constant", "model.norm=none"}, tt.sets...)...)
		tr := newTrainer(t, cfg)
		saved := slices.Clone(tr.model.Weights.Flat())
		tt.change(tr)
		err := tr.Fit(t.Context())
		ok := errors.Is(err, ErrDiverged)
		for _, want := range append(tt.want, "step ", "the last good checkpoint is in "+cfg.Out) {
			ok = ok && strings.Contains(err.Error(), want)
		}
		if tr.Close(); !ok {
			t.Errorf("%s: error %v, expected one with %q", tt.name, err, tt.want)
			continue
		}
		again := newTrainer(t, reload(t, cfg))
		if !slices.Equal(again.model.Weights.Flat(), saved) {
			t.Errorf("%s: the weights are not those of the checkpoint before the divergence", tt.name)
		}
	}
}

// A sample or target that is not finite, from a set of any program, is an error of the data before
// it reaches the weights.
func TestInvalidSamplesStopTheRun(t *testing.T) {
	for value, want := range map[float32]string{
		nan:                   "sample 0 is NaN",
		float32(math.Inf(1)):  "sample 0 is +Inf",
		-float32(math.Inf(1)): "sample 0 is -Inf",
	} {
		t.Run(want, func(t *testing.T) {
			cfg := tiny(t, "train.batch=20") // all examples
			cfg.data = echoData(cfg.Config)
			cfg.data.Train = invalid{cfg.data.Train, value}
			tr := newTrainer(t, cfg)
			before := tr.model.Weights.Clone()
			err := tr.Fit(t.Context())
			must.Fail(t, err, ErrData, "example 3", want)
			if errors.Is(err, ErrDiverged) {
				t.Error("an error of the data is reported as divergence")
			}
			must.Do(t, tr.model.Weights.Validate())
			must.Equal(t, tr.Step(), 0, "steps")
			if !slices.Equal(tr.model.Weights.Flat(), before.Flat()) {
				t.Error("the weights have changed")
			}
		})
	}
}

// invalid replaces the first sample of example 3.
type invalid struct {
	dataset.Set
	value float32
}

func (s invalid) Example(e *dataset.Example, i, epoch int) error {
	err := s.Set.Example(e, i, epoch)
	if i == 3 {
		e.X[0] = s.value
	}
	return err
}
