// Package model describes networks of diagonal state space models and stores them.
//
// A Config describes a network. Weights holds its named tensors (float32, row-major). Meta holds
// what a user of the model must know: labels, sample rate, input normalisation. Model files are
// safetensors with the configuration in their metadata (docs/model-file.md). PyTorch checkpoints of
// state-spaces/s4 can be imported and exported (docs/pytorch.md).
package model
