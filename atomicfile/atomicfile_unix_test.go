//go:build unix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A new file gets the mode that is passed, less the umask. An existing file keeps its mode.
func TestMode(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		path := filepath.Join(t.TempDir(), "a.txt")
		for _, perm := range []os.FileMode{0o600, 0o666} {
			os.Remove(path)
			old := syscall.Umask(umask)
			err := Write(path, perm, text("new"))
			syscall.Umask(old)
			must.Do(t, err)
			wantMode(t, path, perm&^os.FileMode(umask))
		}
		for _, mode := range []os.FileMode{0o600, 0o666, 0o755} {
			must.Do(t, os.Chmod(path, mode))
			old := syscall.Umask(umask)
			err := Write(path, 0o666, text("newer"))
			syscall.Umask(old)
			must.Do(t, err)
			wantMode(t, path, mode)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	if info.Mode() != want {
		t.Fatalf("mode %v, expected %v", info.Mode(), want)
	}
}

func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("the file system has no named pipes: ", err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // O_RDWR does not wait for a writer
	if err != nil {
		t.Skip("the system opens no pipe for both directions: ", err)
	}
	defer reader.Close()
	must.Do(t, Write(path, 0o666, text("content")))
	wantMode(t, path, 0o600|os.ModeNamedPipe)
	got := make([]byte, 16)
	if n, err := reader.Read(got); err != nil || string(got[:n]) != "content" {
		t.Errorf("the pipe held %q (%v)", got[:n], err)
	}
}

// Open and replace reject a named pipe without opening it.
func TestPipeIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("the file system has no named pipes: ", err)
	}
	_, err := System().Open(path)
	must.Fail(t, err, "not a regular file", path)
	_, err = System().ReadFile(path, 9)
	must.Fail(t, err, "not a regular file", path)
	must.Fail(t, System().Replace(path, 0o600, func(io.Writer) error { return nil }), "not a regular file", path)
}

// A name of as many bytes as file systems allow is written, and its temporary file removed.
func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("é", 125)+".wav")
	must.Do(t, Write(path, 0o600, func(io.Writer) error { return nil }))
	left := filepath.Join(filepath.Dir(path), shortened(filepath.Base(path))+".7.tmp")
	must.Do(t, os.WriteFile(left, nil, 0o600))
	must.Do(t, System().RemoveTemporary(path))
	if _, err := os.Stat(left); err == nil {
		t.Error("the temporary file is still there")
	}
}
