package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// holds fails unless path is the only file of its folder and holds want.
func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("the file holds %q (%v), want %q", got, err, want)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v (%v), want one file", files, err)
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	for _, s := range []string{"a longer first text", "short"} {
		if err := Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		holds(t, path, s)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v (%v), want 0644", info.Mode(), err)
	}
}

// The old file stays until the new one is complete.
func TestOldFileStaysMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	err := Write(path, func(w io.Writer) error {
		if err := text("new")(w); err != nil {
			return err
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
			t.Errorf("half-way the file holds %q (%v)", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")
}

func TestFailureLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no more to say")
	err := Write(path, func(w io.Writer) error {
		if err := text("half a fi")(w); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want the writer's, with the path", err)
	}
	holds(t, path, "old")
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "missing", "a.txt"), filepath.Join(dir, "folder")} {
		if filepath.Base(path) == "folder" {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, text("x")); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one that names %s", err, path)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v (%v)", files, err)
	}
}

// The error names the file that was wanted, not the one on the way to it.
func TestNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "file")
	err := Write(path, text("x"))
	if err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("%v", err)
	}
}
