package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
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
	r, err := measure(info("delay"), "", 8, 2, false)
	if err != nil || r.Batch != 64 || r.Length != 4000 || r.Seconds <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := measure(info("delay"), "", 0.01, 2, false); err != nil || r.Batch >= 64 || r.Preset != 64 {
		t.Errorf("in little memory: %+v, %v", r, err)
	}
}

// The settings of the other methods run on the tasks that have them. The sequences are short here.
func TestMethods(t *testing.T) {
	for _, method := range task.Methods() {
		selected := must.Get(selectTasks(method, nil))(t)
		var names []string
		for _, i := range selected {
			names = append(names, i.Name)
			cfg := must.Get(preset(i.Name, method))(t)
			if err := cfg.Network(i).Validate(); err != nil {
				t.Errorf("%s, %s: %v", method, i.Name, err)
			}
		}
		slices.Sort(names)
		must.Equal(t, fmt.Sprint(names), fmt.Sprint(task.Tasks(method)), "tasks of %s", method)
		if testing.Short() {
			continue // training takes seconds under emulation
		}
		short := info("listops")
		short.MaxLen = 32
		r := must.Get(measure(short, method, 0.01, 2, false))(t)
		layer, _, _ := strings.Cut(method, "-")
		if string(r.Config.SSM.Layer) != layer || r.Seconds <= 0 {
			t.Errorf("%s: %+v", method, r)
		}
	}
	must.Equal(t, len(must.Get(selectTasks("", nil))(t)), len(tasks), "tasks without a method")
	must.Equal(t, must.Get(selectTasks("s5", []string{"image"}))(t)[0].Name, "image", "named task")
	for want, c := range map[string][2]string{
		`task "mnist": no such preset`:              {"", "mnist"},
		`preset "s5": no settings for task "delay"`: {"s5", "delay"},
		`preset "s6": expected one of dss`:          {"s6", "image"},
	} {
		if _, err := selectTasks(c[0], []string{c[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, expected %s", c, err, want)
		}
	}
	if _, err := selectTasks("s6", nil); err == nil {
		t.Error("an unknown method: no error")
	}
}

// Every part of a step has loops, and no loop belongs to two parts.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under emulation")
	}
	r := must.Get(measure(info("delay"), "", 0.01, 1, true))(t)
	par.Trace = nil
	seen := map[string]string{}
	for _, p := range parts {
		if p.seconds(&r.Trace) <= 0 {
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

// The items of a loop go to the threads in order. The time outside the loops does not change.
func TestSpeedUp(t *testing.T) {
	tr := trace{Loops: [][]time.Duration{{4, 1, 1, 2}, {3}}}
	for threads, want := range map[int]time.Duration{1: 11, 2: 7, 3: 7} {
		must.Equal(t, tr.time(threads), want, "time with %d threads", threads)
	}
	must.Equal(t, tr.speedUp(14, 2), 1.4, "speed-up")
}

// A part's time is that of its loops, and its work grows with the batch.
func TestRoofline(t *testing.T) {
	tr := trace{
		Names: []string{"x/convmode.(*block).convChannel-fm", "x/convmode.(*input).groupGradItem-fm", "x/convmode.(*input).sumRootsChunk-fm"},
		Loops: [][]time.Duration{{1e9, 1e9}, {1e9}, {2e9}},
	}
	cfg := must.Get(task.Lookup("scifar"))(t).Preset()
	c := cfg.Network(info("scifar"))
	for i, want := range []float64{2, 0, 3, 0} {
		must.Equal(t, parts[i].seconds(&tr), want, "seconds of %q", parts[i].name)
	}
	h, one, two := float64(c.DModel), parts[1].work(c, 1, 1024), parts[1].work(c, 2, 1024)
	must.Equal(t, one.Flops, 4*h*h*1024, "operations of the mixing")
	must.Equal(t, two, work{2 * one.Flops, 2 * one.Bytes}, "work of two sequences")
}
