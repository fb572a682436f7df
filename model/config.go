package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// Encoder names the map from an input to the H channels of the first block.
type Encoder string

// The encoders.
const (
	EncoderLinear    Encoder = "linear"    // d_input channels → H, with bias
	EncoderEmbedding Encoder = "embedding" // token id in [0, d_input) → H
)

// Norm names the normalisation of a block (docs/maths.md §3.3).
type Norm string

// The norms.
const (
	NormLayer Norm = "layer" // LayerNorm over H
	NormBatch Norm = "batch" // BatchNorm over (batch, length)
	NormNone  Norm = "none"
)

// Activation names the function between a block's SSM and its mixing layer.
type Activation string

// The activations.
const (
	ActivationGELU     Activation = "gelu"      // exact, x·Φ(x)
	ActivationGELUTanh Activation = "gelu-tanh" // x/2·(1 + tanh(√(2/π)·(x + 0.044715x³)))
	ActivationNone     Activation = "none"
)

// Mixing names the position-wise layer that ends a block.
type Mixing string

// The mixing layers.
const (
	MixingGLU    Mixing = "glu"    // Linear H→2H, first half × sigmoid(second half)
	MixingLinear Mixing = "linear" // Linear H→H
	MixingNone   Mixing = "none"

	// The gates of S5 (docs/maths.md §20): a factor × sigmoid(Linear H→H of g), where g is the
	// output of the activation. The factor is g or the output of the SSM.
	MixingHalfGLU1 Mixing = "half-glu1" // g
	MixingHalfGLU2 Mixing = "half-glu2" // the output of the SSM
)

// Pool names the reduction over time before the decoder.
type Pool string

// The reductions.
const (
	PoolMean    Pool = "mean"     // mean over the true length
	PoolMeanMax Pool = "mean-max" // mean plus maximum over the true length
	PoolLast    Pool = "last"     // the last true position
	PoolNone    Pool = "none"     // none: one output per position
)

// Config describes a network (docs/maths.md §3):
//
//	encoder → NLayers × (SSM → activation → mixing, residual, norm) → pool → decoder
type Config struct {
	Encoder   Encoder `toml:"-" json:"encoder"`
	DInput    int     `toml:"-" json:"d_input"`       // input channels, or vocabulary size
	DOutput   int     `toml:"-" json:"d_output"`      // classes, or regression targets
	DModel    int     `toml:"d_model" json:"d_model"` // H
	NLayers   int     `toml:"n_layers" json:"n_layers"`
	Norm      Norm    `toml:"norm" json:"norm"`
	PreNorm   bool    `toml:"prenorm" json:"prenorm"`
	FinalNorm bool    `toml:"final_norm" json:"final_norm"` // a norm after the last block

	// Settings of the norms (docs/maths.md §20). See Eps and Momentum for the zero values.
	NormEps      float64 `toml:"-" json:"norm_eps,omitempty"`
	NormMomentum float64 `toml:"norm_momentum" json:"norm_momentum,omitempty"`
	NormBiased   bool    `toml:"-" json:"norm_biased,omitempty"` // the running variance of a BatchNorm

	Residual   bool       `toml:"residual" json:"residual"`
	Activation Activation `toml:"activation" json:"activation"`
	Mixing     Mixing     `toml:"mixing" json:"mixing"`

	// Dropout of channels, after the activation and on the block's output (docs/maths.md §3.2).
	Dropout float64 `toml:"dropout" json:"dropout"`
	Pool    Pool    `toml:"pool" json:"pool"`

	// An example is two sequences, pooled to a and b. The decoder reads
	// GELU(W·[a, b, a−b, a·b] + bias), [H] (docs/maths.md §3.4).
	Pairs bool `toml:"-" json:"pairs,omitempty"`

	// Only the first so many blocks have an SSM; the others pass the sequence on (docs/maths.md §8,
	// ablation). 0: all.
	SSMLayers int        `toml:"-" json:"ssm_layers,omitempty"`
	SSM       ssm.Config `toml:"-" json:"ssm"`
}

// Default returns a network of S4D that DFouT initialises (docs/maths.md §2.3). DInput,
// DOutput, DModel and NLayers depend on the task. train.Default has the defaults of training.
func Default() Config {
	return Config{
		Encoder: EncoderLinear, DInput: 1, DOutput: 1, DModel: 128, NLayers: 4,
		Norm: NormLayer, Residual: true, Activation: ActivationGELU, Mixing: MixingGLU, Pool: PoolMean,
		SSM: ssm.Config{
			DState: 64, Init: ssm.DFouT, Disc: ssm.ZOH, AReal: 0.5,
			DtMin: 0.001, DtMax: 0.1, XiMin: 0.001, XiMax: 0.1,
		},
	}
}

// CheckTokens returns an error for the first token that is not in [0, vocabulary). A network with
// an embedding has a vocabulary of DInput tokens. The error has no prefix: callers say where the
// tokens come from.
func CheckTokens(ids []int32, vocabulary int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= vocabulary {
			return fmt.Errorf("token %d is %d, expected 0 to %d", i, id, vocabulary-1)
		}
	}
	return nil
}

// Towers returns the number of sequences in an example.
func (c Config) Towers() int {
	if c.Pairs {
		return 2
	}
	return 1
}

// Eps returns what every norm adds to the variance: NormEps, or 1e-5 if that is 0.
func (c Config) Eps() float64 { return cmp.Or(c.NormEps, 1e-5) }

// Momentum returns the share of a batch in the running statistics of a BatchNorm: NormMomentum, or
// 0.1 if that is 0.
func (c Config) Momentum() float64 { return cmp.Or(c.NormMomentum, 0.1) }

// MixingRows returns the outputs of a block's linear layer: 2H, H, or 0 without one.
func (c Config) MixingRows() int {
	switch c.Mixing {
	case MixingNone:
		return 0
	case MixingGLU:
		return 2 * c.DModel
	}
	return c.DModel
}

// Gated reports whether the mixing layer ends with a product by a sigmoid.
func (c Config) Gated() bool { return c.Mixing != MixingLinear && c.Mixing != MixingNone }

// HasSSM reports whether block i has an SSM.
func (c Config) HasSSM(i int) bool { return c.SSMLayers == 0 || i < c.SSMLayers }

// CountSSM returns the number of blocks that have an SSM.
func (c Config) CountSSM() int { return cmp.Or(c.SSMLayers, c.NLayers) }

// Bounds of a configuration. maxSize and maxLayers keep CountParams below 2⁶³. The LRU has the most
// parameters: with 2¹² layers of the largest sizes the count would overflow.
const (
	maxSize   = 1 << 24
	maxLayers = 1 << 11
	maxParams = 1 << 31

	minEps = 1e-37 // in float32 a smaller one can be 0, and equal channels would be divided by 0
)

// Validate returns an error for the first invalid value, which it names as configuration files do.
func (c Config) Validate() error { return inModel(c.validate()) }

// validate is Validate without the prefix "model: ".
func (c Config) validate() error {
	for _, check := range []func() error{c.validateSizes, c.validateChoices, c.ssmConfig().Validate} {
		if err := check(); err != nil {
			return fmt.Errorf("%.400w", err) // it may contain a long value
		}
	}
	if n := c.CountParams(); n > maxParams {
		return fmt.Errorf("%d parameters: expected ≤ %d", n, maxParams)
	}
	return nil
}

func (c Config) validateSizes() error {
	states := 2
	if c.SSM.Layer == ssm.LayerLRU {
		states = 1
	}
	for _, n := range []struct {
		name              string
		value, least, top int
	}{
		{"d_input", c.DInput, 1, maxSize}, {"d_output", c.DOutput, 1, maxSize}, {"d_model", c.DModel, 1, maxSize},
		{"n_layers", c.NLayers, 1, maxLayers}, {"d_state", c.SSM.DState, states, maxSize},
		{"ssm_layers", c.SSMLayers, 0, c.NLayers},
	} {
		if n.value < n.least {
			return fmt.Errorf("%s %d: expected ≥ %d", n.name, n.value, n.least)
		}
		if n.value > n.top {
			return fmt.Errorf("%s %d: expected ≤ %d", n.name, n.value, n.top)
		}
	}
	return nil
}

func (c Config) validateChoices() error {
	for _, err := range []error{
		choice("encoder", c.Encoder, EncoderLinear, EncoderEmbedding),
		choice("norm", c.Norm, NormLayer, NormBatch, NormNone),
		choice("activation", c.Activation, ActivationGELU, ActivationGELUTanh, ActivationNone),
		choice("mixing", c.Mixing, MixingGLU, MixingHalfGLU1, MixingHalfGLU2, MixingLinear, MixingNone),
		choice("pool", c.Pool, PoolMean, PoolMeanMax, PoolLast, PoolNone),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return fmt.Errorf("dropout %v: expected 0 ≤ dropout < 1", c.Dropout)
	case c.Pairs && c.Pool == PoolNone:
		return fmt.Errorf("pool %q: pairs of sequences need a pool", c.Pool)
	case c.Norm == NormNone && c.PreNorm:
		return fmt.Errorf("prenorm: norm is %q", c.Norm)
	case c.Norm == NormNone && c.FinalNorm:
		return fmt.Errorf("final_norm: norm is %q", c.Norm)
	case c.NormEps != 0 && !(c.NormEps >= minEps && c.NormEps <= 1):
		return fmt.Errorf("norm_eps %v: expected 0 (1e-5) or %v to 1", c.NormEps, minEps)
	case c.Norm == NormNone && c.NormEps != 0:
		return fmt.Errorf("norm_eps: norm is %q", c.Norm)
	case !(c.NormMomentum >= 0 && c.NormMomentum <= 1):
		return fmt.Errorf("norm_momentum %v: expected 0 (0.1) to 1", c.NormMomentum)
	case c.Norm != NormBatch && c.NormMomentum != 0:
		return fmt.Errorf("norm_momentum: norm is %q, expected %q", c.Norm, NormBatch)
	case c.Norm != NormBatch && c.NormBiased:
		return fmt.Errorf("norm_biased: norm is %q, expected %q", c.Norm, NormBatch)
	}
	return nil
}

// choice reports a value that is not one of the choices.
func choice[T ~string](name string, value T, choices ...T) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s %q: expected one of %q", name, value, choices)
}
