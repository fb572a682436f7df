package model

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// alignment of every tensor in the backing array, in floats (64 bytes).
const alignment = 16

// tensorSpec describes a tensor before it has memory, and the field of Weights that will view it.
type tensorSpec struct {
	Tensor
	field *[]float32
}

// The linear layer that compares two sequences.
const (
	compareWeight = "compare.weight"
	compareBias   = "compare.bias"
)

// adder appends a tensor to a list of specs, by its name inside its block.
type adder func(field *[]float32, name string, kind Kind, shape ...int)

// specs lists the tensors of a network in their fixed order, each with its field in w.
func (c Config) specs(w *Weights) []tensorSpec {
	var list []tensorSpec
	part, prefix := PartEncoder, ""
	add := func(field *[]float32, name string, kind Kind, shape ...int) {
		list = append(list, tensorSpec{Tensor{Name: prefix + name, Shape: shape, Kind: kind, Part: part}, field})
	}
	if c.Encoder == EncoderEmbedding {
		add(&w.EncoderWeight, "encoder.weight", KindEmbedding, c.DInput, c.DModel)
	} else {
		add(&w.EncoderWeight, "encoder.weight", KindWeight, c.DModel, c.DInput)
		add(&w.EncoderBias, "encoder.bias", KindBias, c.DModel)
	}
	part = PartBackbone
	for i := range w.Layers {
		l := &w.Layers[i]
		prefix = fmt.Sprintf("layers.%d.", i)
		if c.HasSSM(i) {
			c.ssmSpecs(l, add)
		}
		if rows := c.MixingRows(); rows > 0 {
			add(&l.MixWeight, "mix.weight", KindWeight, rows, c.DModel)
			add(&l.MixBias, "mix.bias", KindBias, rows)
		}
		c.normSpecs(&l.NormWeight, &l.NormBias, &l.RunningMean, &l.RunningVar, add)
	}
	prefix = ""
	if c.FinalNorm {
		c.normSpecs(&w.NormWeight, &w.NormBias, &w.RunningMean, &w.RunningVar, add)
	}
	part = PartDecoder
	if c.Pairs {
		add(&w.CompareWeight, compareWeight, KindWeight, c.DModel, 4*c.DModel)
		add(&w.CompareBias, compareBias, KindBias, c.DModel)
	}
	add(&w.DecoderWeight, "decoder.weight", KindWeight, c.DOutput, c.DModel)
	add(&w.DecoderBias, "decoder.bias", KindBias, c.DOutput)
	return list
}

// ssmSpecs adds the tensors of a block's SSM. Those of S5 and the LRU have the names that the
// original code gives them.
func (c Config) ssmSpecs(l *Layer, add adder) {
	h, m, s := c.DModel, c.SSM.Modes(), c.ssmConfig().Copies()
	names := [3]string{"log_dt", "log_A_real", "A_imag"}
	switch {
	case c.SSM.Discrete():
		names = [3]string{"log_xi", "log_rho", "theta"}
	case c.SSM.Layer == ssm.LayerDSS:
		names[1] = "A_real" // −Re A itself
	}
	switch c.SSM.Layer {
	case ssm.LayerLRU:
		add(&l.Decay, "nu_log", KindDecay, m)
		add(&l.Freq, "theta_log", KindFreq, m)
		add(&l.Gamma, "gamma_log", KindDecay, m)
	case ssm.LayerS5:
		add(&l.Decay, "Lambda_re", KindDecay, m)
		add(&l.Freq, "Lambda_im", KindFreq, m)
		add(&l.Step, "log_step", KindStep, m)
	default:
		add(&l.Step, names[0], KindStep, h)
		add(&l.Decay, names[1], KindDecay, s, m)
		add(&l.Freq, names[2], KindFreq, s, m)
	}
	switch {
	case c.SSM.MIMO():
		add(&l.B, "B", KindB, m, h, 2)
	case c.SSM.StoresB():
		add(&l.B, "B", KindB, s, m, 2)
	}
	if c.SSM.Layer == ssm.LayerS4 {
		add(&l.P, "P", KindP, s, m, 2)
	}
	if c.SSM.Bidirectional {
		add(&l.C, "C", KindC, 2, h, m, 2)
	} else {
		add(&l.C, "C", KindC, h, m, 2)
	}
	add(&l.D, "D", KindD, h)
}

func (c Config) normSpecs(weight, bias, mean, variance *[]float32, add adder) {
	if c.Norm == NormNone {
		return
	}
	add(weight, "norm.weight", KindNorm, c.DModel)
	add(bias, "norm.bias", KindNorm, c.DModel)
	if c.Norm == NormBatch {
		add(mean, "norm.running_mean", KindBuffer, c.DModel)
		add(variance, "norm.running_var", KindBuffer, c.DModel)
	}
}

// NewWeights allocates the arrays of a valid configuration, all zero, in one backing array. Every
// tensor is aligned to 64 bytes.
func NewWeights(c Config) *Weights {
	w := &Weights{Layers: make([]Layer, c.NLayers), config: c}
	specs := c.specs(w)
	total := 0
	for _, s := range specs {
		total += roundUp(size(s.Shape))
	}
	w.flat = vek.Aligned(total)
	at := 0
	for _, s := range specs {
		n := size(s.Shape)
		s.Data = w.flat[at : at+n : at+n]
		*s.field = s.Data
		w.tensors = append(w.tensors, s.Tensor)
		at += roundUp(n)
	}
	return w
}

func roundUp(n int) int { return (n + alignment - 1) / alignment * alignment }

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// CountParams returns the number of trainable parameters. Complex ones count as two; running
// statistics do not count (docs/maths.md §3.6).
func (c Config) CountParams() (n int) {
	for _, s := range c.specs(&Weights{Layers: make([]Layer, c.NLayers)}) {
		if s.Kind != KindBuffer {
			n += size(s.Shape)
		}
	}
	return n
}
