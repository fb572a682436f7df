package task

import (
	"fmt"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

// LoadRun returns the task and the configuration of the run in a folder.
func LoadRun(dir string) (*Task, train.Config, error) {
	cfg, err := train.LoadRun(dir)
	if err != nil {
		return nil, cfg, err
	}
	t, err := Lookup(cfg.Task)
	if err != nil {
		return nil, cfg, fmt.Errorf("%s: %w", dir, err)
	}
	return t, cfg, nil
}

// ForModel returns the preset. If the model is one of the task and its file contains the settings
// of its data, the configuration has these settings. Errors are train.ErrData.
func (t *Task) ForModel(m *model.Model) (train.Config, error) {
	if t.name != m.Meta.Task || m.Meta.Data == nil {
		return t.Preset(), nil
	}
	c := t.Preset()
	c.Data = t.bare().Data
	for _, key := range m.Meta.Data.Keys() {
		value := m.Meta.Data[key]
		option, ok := strings.CutPrefix(key, "data.")
		seed, whole := value.(int64)
		switch {
		case ok:
			c.Data[option] = value
		case key == "seed" && whole && seed >= 0:
			c.Seed = uint64(seed)
		default:
			return c, train.DataError(fmt.Errorf("task %q: the model file's data settings: %s = %v, expected seed or options of [data]", t.name, key, value))
		}
	}
	if _, err := t.decode(From(c).Options); err != nil {
		return c, train.DataError(fmt.Errorf("the model file's data settings: %w", err))
	}
	return c, nil
}
