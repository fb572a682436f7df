package task

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// mustFail fails the test unless Load returns an error that contains every part.
func mustFail(t *testing.T, name, task string, opt Options, parts ...string) {
	t.Helper()
	_, err := load(task, opt)
	if err == nil {
		t.Errorf("%s: no error, expected %q", name, parts)
		return
	}
	for _, p := range append(parts, fmt.Sprintf("task %q", task)) {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: error %q does not say %q", name, err, p)
		}
	}
}

// names returns the file names of the examples of a set, in order.
func names(t *testing.T, s dataset.Set) []string {
	t.Helper()
	var out []string
	var e dataset.Example
	for i := range s.Len() {
		must.Do(t, s.Example(&e, i, 0))
		out = append(out, filepath.Base(e.Path))
	}
	return out
}

func TestTasks(t *testing.T) {
	if got := Names(); !slices.Equal(got, []string{"audio", "bidmc-hr", "bidmc-rr", "bidmc-spo2", "delay", "digits", "fsdd", "image", "listops",
		"pathfinder", "pathx128", "pathx256", "pscifar", "psmnist", "retrieval", "scifar", "series", "smnist", "speech-commands", "text", "ts"}) {
		t.Errorf("tasks %v", got)
	}
	_, err := Lookup("juggling")
	must.Fail(t, err, `"juggling"`, "delay, digits, fsdd, image, listops, pathfinder, pathx128, pathx256, pscifar, psmnist, retrieval, scifar, series, smnist, speech-commands, text, ts")
}
