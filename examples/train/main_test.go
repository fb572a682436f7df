package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The network recognises new recordings, and in the stream every state from its second block on.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	must.Do(t, run(t.Context(), &out))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	const blocks = 2 * rate / block // of each state
	if len(lines) != 1+blocks*len(states) {
		t.Fatalf("%d lines, expected %d:\n%s", len(lines), 1+blocks*len(states), out.String())
	}
	var n int
	var accuracy float64
	if _, err := fmt.Sscanf(lines[0], "accuracy on %d new recordings: %f %%", &n, &accuracy); err != nil || n != 150 || accuracy < 95 {
		t.Errorf("first line %q (%v), expected an accuracy of at least 95 %% on 150 recordings", lines[0], err)
	}
	for i, line := range lines[1:] {
		var seconds, p float64
		var state string
		if _, err := fmt.Sscanf(line, "%f s %s %f", &seconds, &state, &p); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		must.Equal(t, seconds, float64(i+1)*block/rate, "line %q: time", line)
		if want := states[i/blocks]; i%blocks > 0 && (state != want || p < 0.5 || p > 1) {
			t.Errorf("line %q, expected %s with a probability of 0.5 to 1", line, want)
		}
	}
}
