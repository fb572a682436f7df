// Package pretrained holds the built-in models. README.md in its folder describes how each was
// trained and how accurate it is.
package pretrained

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
)

//go:embed *.safetensors
var files embed.FS

const suffix = ".safetensors"

// Names returns the models' names in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("pretrained: " + err.Error()) // the files are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	return names
}

// Has reports whether there is a model of this name.
func Has(name string) bool { return slices.Contains(Names(), name) }

// Load returns a model by its name: "digits" detects the ten spoken English digits at 8 kHz,
// "commands" ten English words and "wake" six wake words at 16 kHz. All label every frame of a
// filter bank and have an operating point for package events.
func Load(name string) (*model.Model, error) {
	if !Has(name) {
		return nil, fmt.Errorf("pretrained: no model %q, expected one of: %s%s", name, strings.Join(Names(), ", "), suggest.Hint(name, Names()))
	}
	b, err := files.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return model.Read(bytes.NewReader(b))
}

// Open returns the built-in model of this name or, if there is none, the model of a file.
func Open(path string) (*model.Model, error) {
	if Has(path) {
		return Load(path)
	}
	m, err := model.Load(path)
	return m, Explain(path, err)
}

// Explain adds the names of the built-in models to err, the error of opening the file path, if the
// file does not exist and the path has no extension.
func Explain(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || filepath.Ext(path) != "" {
		return err
	}
	return fmt.Errorf("%w; it is not a built-in model (%s) either%s", err, strings.Join(Names(), ", "), suggest.Hint(path, Names()))
}
