//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// jumps changes time.Now: every 8 ms the time of day moves by up to 102 years, forwards or
// backwards. The monotonic clock does not change. The text in mark shows that a program has the
// change.
const (
	mark  = "the clock of this program jumps"
	jumps = `
	if mono < 0 {
		panic("` + mark + `")
	}
	sec += [...]int64{0, -1 << 30, 1 << 31, -86400, 3600}[mono>>23%5]
`
)

// withJumpingClock builds the command with a time.Now whose time of day jumps. It returns the path
// of the program.
func withJumpingClock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := strings.TrimSpace(string(must.Get(exec.Command("go", "env", "GOROOT").Output())(t)))
	source := filepath.Join(root, "src", "time", "time.go")
	const reads = "sec, nsec, mono := runtimeNow()\n"
	before, after, found := strings.Cut(string(read(t, source)), reads)
	if !found {
		t.Fatalf("%s has no line %q", source, reads)
	}
	changed, overlay, program := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "s4d-fast")
	must.Do(t, os.WriteFile(changed, []byte(before+reads+jumps+after), 0o600))
	must.Do(t, os.WriteFile(overlay, must.Get(json.Marshal(map[string]any{"Replace": map[string]string{source: changed}}))(t), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if !bytes.Contains(read(t, program), []byte(mark)) {
		t.Fatalf("%s was built without the changed %s", program, source)
	}
	return program
}

// The time of day changes many times during a run, which is killed at a random moment and resumed.
// The run ends with the bits of a run with an undisturbed clock.
func TestClockChanges(t *testing.T) {
	const epochs = 16
	cases := must.Cases(0, 40)
	if cases == 0 {
		t.Skip("compiles the command and the standard library again; only in the long form")
	}
	want, takes := uninterrupted(t, epochs)
	command = withJumpingClock(t)
	defer func() { command = "" }()
	held := killedRuns(t, cases, epochs, want, takes, 3)
	must.Tally(t, "a run that is killed while the time of day changes resumes to the same bits", cases, held)
}
