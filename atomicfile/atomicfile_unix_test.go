//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A new file obeys the umask; an existing file keeps its mode, whatever the umask.
func TestMode(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		path := filepath.Join(t.TempDir(), "a.txt")
		old := syscall.Umask(umask)
		err := Write(path, text("new"))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		wantMode(t, path, 0o666&^os.FileMode(umask))
		for _, mode := range []os.FileMode{0o600, 0o666, 0o755} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			old := syscall.Umask(umask)
			err := Write(path, text("newer"))
			syscall.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			wantMode(t, path, mode)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Fatalf("mode %v, expected %v", info.Mode(), want)
	}
}

func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // O_RDWR does not wait for a writer
	if err != nil {
		t.Skip(err)
	}
	defer reader.Close()
	if err := Write(path, text("content")); err != nil {
		t.Fatal(err)
	}
	wantMode(t, path, 0o600|os.ModeNamedPipe)
	got := make([]byte, 16)
	if n, err := reader.Read(got); err != nil || string(got[:n]) != "content" {
		t.Errorf("the pipe held %q (%v)", got[:n], err)
	}
}
