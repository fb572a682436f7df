package recurrent

import (
	"math"
	"math/cmplx"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layer holds the constants of one layer. B̄ is folded into C, W = C·B̄, which a diagonal system
// with one input allows: h ← λ̄h + x, y = 2·Re Σ W h + D x (docs/maths.md §2.5).
type layer struct {
	ssm                        vek.SSM   // λ̄ rounded to float32, W and D
	correctionRe, correctionIm []float32 // [H][M] phase correction at the end of a block
	mixing                     linear
	norm                       norm
}

func newLayer(m *model.Model, i int, stepScale float64) layer {
	cfg, w := m.Config, &m.Weights.Layers[i]
	l := layer{norm: newNorm(cfg.Norm, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)}
	if cfg.HasSSM(i) {
		l.setSSM(m.SSMParams(i).Discretize(cfg.SSM.Disc, stepScale))
	}
	switch cfg.Mixing {
	case model.MixingGLU:
		l.mixing = newLinear(w.MixWeight, w.MixBias, 2*cfg.DModel)
	case model.MixingLinear:
		l.mixing = newLinear(w.MixWeight, w.MixBias, cfg.DModel)
	}
	return l
}

// setSSM rounds the poles to float32 and stores the phase correction for what the rounding lost.
func (l *layer) setSSM(d *ssm.Discrete) {
	floats := func() []float32 { return make([]float32, d.H*d.M) }
	l.ssm = vek.SSM{LambdaRe: floats(), LambdaIm: floats(), CRe: floats(), CIm: floats(), D: make([]float32, d.H)}
	l.correctionRe, l.correctionIm = floats(), floats()
	for h, x := range d.D {
		l.ssm.D[h] = float32(x)
	}
	for n, logLambda := range d.LogLambda {
		l.ssm.CRe[n], l.ssm.CIm[n] = float32(real(d.W[n])), float32(imag(d.W[n]))
		exact := cmplx.Exp(logLambda)
		re, im := round(exact)
		l.ssm.LambdaRe[n], l.ssm.LambdaIm[n] = re, im
		l.correctionRe[n], l.correctionIm[n] = phaseCorrection(exact, complex(float64(re), float64(im)))
	}
}

// run advances each state [re, im][H][M] by t samples of x and writes the outputs to y. Columns
// [i·t, (i+1)·t) of x and y belong to state i.
func (l *layer) run(y, x vek.Matrix, states [][]float32, t int, scratch []float32) {
	if t == 1 {
		vek.SSMStep(y, x, states, &l.ssm, scratch)
		return
	}
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		vek.SSMBlock(y.Columns(i*t, (i+1)*t), x.Columns(i*t, (i+1)*t), re, im, &l.ssm, scratch)
	}
}

// linear is y = A x + b with A [rows][columns].
type linear struct {
	weight *vek.Weights
	bias   []float32
}

func newLinear(weight, bias []float32, rows int) linear {
	columns := len(weight) / rows
	return linear{vek.NewWeights(vek.MatrixOf(slices.Clone(weight), rows, columns), true), slices.Clone(bias)}
}

// apply writes y [rows][t] from x [columns][t].
func (l *linear) apply(y, x vek.Matrix, scratch []float32) {
	l.weight.GemmBias(y, x, l.bias, scratch)
}

// norm is a LayerNorm over the channels of each position, or a BatchNorm whose running statistics
// are folded into a scale and a shift per channel. Without weights it is the identity.
type norm struct {
	perChannel    bool
	weight, shift []float32 // [H]
}

func newNorm(kind model.Norm, weight, bias, mean, variance []float32) norm {
	n := norm{perChannel: kind == model.NormBatch}
	if kind == model.NormNone {
		return n
	}
	n.weight, n.shift = slices.Clone(weight), slices.Clone(bias)
	if n.perChannel {
		for h := range n.weight {
			scale := float64(weight[h]) / math.Sqrt(float64(variance[h])+model.NormEps)
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
		vek.LayerNorm(y, x, n.weight, n.shift, mean[:x.Cols], rstd[:x.Cols], model.NormEps)
		return
	}
	for h := range n.weight {
		vek.ScaleShift(y.Row(h), x.Row(h), n.weight[h], n.shift[h])
	}
}
