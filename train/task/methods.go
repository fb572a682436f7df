package task

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/train"
)

// A method is another published layer with the settings of its networks, as arguments of --set,
// separated by spaces.
type method struct {
	All   string            `toml:"all"` // of all tasks
	Tasks map[string]string `toml:"tasks"`
}

//go:embed methods.toml
var methodsText string

// methods are the networks that the paper compares with S4D-DFouT.
var methods = func() (all map[string]method) {
	if err := toml.Unmarshal([]byte(methodsText), &all); err != nil {
		panic(err) // it is part of the program
	}
	return all
}()

// Methods returns the names of the methods, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Tasks returns the names of the tasks for which a method has settings, sorted.
func Tasks(method string) []string { return slices.Sorted(maps.Keys(methods[method].Tasks)) }

// MethodPreset returns the configuration with the published settings of another method for the
// task. Values that these do not give are the default ones, not those of Preset. An unknown method
// is a train.ErrConfig, and so is a method without settings for the task.
func (t *Task) MethodPreset(name string) (train.Config, error) {
	c := t.bare()
	m, ok := methods[name]
	if !ok {
		return c, train.ConfigError(fmt.Errorf("preset %q: expected one of %s%s", name, strings.Join(Methods(), ", "), suggest.Hint(name, Methods())))
	}
	own, ok := m.Tasks[t.name]
	if !ok {
		return c, train.ConfigError(fmt.Errorf("preset %q: no settings for task %q, only for %s", name, t.name, strings.Join(Tasks(name), ", ")))
	}
	for _, set := range slices.Concat(strings.Fields(m.All), strings.Fields(own)) {
		if err := c.Set(set); err != nil {
			panic(err) // a test sets every preset
		}
	}
	return c, nil
}
