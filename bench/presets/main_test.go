package main

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// Every task has a row, except those that read any data.
func TestTasks(t *testing.T) {
	rows := map[string]bool{"ts": true, "audio": true, "series": true}
	for _, i := range tasks {
		rows[i.Name] = true
		cfg := must.Get(task.Lookup(i.Name))(t).Preset()
		if err := cfg.Network(i).Validate(); err != nil {
			t.Errorf("%s: %v", i.Name, err)
		}
	}
	for _, name := range task.Names() {
		if !rows[name] {
			t.Errorf("%s has no row", name)
		}
	}
}

// The smallest preset runs at its full size.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under emulation")
	}
	r, err := measure(info("delay"), 8, 2)
	if err != nil || r.Batch != 64 || r.Length != 4000 || r.Seconds <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := measure(info("delay"), 0.01, 2); err != nil || r.Batch >= 64 || r.Preset != 64 {
		t.Errorf("in little memory: %+v, %v", r, err)
	}
}
