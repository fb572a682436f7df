package model

import "github.com/s4d-fast/s4d-fast/ssm"

// Choices of a network. The strings are the values in configuration files.
const (
	EncoderLinear    = "linear"    // d_input channels → H, with bias
	EncoderEmbedding = "embedding" // token id in [0, d_input) → H

	NormLayer = "layer" // LayerNorm over H, eps 1e-5
	NormBatch = "batch" // BatchNorm over (batch, length), eps 1e-5, momentum 0.1
	NormNone  = "none"

	ActivationGELU = "gelu" // exact, x·Φ(x)
	ActivationNone = "none"

	MixingGLU    = "glu"    // Linear H→2H, first half × sigmoid(second half)
	MixingLinear = "linear" // Linear H→H
	MixingNone   = "none"

	PoolMean = "mean" // over the true length
	PoolLast = "last" // the last true position
	PoolNone = "none" // the decoder answers at every position
)

// Config describes a network: encoder → NLayers × (SSM → activation → mixing, residual, norm) → pool → decoder
// (spec §3).
type Config struct {
	Encoder    string     `toml:"encoder" json:"encoder"`
	DInput     int        `toml:"d_input" json:"d_input"`   // input channels, or vocabulary size
	DOutput    int        `toml:"d_output" json:"d_output"` // classes, or regression targets
	DModel     int        `toml:"d_model" json:"d_model"`   // H
	NLayers    int        `toml:"n_layers" json:"n_layers"`
	Norm       string     `toml:"norm" json:"norm"`
	PreNorm    bool       `toml:"prenorm" json:"prenorm"`
	FinalNorm  bool       `toml:"final_norm" json:"final_norm"` // one more norm after the last block (pre-norm networks)
	Residual   bool       `toml:"residual" json:"residual"`
	Activation string     `toml:"activation" json:"activation"`
	Mixing     string     `toml:"mixing" json:"mixing"`
	Dropout    float64    `toml:"dropout" json:"dropout"` // tied over time; after the activation and on the block's output (spec §3.2)
	Pool       string     `toml:"pool" json:"pool"`
	SSM        ssm.Config `toml:"-" json:"ssm"`
}
