package main

import (
	"errors"
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// modelFile is an argument that names a model: a file, or a model that comes with the program.
type modelFile string

// load returns the model. A file whose name is a built-in model's is meant by ./NAME. An error says how to come by a model
// file where there is a checkpoint.
func (f modelFile) load() (*model.Model, error) {
	if pretrained.Has(string(f)) {
		return pretrained.Load(string(f))
	}
	m, err := model.Load(string(f))
	if errors.Is(err, model.ErrZip) {
		return nil, fmt.Errorf("%w: 's4d-fast convert FILE MODEL.safetensors' makes one of it", err)
	}
	return m, err
}
