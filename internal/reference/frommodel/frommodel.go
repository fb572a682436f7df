// Package frommodel builds a reference network from a model, and maps its arrays to the names of
// the model's tensors. Only tests import it.
package frommodel

import (
	"fmt"
	"maps"

	"github.com/s4d-fast/s4d-fast/internal/reference"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Network converts a model's weights to float64. stepScale is the number of training samples per
// sample.
func Network(m *model.Model, stepScale float64) *reference.Network {
	c, w := m.Config, m.Weights
	s := c.SSM
	s.DModel = c.DModel
	n := &reference.Network{
		Config: reference.Config{
			Embedding: c.Encoder == model.EncoderEmbedding, DInput: c.DInput, DOutput: c.DOutput,
			H: c.DModel, NLayers: c.NLayers, M: s.Modes(), Copies: s.Copies(), Bidirectional: s.Bidirectional,
			Discrete: s.Discrete(), Width: s.MovesByWidth(), Bilinear: s.Disc == ssm.Bilinear, Bandlimit: s.Bandlimit, Decimate: s.RateRule == ssm.RateDecimate, LMax: s.LMax, Pairs: c.Pairs, SSMLayers: c.SSMLayers, StepScale: stepScale,
			NormKind: string(c.Norm), NormEps: c.Eps(), NormMomentum: c.Momentum(), NormBiased: c.NormBiased, PreNorm: c.PreNorm, FinalNorm: c.FinalNorm,
			Residual: c.Residual, Activation: string(c.Activation), Mixing: string(c.Mixing), Pool: string(c.Pool),
		},
		EncW: widen(w.EncoderWeight), EncB: widen(w.EncoderBias),
		Norm: reference.Norm{Weight: widen(w.NormWeight), Bias: widen(w.NormBias), Mean: widen(w.RunningMean), Var: widen(w.RunningVar)},
		CmpW: widen(w.CompareWeight), CmpB: widen(w.CompareBias), DecW: widen(w.DecoderWeight), DecB: widen(w.DecoderBias),
	}
	for i := range w.Layers {
		l := &w.Layers[i]
		layer := reference.Layer{}
		if c.HasSSM(i) {
			layer = layerOf(m, i, stepScale)
		}
		layer.MixW, layer.MixB = widen(l.MixWeight), widen(l.MixBias)
		layer.Norm = reference.Norm{Weight: widen(l.NormWeight), Bias: widen(l.NormBias), Mean: widen(l.RunningMean), Var: widen(l.RunningVar)}
		n.Layers = append(n.Layers, layer)
	}
	return n
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func pairs(x []float32) []complex128 {
	if x == nil {
		return nil
	}
	y := make([]complex128, len(x)/2)
	for i := range y {
		y[i] = complex(float64(x[2*i]), float64(x[2*i+1]))
	}
	return y
}

// Arrays returns the arrays of n (parameters or gradients) by the names of the model's tensors,
// complex ones as (re, im) pairs. Real arrays are shared with n; complex ones are copied.
func Arrays(m *model.Model, n *reference.Network) map[string][]float64 {
	a := map[string][]float64{
		"encoder.weight": n.EncW, "encoder.bias": n.EncB, "decoder.weight": n.DecW, "decoder.bias": n.DecB,
		"compare.weight": n.CmpW, "compare.bias": n.CmpB,
		"norm.weight": n.Norm.Weight, "norm.bias": n.Norm.Bias, "norm.running_mean": n.Norm.Mean, "norm.running_var": n.Norm.Var,
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		arrays := arraysOf(m.Config, l)
		maps.Copy(arrays, map[string][]float64{
			"mix.weight": l.MixW, "mix.bias": l.MixB, "norm.weight": l.Norm.Weight, "norm.bias": l.Norm.Bias,
			"norm.running_mean": l.Norm.Mean, "norm.running_var": l.Norm.Var,
		})
		for name, x := range arrays {
			a[fmt.Sprintf("layers.%d.%s", i, name)] = x
		}
	}
	return a
}

func flat(x []complex128) []float64 {
	y := make([]float64, 0, 2*len(x))
	for _, v := range x {
		y = append(y, real(v), imag(v))
	}
	return y
}
