package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// bench prints a row an operation, size, level and number of threads, in both forms.
func TestBench(t *testing.T) {
	t.Setenv("S4D_LEVEL", "")
	levels := vek.Levels()
	args := []string{"bench", "--op", "peak,cexp", "--threads", "1,2", "--time", "1ms"}
	lines := strings.Split(strings.TrimSpace(ok(t, append(args, "--json")...)), "\n")
	if want := 2 * 2 * len(levels); len(lines) != want {
		t.Fatalf("%d lines, want %d", len(lines), want)
	}
	for i, line := range lines {
		var r bench.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Level != string(levels[i%len(levels)]) || !(r.NS > 0) {
			t.Errorf("line %d, error %v: %s", i, err, line)
		}
	}
	table := ok(t, "bench", "--op", "copy", "--level", "generic,generic", "--time", "1ms")
	if strings.Count(table, "GB/s") != 2*3 || strings.Count(table, "generic") != 2*3 {
		t.Errorf("table of two levels:\n%s", table)
	}
	before := vek.CurrentLevel()
	t.Setenv("S4D_LEVEL", "generic") // as if the process had started with it
	if err := vek.SetLevel(vek.Generic); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = vek.SetLevel(before) }() // it was in use
	if lines := ok(t, "bench", "--op", "copy", "--time", "1ms", "--json"); strings.Count(lines, `"generic"`) != 3 || strings.Count(lines, "\n") != 3 {
		t.Errorf("rows under S4D_LEVEL=generic:\n%s", lines)
	}
	for flag, value := range map[string]string{"--op": "divide", "--level": "abacus", "--threads": "0", "--time": "-1s"} {
		if code, _, stderr := invoke(nil, "bench", flag+"="+value); code != exitUsage || !strings.Contains(stderr, value) {
			t.Errorf("bench %s %s: exit code %d, stderr %s", flag, value, code, stderr)
		}
	}
	for _, flag := range []string{"--op=", "--threads=", "--time=0s"} {
		if code, stdout, stderr := invoke(nil, "bench", flag); code != exitUsage || stdout != "" || !strings.Contains(stderr, "bench: ") {
			t.Errorf("bench %s: exit code %d, stdout %s, stderr %s", flag, code, stdout, stderr)
		}
	}
}
