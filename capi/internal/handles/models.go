package handles

import (
	"bytes"
	"os"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// Model is a model with the options of its streams. It is immutable.
type Model struct {
	*events.Recognizer
	Labels  []string
	Options events.Options

	model *model.Model
	index map[string]int32 // of each label
}

// Load adds the model of a file.
func (t *Table) Load(path string) (uint64, error) {
	if s, err := os.Stat(path); err == nil && !s.Mode().IsRegular() { // opening a named pipe would block
		return 0, Errorf(Unusable, "model: %s: %v, expected a regular file", path, s.Mode())
	}
	m, err := model.Load(path)
	return t.addModel(m, pretrained.Explain(path, err), nil)
}

// Read adds the model of the bytes of a file.
func (t *Table) Read(file []byte) (uint64, error) {
	m, err := model.Read(bytes.NewReader(file))
	return t.addModel(m, err, nil)
}

// Builtin adds a built-in model.
func (t *Table) Builtin(name string) (uint64, error) {
	m, err := pretrained.Load(name)
	if err != nil {
		return 0, &Error{Argument, err}
	}
	return t.addModel(m, nil, nil)
}

// WithOptions adds a model with the weights of another and other options.
func (t *Table) WithOptions(handle uint64, opt events.Options) (uint64, error) {
	m, err := t.Model(handle)
	if err != nil {
		return 0, err
	}
	return t.addModel(m.model, nil, &opt)
}

func (t *Table) addModel(m *model.Model, err error, opt *events.Options) (uint64, error) {
	code := Argument
	if opt == nil {
		code = Unusable
	}
	if err != nil {
		return 0, &Error{code, err}
	}
	if opt == nil {
		defaults := events.DefaultsFor(m)
		opt = &defaults
	}
	r, err := events.New(m, *opt)
	if err != nil {
		return 0, &Error{code, err}
	}
	o := &Model{Recognizer: r, Labels: m.Meta.Labels, Options: *opt, model: m, index: map[string]int32{}}
	for i, label := range o.Labels {
		o.index[label] = int32(i)
	}
	return t.add(o), nil
}

// Model returns a model.
func (t *Table) Model(handle uint64) (*Model, error) { return find[*Model](t, handle, "model") }

// DestroyModel removes a model. Its streams remain usable.
func (t *Table) DestroyModel(handle uint64) error {
	_, err := t.Model(handle)
	if err == nil {
		t.remove(handle)
	}
	return err
}
