package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every command fails when its results cannot be written to standard output.
func TestStandardOutputFails(t *testing.T) {
	m, dir := digitsModel(t), t.TempDir()
	run0 := filepath.Join(dir, "run")
	ok(t, append([]string{"train", "--out", run0}, shortDelay...)...)
	best := filepath.Join(run0, "best.safetensors")
	for _, args := range [][]string{
		nil,
		{"--version"},
		{"version"},
		{"version", "--levels"},
		{"stream", "--help"},
		{"stream", m, clip(t, 8000, 100)},
		{"inspect", m},
		{"inspect", m, "--json"},
		{"bench", "--op", "copy", "--time", "1ms"},
		{"convert", m, filepath.Join(dir, "m.pth")},
		{"convert", filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")},
		{"prune", m, filepath.Join(dir, "half.safetensors"), "--keep", "0.5"},
		{"eval", best},
		append([]string{"train", "--out", filepath.Join(dir, "run2")}, shortDelay...),
		append([]string{"sweep", "delay", "--seeds", "2", "--out", filepath.Join(dir, "sweep")}, shortDelay...),
	} {
		for _, c := range []struct {
			cause   error
			code    int
			message string
		}{{errors.New("disk full"), exitFailed, "s4d-fast: standard output: disk full"}, {syscall.EPIPE, exitOK, ""}} {
			var stderr bytes.Buffer
			code := run(t.Context(), args, streams{in: strings.NewReader(""), out: failing{c.cause}, err: &stderr})
			must.Equal(t, code, c.code, "%q, standard output %q: exit code; stderr: %s", args, c.cause, stderr.String())
			if !strings.Contains(stderr.String(), c.message) {
				t.Errorf("%q: stderr %q, expected %q in it", args, stderr.String(), c.message)
			}
			os.RemoveAll(filepath.Join(dir, "run2"))
		}
	}
}

// failing is a writer that always returns an error.
type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
