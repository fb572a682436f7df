package recurrent

import (
	"math"
	"math/cmplx"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// layer is one block's constants. B̄ is folded into C, which a diagonal system with one input allows:
// h ← λ̄h + x, y = 2·Re Σ W h + D x.
type layer struct {
	lambdaRe, lambdaIm []float32 // [H][M] λ̄ rounded to float32
	wRe, wIm           []float32 // [H][M] W = C·B̄
	skip               []float32 // [H] D
	turnRe, turnIm     []float32 // [H][M] correction at the end of a block
	mixing             linear
	norm               norm
}

func newLayer(m *model.Model, i int, rate float64) layer {
	cfg, w := m.Config, &m.Weights.Layers[i]
	d := m.SSMParams(i).Discretize(cfg.SSM.Disc, rate)
	l := layer{
		lambdaRe: make([]float32, d.H*d.M), lambdaIm: make([]float32, d.H*d.M),
		wRe: make([]float32, d.H*d.M), wIm: make([]float32, d.H*d.M),
		turnRe: make([]float32, d.H*d.M), turnIm: make([]float32, d.H*d.M),
		skip: make([]float32, d.H),
		norm: newNorm(cfg.Norm, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar),
	}
	for h, x := range d.D {
		l.skip[h] = float32(x)
	}
	for n, logLambda := range d.LogLambda {
		l.wRe[n], l.wIm[n] = float32(real(d.W[n])), float32(imag(d.W[n]))
		exact := cmplx.Exp(logLambda)
		re, im := round(exact)
		l.lambdaRe[n], l.lambdaIm[n] = re, im
		l.turnRe[n], l.turnIm[n] = turn(exact, complex(float64(re), float64(im)))
	}
	switch cfg.Mixing {
	case model.MixingGLU:
		l.mixing = newLinear(w.MixWeight, w.MixBias, 2*cfg.DModel)
	case model.MixingLinear:
		l.mixing = newLinear(w.MixWeight, w.MixBias, cfg.DModel)
	}
	return l
}

// ssm runs the H systems over a tile: y [H][t] from x [H][t], advancing the layer's state [re, im][H][M].
func (l *layer) ssm(y, x vek.Matrix, state []float32) {
	re, im := state[:len(state)/2], state[len(state)/2:]
	modes := len(l.lambdaRe) / len(l.skip)
	for h := range l.skip {
		at, end := h*modes, (h+1)*modes
		vek.SSMBlock(y.Row(h), x.Row(h), re[at:end], im[at:end], l.lambdaRe[at:end], l.lambdaIm[at:end],
			l.wRe[at:end], l.wIm[at:end], l.skip[h])
	}
}

// linear is y = A x + b with A [rows][columns].
type linear struct {
	weight vek.Matrix
	bias   []float32
}

func newLinear(weight, bias []float32, rows int) linear {
	columns := len(weight) / rows
	return linear{vek.Matrix{Data: slices.Clone(weight), Rows: rows, Cols: columns, Stride: columns}, slices.Clone(bias)}
}

// apply writes y [rows][t] from x [columns][t].
func (l *linear) apply(y, x vek.Matrix, scratch []float32) {
	vek.GemmBias(y, l.weight, x, l.bias, scratch)
}

// norm is a LayerNorm over the channels of each position, or a BatchNorm by its running statistics, folded
// to a scale and a shift per channel; with no weights it is the identity.
type norm struct {
	perChannel    bool
	weight, shift []float32 // [H]
}

func newNorm(kind string, weight, bias, mean, variance []float32) norm {
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
