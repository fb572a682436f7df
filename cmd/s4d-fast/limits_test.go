package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

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
