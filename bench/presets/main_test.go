package main

import (
	"strings"
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
	r, err := measure("delay", 8, 2)
	if err != nil || r.Batch != 64 || r.Length != 4000 || r.Seconds <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := measure("delay", 0.01, 2); err != nil || r.Batch >= 64 || r.Preset != 64 {
		t.Errorf("in little memory: %+v, %v", r, err)
	}
}

// Every part of a step has loops, and no loop belongs to two parts.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under emulation")
	}
	r := must.Get(measure("delay", 0.01, 1))(t)
	seen := map[string]string{}
	for _, p := range parts {
		if p.seconds(r.Loops) <= 0 {
			t.Errorf("%q: no loop of %s", p.name, p.loops)
		}
		for loop := range strings.FieldsSeq(p.loops) {
			if other := seen[loop]; other != "" {
				t.Errorf("%s is a loop of %q and of %q", loop, other, p.name)
			}
			seen[loop] = p.name
		}
	}
}

// A part's time is that of its loops, and its work grows with the batch.
func TestRoofline(t *testing.T) {
	loops := map[string]float64{
		"x/convmode.(*convolution).convolveChannel-fm": 2, "x/convmode.(*input).groupGradItem-fm": 1, "x/convmode.(*input).sumPartialsChunk-fm": 2,
	}
	cfg := must.Get(task.Lookup("scifar"))(t).Preset()
	c := cfg.Network(tasks[0])
	for i, want := range []float64{2, 0, 3, 0} {
		must.Equal(t, parts[i].seconds(loops), want, "seconds of %q", parts[i].name)
	}
	h, one, two := float64(c.DModel), parts[1].work(c, 1, 1024), parts[1].work(c, 2, 1024)
	must.Equal(t, one.Flops, 4*h*h*1024, "operations of the mixing")
	must.Equal(t, two, work{2 * one.Flops, 2 * one.Bytes}, "work of two sequences")
}
