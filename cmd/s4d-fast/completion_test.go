package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// bash completes commands, subcommands and flags, after other flags and arguments, too.
func TestCompletion(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	for line, expected := range map[string]string{
		"s4d-fast tra": "train", "s4d-fast data fet": "fetch", "s4d-fast train audio --other x --grou": "--group-by", "s4d-fast data fetch fsdd --ru": "--run",
	} {
		script := ok(t, "completion") + "COMP_WORDS=(" + line + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _s4d_fast; echo ${COMPREPLY[@]}"
		must.Equal(t, strings.TrimSpace(string(must.Get(exec.Command("bash", "-c", script).Output())(t))), expected, "%s", line)
	}
}
