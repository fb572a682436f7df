package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// bench prints one row per operation, size, level and number of threads, as a table and as JSON
// Lines.
func TestBench(t *testing.T) {
	t.Setenv("S4D_LEVEL", "")
	levels := vek.Levels()
	args := []string{"bench", "--op", "peak,cexp", "--threads", "1,2", "--time", "1ms"}
	lines := strings.Split(strings.TrimSpace(ok(t, append(args, "--json")...)), "\n")
	if want := 2 * 2 * len(levels); len(lines) != want {
		t.Fatalf("%d lines, expected %d", len(lines), want)
	}
	for i, line := range lines {
		var r bench.Row
		decode(t, line, &r)
		equal(t, fmt.Sprintf("level of line %d", i), r.Level, string(levels[i%len(levels)]))
		if !(r.NS > 0) {
			t.Errorf("line %d: %v ns", i, r.NS)
		}
	}
	table := ok(t, "bench", "--op", "copy", "--level", "generic,generic", "--time", "1ms")
	equal(t, "rows with a bandwidth", strings.Count(table, "GB/s"), 2*3)
	equal(t, "rows of level generic", strings.Count(table, "generic"), 2*3)
	before := vek.CurrentLevel()
	t.Setenv("S4D_LEVEL", "generic") // as if the process had started with it
	must.Do(t, vek.SetLevel(vek.Generic))
	defer func() { _ = vek.SetLevel(before) }() // it was in use
	rows := ok(t, "bench", "--op", "copy", "--time", "1ms", "--json")
	equal(t, "rows with S4D_LEVEL=generic", strings.Count(rows, "\n"), 3)
	equal(t, "rows of level generic", strings.Count(rows, `"generic"`), 3)
	for flag, value := range map[string]string{"--op": "divide", "--level": "abacus", "--threads": "0", "--time": "0s"} {
		checkRun(t, nil, []string{"bench", flag + "=" + value}, exitUsage, "bench: ", value)
	}
}
