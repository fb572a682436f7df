package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Values of flags that are too large are invalid flags, and give no empty or wrong result.
func TestHugeValues(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, text string }{
		{"data pathfinder --n 9223372036854775807 " + dir, "--n 9223372036854775807: expected 1 to "},
		{"data listops --n 9223372036854775807 " + dir, "--n 9223372036854775807, --eval 2000: expected 1 to "},
		{"calibrate digits --words x --background x --tolerance 1e300", "--tolerance 1e+300: expected more than 0 and at most "},
		{"studio --addr 127.0.0.1:65536 --dir " + dir, "--addr 127.0.0.1:65536: "},
		{"studio --addr localhost:nosuch --dir " + dir, "--addr localhost:nosuch: "},
	} {
		checkRun(t, nil, strings.Fields(c.args), exitUsage, c.text)
	}
	equal(t, "files", len(must.Get(os.ReadDir(dir))(t)), 0)
}

// A command reports an output that it cannot write, or a plot without data, before it begins work
// that may take hours.
func TestOutputBeforeWork(t *testing.T) {
	dir := t.TempDir()
	missing, folder := filepath.Join(dir, "missing"), filepath.Join(dir, "d.safetensors")
	must.Do(t, os.Mkdir(folder, 0o777))
	must.Do(t, os.Mkdir(filepath.Join(dir, "d.png"), 0o777))
	for _, c := range []struct{ args, text string }{
		{"calibrate digits --words x --background x --write " + missing + "/m.safetensors", "output " + missing},
		{"calibrate digits --words x --background x --write " + folder, folder + ": is a folder"},
		{"calibrate digits --words x --background x --plot " + missing + "/p.png", "output " + missing},
		{"calibrate digits --words x --background x --plot " + dir + "/d.png", "d.png: is a folder"},
		{"prune digits --keep 0.5 --data x " + missing + "/m.safetensors", "output " + missing},
		{"calibrate digits --words x --background x --write " + dir + "/" + strings.Repeat("n", 250) + ".safetensors", "name too long"},
		{"eval digits --data x --predictions " + missing + "/p.jsonl", "output " + missing},
		{"plot spectrum fsdd --data x --out " + missing + "/p.png", "output " + missing},
		{"plot delay x --out " + missing + "/p.png", "output " + missing},
		{"plot hinf x --out " + dir + "/d.png", "d.png: is a folder"},
	} {
		checkRun(t, nil, strings.Fields(c.args), exitFailed, c.text)
	}
	must.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 2, "files and folders")
}
