package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// A model file is a safetensors file whose metadata holds the format's version, the configuration and Meta.
const (
	formatKey, formatVersion = "s4d-fast", "1"
	configKey, metaKey       = "config", "meta"
)

// Load reads a model file; errors name the path and what is wrong in it.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	m, err := Read(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Read reads a model file from r.
func Read(r io.Reader) (*Model, error) {
	file, err := safetensors.Read(r)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	switch v := file.Metadata[formatKey]; v {
	case formatVersion:
	case "":
		return nil, fmt.Errorf("model: no s4d-fast model: the file's metadata has no %q", formatKey)
	default:
		return nil, fmt.Errorf("model: format version %q: this program reads %q", v, formatVersion)
	}
	m := &Model{}
	if err := strictJSON(file.Metadata[configKey], &m.Config); err != nil {
		return nil, fmt.Errorf("model: configuration: %w", err)
	}
	if err := strictJSON(file.Metadata[metaKey], &m.Meta); err != nil {
		return nil, fmt.Errorf("model: meta: %w", err)
	}
	if err := m.Config.Validate(); err != nil {
		return nil, err
	}
	if err := m.Meta.validate(m.Config); err != nil {
		return nil, err
	}
	m.Weights, err = m.Config.weightsFrom(file.Arrays)
	return m, err
}

func strictJSON(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// weightsFrom allocates and fills the weights, after every array's name and shape has been found right: a
// configuration that promises more than the file holds costs nothing.
func (c Config) weightsFrom(arrays []safetensors.Array) (*Weights, error) {
	if c.NLayers > len(arrays) {
		return nil, fmt.Errorf("model: n_layers %d in a file of %d tensors", c.NLayers, len(arrays))
	}
	byName := map[string]*safetensors.Array{}
	for i := range arrays {
		byName[arrays[i].Name] = &arrays[i]
	}
	specs := c.specs(&Weights{Layers: make([]Layer, c.NLayers)})
	for _, s := range specs {
		a := byName[s.Name]
		switch {
		case a == nil:
			return nil, fmt.Errorf("model: tensor %q is missing", s.Name)
		case a.F32 == nil && size(s.Shape) > 0:
			return nil, fmt.Errorf("model: tensor %q is not F32", s.Name)
		case !slices.Equal(a.Shape, s.Shape):
			return nil, fmt.Errorf("model: tensor %q: shape %v, want %v", s.Name, a.Shape, s.Shape)
		}
	}
	if len(arrays) > len(specs) {
		return nil, fmt.Errorf("model: tensor %q does not belong to the network", unexpected(arrays, specs))
	}
	w := NewWeights(c)
	for _, t := range w.tensors {
		copy(t.Data, byName[t.Name].F32)
		if err := t.checkValues(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func unexpected(arrays []safetensors.Array, specs []tensorSpec) string {
	for _, a := range arrays {
		if !slices.ContainsFunc(specs, func(s tensorSpec) bool { return s.Name == a.Name }) {
			return a.Name
		}
	}
	return arrays[0].Name
}

// checkValues refuses values that no training leaves behind. A log decay of −Inf is a pole on the unit circle.
func (t Tensor) checkValues() error {
	for i, x := range t.Data {
		v := float64(x)
		if math.IsNaN(v) || math.IsInf(v, 1) || math.IsInf(v, -1) && t.Kind != KindDecay {
			return fmt.Errorf("model: tensor %q: element %d is %v", t.Name, i, v)
		}
		if t.Kind == KindBuffer && t.isNormScale() && v < 0 {
			return fmt.Errorf("model: tensor %q: element %d is %v: a variance is not negative", t.Name, i, v)
		}
	}
	return nil
}

func (m *Meta) validate(c Config) error {
	switch {
	case len(m.Labels) > 0 && len(m.Labels) != c.DOutput:
		return fmt.Errorf("model: meta: %d labels for %d outputs", len(m.Labels), c.DOutput)
	case len(m.InputMean) != len(m.InputStd) || len(m.InputMean) > 0 && len(m.InputMean) != c.DInput:
		return fmt.Errorf("model: meta: %d means and %d standard deviations for %d input channels", len(m.InputMean), len(m.InputStd), c.DInput)
	case !(m.SampleRate >= 0) || math.IsInf(m.SampleRate, 1):
		return fmt.Errorf("model: meta: sample rate %v", m.SampleRate)
	}
	for i, s := range m.InputStd {
		mean := float64(m.InputMean[i])
		if !(s > 0) || math.IsInf(float64(s), 1) || math.IsNaN(mean) || math.IsInf(mean, 0) {
			return fmt.Errorf("model: meta: input channel %d has mean %v and standard deviation %v", i, mean, s)
		}
	}
	return nil
}

// WriteTo writes the model file.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return 0, fmt.Errorf("model: configuration: %w", err)
	}
	meta, err := json.Marshal(m.Meta)
	if err != nil {
		return 0, fmt.Errorf("model: meta: %w", err)
	}
	file := safetensors.File{Metadata: map[string]string{
		formatKey: formatVersion, configKey: string(config), metaKey: string(meta),
	}}
	for _, t := range m.Weights.tensors {
		file.Arrays = append(file.Arrays, safetensors.Array{Name: t.Name, Shape: t.Shape, F32: t.Data})
	}
	return file.WriteTo(w)
}

// Save writes the model file by way of a temporary name in the same folder: a crash leaves the old file or
// the new one.
func (m *Model) Save(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("model: %s: %w", path, err)
		}
	}()
	if _, err = m.WriteTo(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Hash identifies what the network computes: configuration, input normalisation and weights.
func (m *Model) Hash() [32]byte {
	h := sha256.New()
	json.NewEncoder(h).Encode([]any{m.Config, m.Meta.InputMean, m.Meta.InputStd}) // plain values: cannot fail
	for _, t := range m.Weights.tensors {
		fmt.Fprintln(h, t.Name, t.Shape)
		binary.Write(h, binary.LittleEndian, t.Data)
	}
	return [32]byte(h.Sum(nil))
}
