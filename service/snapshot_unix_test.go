//go:build unix

package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A folder, a pipe or a link with a snapshot's name is logged and ignored when
// the server starts.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	name := func(letter string) string { return filepath.Join(dir, strings.Repeat(letter, 26)+suffix) }
	err := errors.Join(
		os.MkdirAll(filepath.Join(name("A"), "inside"), 0o700),
		os.MkdirAll(filepath.Join(name("B")+".1.tmp", "inside"), 0o700),
		os.Symlink(filepath.Join(dir, "missing"), name("C")),
		os.Symlink(os.Args[0], name("D")),
		syscall.Mkfifo(name("E"), 0o600),
	)
	if err != nil {
		t.Skipf("the file system has no such files: %v", err)
	}
	var log logBuffer
	s := must.Get(openStore(atomicfile.System(), dir, time.Hour, 1<<30, 10, log.logger()))(t)
	defer s.close()
	if n := log.count("is ignored"); n != 5 {
		t.Errorf("%d files are logged, expected 5: %s", n, &log.text)
	}
	if n, size := s.size(); n != 0 || size != 0 {
		t.Errorf("%d snapshots of %d bytes, expected none", n, size)
	}
	if files := filesIn(t, dir); len(files) != 5 {
		t.Errorf("%d files are left, expected 5", len(files))
	}
}

// A file that is too long for a snapshot is not read as a whole, and deleted.
func TestLongFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("A", 26)+suffix)
	if err := errors.Join(os.WriteFile(path, []byte(magic), 0o600), os.Truncate(path, 1<<40)); err != nil {
		t.Skipf("no sparse file: %v", err)
	}
	if s := openTestStore(t, dir, 1); len(s.list) != 0 {
		t.Errorf("%v is listed", s.list)
	}
	if files := filesIn(t, dir); len(files) != 0 {
		t.Error("the file is left")
	}
}
