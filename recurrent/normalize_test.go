package recurrent_test

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// inUnit returns a model whose input has a mean and a standard deviation per channel, and labels.
func inUnit(t testing.TB, cfg model.Config) *model.Model {
	t.Helper()
	m := newModel(t, cfg, 1)
	m.Meta.Labels = []string{"a", "b", "c"}
	if cfg.Encoder == model.EncoderLinear {
		m.Meta.InputMean, m.Meta.InputStd = []float32{1000, -3}, []float32{250, 0.01}
	}
	return m
}

// A network with Normalize gives the bits that it gives without it for input that the caller
// normalised, and with Posterior the softmax of the logits, however the signal is cut.
func TestNormalize(t *testing.T) {
	const length = 200
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for name, cfg := range variants() {
			m := inUnit(t, cfg)
			x, ids := input(cfg, 2, length)
			raw := make([]float32, len(x))
			for i := range raw { // a signal of the training data's unit
				c := i / length
				raw[i] = x[i]*m.Meta.InputStd[c] + m.Meta.InputMean[c]
				scale, shift := m.Meta.Affine(c)
				vek.ScaleShift(x[i:i+1], raw[i:i+1], scale, shift)
			}
			want := feed(newNetwork(t, m, 1).NewStream(), cfg, x, ids, length, []int{length})
			positions := len(want) / cfg.DOutput
			for at := range positions {
				p := model.Posterior(nil, columns(want, cfg.DOutput, positions, at, 1))
				for o, v := range p {
					want[o*positions+at] = v
				}
			}
			net := must.Get(recurrent.New(m, recurrent.Options{Normalize: true, Posterior: true}))(t)
			for _, chunks := range [][]int{{1}, {7, 64, 2}, {length}} {
				if got := feed(net.NewStream(), cfg, raw, ids, length, chunks); !slices.Equal(got, want) {
					t.Errorf("%s, chunks %v: %v, expected %v", name, chunks, got, want)
				}
			}
		}
	})
}

func TestPosteriorErrors(t *testing.T) {
	m := newModel(t, baseConfig(), 1)
	must.Reject(recurrent.New(m, recurrent.Options{Posterior: true}))(t, "recurrent: Posterior: the model has no labels, so its outputs are not those of classes")
}
