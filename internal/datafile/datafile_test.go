package datafile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Walk follows links, and visits links to nothing. It visits hidden folders, but not their files.
// It fails if links form a cycle.
func TestWalk(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(dir, "b", "2.wav"), filepath.Join(dir, "a.wav"), filepath.Join(dir, ".git", "x.wav"), filepath.Join(other, "y.wav")} {
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, nil, 0o666))
	}
	if err := os.Symlink(other, filepath.Join(dir, "c")); err != nil {
		t.Skip(err)
	}
	must.Do(t, os.Symlink(other, filepath.Join(dir, "d"))) // c and d are the same folder, but no cycle
	must.Do(t, os.Symlink("none", filepath.Join(dir, "e")))
	var got []string
	visit := func(path string) { got = append(got, filepath.ToSlash(strings.TrimPrefix(path, dir))) }
	must.Do(t, Walk(dir, visit))
	must.Equal(t, strings.Join(got, " "), "/.git /a.wav /b/2.wav /c/y.wav /d/y.wav /e", "files")
	must.Fail(t, Walk(filepath.Join(dir, "a.wav"), visit), "a.wav is not a folder")
	must.Fail(t, Walk(filepath.Join(dir, "none"), visit), "none")
	for name, to := range map[string]string{filepath.Join(other, "back"): dir, filepath.Join(dir, "b", "up"): dir, filepath.Join(dir, "b", "above"): filepath.Dir(dir)} {
		must.Do(t, os.Symlink(to, name))
		must.Fail(t, Walk(dir, visit), filepath.Base(name), ": the folder contains itself, by a link on this path: remove the link")
		must.Do(t, os.Remove(name))
	}
	must.Do(t, os.Symlink("f", filepath.Join(dir, "f"))) // a link to itself
	must.Fail(t, Walk(dir, visit), filepath.Join(dir, "f"))
}
