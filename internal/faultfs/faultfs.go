// Package faultfs lets file operations fail in tests, and checks that a power cut undoes none of
// those that returned.
//
// A file system loses at a power cut what was not synced: the content of a file until the file is
// synced, and the names in a folder until the folder is. Programs therefore sync a file before they
// rename it, and then its folder. FS checks this order, so that no test has to lose data.
package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// FS passes operations on to another file system, except Sync, which it only records. One goroutine
// at a time may use it.
type FS struct {
	atomicfile.FS
	Dir string // an empty folder, or a copy of another one, for the test

	fault   *Fault // nil: none
	n       int    // operations so far
	written map[string]bool
	changed map[string]bool // names that were made, renamed or removed, and not synced
	early   error           // the first rename of a file that was not synced
}

// Fault is an operation that fails with Err. It is a method of atomicfile.FS or of
// atomicfile.File, or "Create".
type Fault struct {
	Operation, Path string // "": fewer operations were performed
	Err             error

	n    int
	dead bool
	fs   *FS
}

// Over ends the fault: no further operation fails. It reports whether one has failed.
func (f *Fault) Over() bool {
	f.fs.fault = nil
	return f.Operation != ""
}

func (f *Fault) String() string {
	after := ""
	if f.dead {
		after = " and all later ones fail"
	}
	return fmt.Sprintf("operation %d (%s of %s)%s", f.n, f.Operation, f.Path, after)
}

// New returns a file system in a new folder with a copy of the files in from, if that is not "".
func New(t testing.TB, from string) *FS {
	t.Helper()
	f := &FS{FS: atomicfile.OS{}, Dir: filepath.Join(t.TempDir(), "d"), written: map[string]bool{}, changed: map[string]bool{}}
	err := os.Mkdir(f.Dir, 0o700)
	if from != "" {
		err = errors.Join(err, os.CopyFS(f.Dir, os.DirFS(from)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// EachFault calls try with a new FS on which operation 1 fails, then operation 2, and so on until
// an attempt has fewer operations. It then repeats this with faults after which all operations
// fail, as if the process had been killed. try calls fault.Over when its program has ended. In the
// last attempt, Over reports false.
func EachFault(t testing.TB, from string, try func(f *FS, fault *Fault)) {
	t.Helper()
	for _, dead := range []bool{false, true} {
		for n := 1; ; n++ {
			f := New(t, from)
			fault := &Fault{n: n, dead: dead, Err: syscall.EIO, fs: f}
			f.fault = fault
			try(f, fault)
			if !fault.Over() {
				break
			}
			os.RemoveAll(f.Dir)
		}
	}
}

// Durable returns an error if a power cut could undo an operation that has returned, except writes
// to files that were not renamed.
func (f *FS) Durable() error {
	if f.early != nil {
		return f.early
	}
	for name := range f.changed {
		return fmt.Errorf("%s: the folder was not synced after its names changed", name)
	}
	return nil
}

// do performs an operation, unless it is to fail.
func (f *FS) do(operation, path string, run func() error) error {
	f.n++
	if fault := f.fault; fault != nil && (f.n == fault.n || f.n > fault.n && fault.dead) {
		if f.n == fault.n {
			fault.Operation, fault.Path = operation, path
		}
		return &fs.PathError{Op: operation, Path: path, Err: fault.Err}
	}
	return run()
}

// change performs an operation that changes a name. Those of temporary files may be lost.
func (f *FS) change(operation, name string, run func() error) error {
	err := f.do(operation, name, run)
	if _, temporary := atomicfile.TemporaryOf(name); err == nil && !temporary {
		f.changed[filepath.Clean(name)] = true
	}
	return err
}

// value is do for an operation that returns a value.
func value[T any](f *FS, operation, path string, run func() (T, error)) (v T, err error) {
	err = f.do(operation, path, func() (err error) { v, err = run(); return err })
	return v, err
}

// OpenFile opens a file.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	operation := "OpenFile"
	if flag&os.O_CREATE != 0 {
		operation = "Create"
	}
	opened, err := value(f, operation, name, func() (atomicfile.File, error) { return f.FS.OpenFile(name, flag, perm) })
	return &file{opened, f, name}, err
}

// Stat describes a file.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	return value(f, "Stat", name, func() (fs.FileInfo, error) { return f.FS.Stat(name) })
}

// ReadDir lists a folder.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	return value(f, "ReadDir", name, func() ([]fs.DirEntry, error) { return f.FS.ReadDir(name) })
}

// Follow follows symbolic links.
func (f *FS) Follow(name string) (string, error) {
	return value(f, "Follow", name, func() (string, error) { return f.FS.Follow(name) })
}

// Mkdir creates a folder.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.change("Mkdir", name, func() error { return f.FS.Mkdir(name, perm) })
}

// Remove removes a file or an empty folder.
func (f *FS) Remove(name string) error {
	return f.change("Remove", name, func() error { return f.FS.Remove(name) })
}

// Rename renames a file.
func (f *FS) Rename(from, to string) error {
	if f.early == nil && f.written[filepath.Clean(from)] {
		f.early = fmt.Errorf("%s was renamed before it was synced", from)
	}
	return f.change("Rename", to, func() error { return f.FS.Rename(from, to) })
}

// file is an open file.
type file struct {
	atomicfile.File
	fs   *FS
	name string
}

func (f *file) Read(p []byte) (int, error) {
	return value(f.fs, "Read", f.name, func() (int, error) { return f.File.Read(p) })
}

// Write writes. If it fails, it writes half.
func (f *file) Write(p []byte) (int, error) {
	f.fs.written[filepath.Clean(f.name)] = true
	n, err := value(f.fs, "Write", f.name, func() (int, error) { return f.File.Write(p) })
	if err != nil && n == 0 {
		n, _ = f.File.Write(p[:len(p)/2])
	}
	return n, err
}

func (f *file) Chmod(perm fs.FileMode) error {
	return f.fs.do("Chmod", f.name, func() error { return f.File.Chmod(perm) })
}

// Sync records that the content of a file, or the names in a folder, are stored.
func (f *file) Sync() error {
	return f.fs.do("Sync", f.name, func() error {
		delete(f.fs.written, filepath.Clean(f.name))
		for name := range f.fs.changed {
			if filepath.Dir(name) == filepath.Clean(f.name) {
				delete(f.fs.changed, name)
			}
		}
		return nil
	})
}

// Close closes the file, also if it fails.
func (f *file) Close() error {
	err := f.fs.do("Close", f.name, func() error { return nil })
	return errors.Join(err, f.File.Close())
}
