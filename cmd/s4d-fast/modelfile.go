package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// modelFile is an argument that names a model: a file or a built-in model. A file with the name of
// a built-in model is written ./NAME.
type modelFile string

// load returns the model, or the cause of ctx if that ends first. An error suggests the argument
// that was probably meant.
func (f modelFile) load(ctx context.Context) (*model.Model, error) { return orInterrupt(ctx, f.read) }

func (f modelFile) read() (*model.Model, error) {
	path := string(f)
	if pretrained.Has(path) {
		return pretrained.Load(path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		best := filepath.Join(path, "best.safetensors")
		if _, err := os.Stat(best); err == nil {
			return nil, fmt.Errorf("%s is a run folder; its model is %s", path, best)
		}
		return nil, fmt.Errorf("%s is a folder, expected a model file (.safetensors)", path)
	}
	m, err := model.Load(path)
	switch {
	case errors.Is(err, model.ErrZip):
		return nil, fmt.Errorf("%w; convert it with: s4d-fast convert %s MODEL.safetensors", err, path)
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(path) == "":
		return nil, pretrained.Explain(path, err)
	case err != nil && filepath.Ext(path) != ".safetensors":
		return nil, fmt.Errorf("%s is not a model file (.safetensors): %w", path, err)
	}
	return m, err
}

// isFile reports whether the model is the file at a path.
func (f modelFile) isFile(path string) bool {
	return !pretrained.Has(string(f)) && sameFile(string(f), path)
}

// sameFile reports whether two paths lead to one file, which exists.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
