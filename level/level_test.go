package level_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/level"
)

func TestSet(t *testing.T) {
	before := level.Current()
	defer func() { must.Do(t, level.Set(before)) }()
	if levels := level.Levels(); levels[0] != "generic" || !slices.Contains(levels, before) {
		t.Fatalf("levels %q, expected generic first and %q", levels, before)
	}
	for _, name := range level.Levels() {
		must.Do(t, level.Set(name))
		must.Equal(t, level.Current(), name, "level in use")
		must.Equal(t, string(vek.CurrentLevel()), name, "level of the kernels")
		must.Do(t, level.Set(""))
		must.Equal(t, level.Current(), name, "level after an empty name")
	}
	must.Fail(t, level.Set("abacus"), level.ErrUnavailable, `level "abacus" is not available`, "expected one of")
}

// An S4D_LEVEL that is not available is an error of Set until a level has been chosen.
func TestEnvironment(t *testing.T) {
	if os.Getenv("S4D_LEVEL") == "abacus" { // the other process
		must.Fail(t, level.Set(""), level.ErrUnavailable, "S4D_LEVEL", "abacus")
		must.Do(t, level.Set("generic"))
		must.Do(t, level.Set(""))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$", "-test.v")
	cmd.Env = append(os.Environ(), "S4D_LEVEL=abacus")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	}
	if err != nil || !strings.Contains(string(out), "PASS: TestEnvironment") {
		t.Errorf("error %v; output:\n%s", err, out)
	}
}
