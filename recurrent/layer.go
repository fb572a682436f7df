package recurrent

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layer holds the constants of one layer.
type layer struct {
	recurrence recurrence // nil without an SSM
	mixing     linear
	norm       norm
}

// A recurrence advances the SSM of a layer sample by sample. Its state is stateLen floats per
// stream, 0 at the start.
type recurrence interface {
	// run advances each state by t samples of x [H][len(states)·t] and writes the outputs, D·x
	// included, to y. Columns [i·t, (i+1)·t) of x and y belong to state i, whose stream is at
	// positions[i]. The bits for a stream do not depend on the other streams, or on how its samples
	// are divided into calls.
	run(y, x vek.Matrix, states [][]float32, positions []int64, t int, scratch []float32)

	// correct adjusts a state at the end of a block for the rounding of the poles to float32.
	correct(state []float32)

	stateLen() int
	scratchLen() int // floats, for at most one block of columns
}

func newLayer(m *model.Model, i int, stepScale float64) (layer, error) {
	cfg, w := m.Config, &m.Weights.Layers[i]
	l := layer{norm: newNorm(cfg, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)}
	if cfg.HasSSM(i) {
		var err error
		if l.recurrence, err = newRecurrence(m, i, stepScale); err != nil {
			return l, err
		}
	}
	if rows := cfg.MixingRows(); rows > 0 {
		l.mixing = newLinear(w.MixWeight, w.MixBias, rows)
	}
	return l, nil
}

func newRecurrence(m *model.Model, i int, stepScale float64) (recurrence, error) {
	if m.Config.SSM.Layer == ssm.LayerS4 {
		l, err := newRankOne(m.SSMParams(i), stepScale)
		if err != nil {
			return nil, fmt.Errorf("recurrent: layer %d: %w", i, err)
		}
		return l, nil
	}
	if m.Config.SSM.MIMO() {
		return newScan(m, i, stepScale)
	}
	p := m.SSMParams(i)
	d := p.Discretize(p.Disc, stepScale)
	if err := checkGrowth(d.CountGrowing(), i, ""); err != nil {
		return nil, err
	}
	return newDiagonal(d, p.D), nil
}

// checkGrowth returns an error if modes of a layer grow. It suggests package convmode, after other
// advice.
func checkGrowth(growing, layer int, advice string) error {
	if growing == 0 {
		return nil
	}
	return fmt.Errorf("recurrent: %d modes of layer %d grow without bound, but a stream has no end; %suse package convmode", growing, layer, advice)
}

// linear is y = A x + b with A [rows][columns].
type linear struct {
	weight *vek.Weights
	bias   []float32
}

func newLinear(weight, bias []float32, rows int) linear {
	columns := len(weight) / rows
	return linear{vek.NewWeights(vek.MatrixOf(slices.Clone(weight), rows, columns), vek.ForProducts|vek.ForNarrowProducts), slices.Clone(bias)}
}

// apply writes y [rows][t] from x [columns][t].
func (l *linear) apply(y, x vek.Matrix, scratch []float32) {
	l.weight.GemmBias(y, x, l.bias, scratch)
}

// norm is a LayerNorm over the channels of each position, or a BatchNorm whose running statistics
// are folded into a scale and a shift per channel. Without weights it is the identity.
type norm struct {
	perChannel    bool
	eps           float64
	weight, shift []float32 // [H]
}

func newNorm(c model.Config, weight, bias, mean, variance []float32) norm {
	n := norm{perChannel: c.Norm == model.NormBatch, eps: c.Eps()}
	if c.Norm == model.NormNone {
		return n
	}
	n.weight, n.shift = slices.Clone(weight), slices.Clone(bias)
	if n.perChannel {
		for h := range n.weight {
			scale := float64(weight[h]) / math.Sqrt(float64(variance[h])+n.eps)
			n.weight[h] = float32(scale)
			n.shift[h] = float32(float64(bias[h]) - scale*float64(mean[h]))
		}
	}
	return n
}

func (n *norm) identity() bool { return n.weight == nil }

// apply writes y [H][t] from x [H][t]; mean and rstd are scratch [t].
func (n *norm) apply(y, x vek.Matrix, mean, rstd []float32) {
	if !n.perChannel {
		vek.LayerNorm(y, x, n.weight, n.shift, mean[:x.Cols], rstd[:x.Cols], float32(n.eps))
		return
	}
	for h := range n.weight {
		vek.ScaleShift(y.Row(h), x.Row(h), n.weight[h], n.shift[h])
	}
}
