package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// A model file is a safetensors file. Its metadata holds the format's version, the configuration
// and Meta (docs/model-file.md).
const (
	formatKey, formatVersion = "s4d-fast", "1"
	configKey, metaKey       = "config", "meta"
)

// ErrZip is the error of Load and Read for a zip file. PyTorch checkpoints are zip files.
var ErrZip = errors.New("a zip file, as PyTorch checkpoints are, not a model file")

// Load reads a model file. Errors name the path and what is wrong in the file.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, inModel(err)
	}
	defer f.Close()
	m, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	return m, nil
}

// Read reads a model file from r.
func Read(r io.Reader) (*Model, error) {
	m, err := read(r)
	return m, inModel(err)
}

// inModel adds the package's name to an error.
func inModel(err error) error {
	if err != nil {
		err = fmt.Errorf("model: %w", err)
	}
	return err
}

func read(r io.Reader) (*Model, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if head, _ := in.Peek(4); string(head) == "PK\x03\x04" {
		return nil, ErrZip
	}
	file, err := safetensors.Read(in)
	if err != nil {
		return nil, err
	}
	switch v, ok := file.Metadata[formatKey]; {
	case !ok:
		return nil, fmt.Errorf("not an s4d-fast file: its metadata has no %q: the weights of a PyTorch network are converted by s4d-fast convert", formatKey)
	case v != formatVersion:
		return nil, fmt.Errorf("format version %.64q: this program reads %q", v, formatVersion)
	}
	m := &Model{}
	if err := strictJSON(file.Metadata[configKey], &m.Config); err != nil {
		return nil, fmt.Errorf("metadata %q: %w", configKey, err)
	}
	if err := strictJSON(file.Metadata[metaKey], &m.Meta); err != nil {
		return nil, fmt.Errorf("metadata %q: %w", metaKey, err)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	if m.Weights, err = m.Config.fromArrays(file.Arrays); err != nil {
		return nil, err
	}
	return m, nil
}

// validate checks the content of a file's metadata.
func (m *Model) validate() error {
	if err := m.Config.validate(); err != nil {
		return err
	}
	return m.Meta.validate(m.Config)
}

// strictJSON decodes one JSON value without unknown keys.
func strictJSON(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(v); {
	case errors.Is(err, io.EOF):
		return errors.New("is missing or empty")
	case err != nil:
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("trailing data after the JSON value")
	}
	return nil
}

// fromArrays returns the weights from the arrays, which must be exactly those of the configuration.
func (c Config) fromArrays(arrays []safetensors.Array) (*Weights, error) {
	if c.NLayers > len(arrays) {
		return nil, fmt.Errorf("n_layers %d in a file of %d tensors", c.NLayers, len(arrays))
	}
	byName := map[string]*safetensors.Array{}
	for i := range arrays {
		byName[arrays[i].Name] = &arrays[i]
	}
	w, err := c.fill(func(t Tensor) (stored, error) {
		a := byName[t.Name]
		delete(byName, t.Name)
		if a == nil {
			return stored{}, fmt.Errorf("tensor %q is missing", t.Name)
		}
		return stored{name: a.Name, shape: a.Shape, want: t.Shape, data: a.F32}, nil
	})
	for _, a := range arrays {
		if err == nil && byName[a.Name] != nil {
			return nil, fmt.Errorf("tensor %q, shape %v, does not belong to the network", a.Name, a.Shape)
		}
	}
	return w, err
}

// stored is a tensor in a file, with the file's name for it.
type stored struct {
	name        string
	shape, want []int
	data        []float32
	value       func(float64) float64 // converts each value; nil keeps it
}

// fill returns weights with the values that find returns for each tensor. It allocates memory after
// it has found every tensor in its expected shape, so a configuration that announces more than the
// file holds costs nothing.
func (c Config) fill(find func(t Tensor) (stored, error)) (*Weights, error) {
	var sources []stored
	for _, s := range c.specs(&Weights{Layers: make([]Layer, c.NLayers)}) {
		src, err := find(s.Tensor)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(src.shape, src.want) {
			return nil, fmt.Errorf("tensor %q: shape %v, expected %v", src.name, src.shape, src.want)
		}
		sources = append(sources, src)
	}
	w := NewWeights(c)
	for i, t := range w.tensors {
		copy(t.Data, sources[i].data)
		if value := sources[i].value; value != nil {
			for k, x := range t.Data {
				t.Data[k] = float32(value(float64(x)))
			}
		}
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", sources[i].name, err)
		}
	}
	return w, nil
}

// Validate reports the first value that cannot be a weight (Tensor.Validate).
func (w *Weights) Validate() error {
	for _, t := range w.tensors {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// maxLogStep bounds ln Δ and ln ξ, so that the steps are normal numbers in float32.
const maxLogStep = 87

// Validate reports the first value that cannot be a weight: NaN, an infinity, a negative variance,
// or the logarithm of a step that float32 does not hold. A log decay of −Inf can: it is a pole on
// the unit circle.
func (t Tensor) Validate() error {
	for i, x := range t.Data {
		v := float64(x)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 1) || math.IsInf(v, -1) && t.Kind != KindDecay:
			return fmt.Errorf("element %d is %v", i, v)
		case t.Kind == KindBuffer && t.isNormScale() && v < 0:
			return fmt.Errorf("element %d is %v: a variance is not negative", i, v)
		case t.Kind == KindStep && math.Abs(v) > maxLogStep:
			return fmt.Errorf("element %d is %v: the logarithm of a step is between −%d and %[3]d", i, v, maxLogStep)
		}
	}
	return nil
}

// WriteTo writes the model file. A configuration or Meta that Read would reject is an error.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	n, err := m.writeTo(w)
	return n, inModel(err)
}

func (m *Model) writeTo(w io.Writer) (int64, error) {
	if err := m.validate(); err != nil {
		return 0, err
	}
	config, err1 := json.Marshal(m.Config)
	meta, err2 := json.Marshal(m.Meta)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	file := safetensors.File{Metadata: map[string]string{
		formatKey: formatVersion, configKey: string(config), metaKey: string(meta),
	}}
	for _, t := range m.Weights.tensors {
		file.Arrays = append(file.Arrays, safetensors.Array{Name: t.Name, Shape: t.Shape, F32: t.Data})
	}
	return file.WriteTo(w)
}

// Save writes the model file. After a crash, path holds the old file or the new one (package
// atomicfile).
func (m *Model) Save(path string) error {
	return inModel(atomicfile.Write(path, 0o666, func(w io.Writer) error {
		_, err := m.writeTo(w)
		return err
	}))
}

// Hash identifies what a model computes and what its outputs mean: configuration, labels, sampling
// rate, normalisation of inputs and targets, description of series, filter bank, and weights. The
// task's name and the operating point for events are not part of it. A file does not distinguish an
// empty list from nil, nor a rate of −0 from 0, so Hash does not either.
func (m *Model) Hash() [32]byte {
	h, d := sha256.New(), &m.Meta
	values := []any{
		m.Config, orNil(d.Labels), max(d.SampleRate, 0),
		orNil(d.InputMean), orNil(d.InputStd), orNil(d.TargetMean), orNil(d.TargetStd),
	}
	if d.Series != nil {
		values = append(values, d.Series)
	}
	if d.Filterbank != nil {
		values = append(values, d.Filterbank)
	}
	json.NewEncoder(h).Encode(values) // plain values: cannot fail
	for _, t := range m.Weights.tensors {
		fmt.Fprintln(h, t.Name, t.Shape)
		binary.Write(h, binary.LittleEndian, t.Data)
	}
	return [32]byte(h.Sum(nil))
}

// orNil returns list, or nil if it is empty.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
