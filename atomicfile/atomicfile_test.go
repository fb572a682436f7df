package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// holds fails unless path is the only file of its folder and has the expected content.
func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("the file holds %q (%v), expected %q", got, err, want)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v (%v), expected one file", files, err)
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	must.Do(t, Write(path, 0o666, text("old")))
	broken := errors.New("write failed")
	err := Write(path, 0o666, func(w io.Writer) error {
		if err := text("half a fi")(w); err != nil {
			return err
		}
		return broken
	})
	must.Fail(t, err, broken, path)
	holds(t, path, "old")
}

// The error names the path, and neither the temporary file nor the operation.
func TestErrorNamesPath(t *testing.T) {
	dir := t.TempDir()
	missing, folder := filepath.Join(dir, "missing", "a.txt"), filepath.Join(dir, "folder")
	must.Do(t, os.Mkdir(folder, 0o755))
	for _, path := range []string{missing, folder} {
		err := Write(path, 0o666, text("x"))
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("error %v, expected one that names %s once", err, path)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files that remain: %v (%v)", files, err)
	}
}

func TestPanicLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() { _ = recover() }()
		_ = Write(filepath.Join(dir, "a.txt"), 0o666, func(io.Writer) error { panic("stop") })
	}()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files that remain: %v (%v)", files, err)
	}
}

func TestFollowsLinks(t *testing.T) {
	for _, c := range []struct{ name, link, target string }{
		{"relative", "b/target", "b/target"},
		{"absolute", "/b/target", "b/target"}, // from the test's folder
		{"to a missing file", "b/new", "b/new"},
		{"chain", "link2", "b/target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			if strings.HasPrefix(c.link, "/") {
				c.link = path(c.link)
			}
			err := errors.Join(os.MkdirAll(path("b/c"), 0o755), os.WriteFile(path("b/target"), []byte("old"), 0o644))
			links := []string{"b/target", "link2", c.link, "link"}
			for pair := range slices.Chunk(links, 2) {
				err = errors.Join(err, os.Symlink(filepath.FromSlash(pair[0]), path(pair[1])))
			}
			if err != nil {
				t.Skip("symbolic links are not available: ", err)
			}
			must.Do(t, Write(path("link"), 0o666, text("new")))
			if got, err := os.Readlink(path("link")); err != nil || filepath.ToSlash(got) != filepath.ToSlash(c.link) {
				t.Errorf("the link leads to %q (%v), expected %q", got, err, c.link)
			}
			if got, err := os.ReadFile(path(c.target)); err != nil || string(got) != "new" {
				t.Errorf("%s holds %q (%v), expected %q", c.target, got, err, "new")
			}
		})
	}
}

// The temporary files of the paths are removed, and no other file.
func TestRemoveTemporary(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	left := ""
	if err := Write(path, 0o666, func(io.Writer) error {
		files, err := filepath.Glob(path + ".*")
		if len(files) > 0 {
			left = files[0]
		}
		return err
	}); err != nil || left == "" {
		t.Fatalf("temporary file %q, error %v", left, err)
	}
	kept := []string{"a.txt", "a.txt.1.tmp.txt", "a.txt.7.tmp", "a.txt.tmp", "a.txt.x.tmp", "b.txt.1.tmp", "notes.2024.tmp", "1.tmp"}
	slices.Sort(kept)
	must.Do(t, os.Mkdir(path+".7.tmp", 0o755))
	for _, name := range append(kept, filepath.Base(left)) {
		if name != "a.txt.7.tmp" {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		}
	}
	t.Chdir(dir)
	must.Do(t, System().RemoveTemporary("a.txt", filepath.Join(dir, "missing.txt")))
	var files []string
	for _, f := range must.Get(os.ReadDir(dir))(t) {
		files = append(files, f.Name())
	}
	if !slices.Equal(files, kept) {
		t.Errorf("the folder holds %q, expected %q", files, kept)
	}
}

// Check finds what would stop Write, and leaves the files as they are.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(path, []byte("old"), 0o444))
	must.Do(t, os.Symlink(filepath.Join(dir, "new"), filepath.Join(dir, "link")))
	must.Do(t, os.Symlink(filepath.Join(dir, "missing", "new"), filepath.Join(dir, "lost")))
	for _, good := range []string{"file", "absent", "link"} {
		must.Do(t, Check(filepath.Join(dir, good)))
	}
	must.Do(t, Check(os.DevNull))
	for _, bad := range []string{"", "missing/file", "file/file", "lost", strings.Repeat("n", 256)} {
		bad = filepath.Join(dir, bad)
		if err := Check(bad); err == nil || !strings.HasPrefix(err.Error(), bad+": ") || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	must.Equal(t, string(must.Get(os.ReadFile(path))(t)), "old", "content")
	must.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 3, "files")
}
