// Package model describes networks of diagonal state space models and stores them.
//
// A Config says what a network is, Weights holds its named tensors (float32, row-major), Meta what a user of
// the file must know: labels, sample rate, input normalisation. Files are safetensors with the configuration
// in their metadata; PyTorch checkpoints of state-spaces/s4 are imported.
package model
