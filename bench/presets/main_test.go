package main

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Every task has a row, except ts, which is many data sets.
func TestTasks(t *testing.T) {
	rows := map[string]bool{"ts": true}
	for _, i := range tasks {
		rows[i.Task] = true
		cfg := must.Get(train.Preset(i.Task))(t)
		if err := cfg.Network(i).Validate(); err != nil {
			t.Errorf("%s: %v", i.Task, err)
		}
	}
	for _, task := range dataset.Tasks() {
		if !rows[task] {
			t.Errorf("%s has no row", task)
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
