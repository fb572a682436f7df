package main

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// modelFile is an argument that names a model: a file, or a model that comes with the program.
type modelFile string

// load returns the model. A file whose name is a built-in model's is meant by ./NAME.
func (f modelFile) load() (*model.Model, error) {
	if pretrained.Has(string(f)) {
		return pretrained.Load(string(f))
	}
	return model.Load(string(f))
}
