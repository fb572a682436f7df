// Package memfs is a file system in memory for tests. Tests can make any of its operations fail,
// and can cut its power. Like a disk, it then loses what was not synced.
//
// It guarantees less than POSIX, and therefore less than real file systems. A power cut may lose
// any change of a folder that was not synced, and keep later ones. The sync of a file does not
// store its name; only the sync of the folder does. As on Linux, writes before a failed sync are
// never stored, even if a later sync succeeds. There are no symbolic links, files only grow, and
// folders keep their names.
package memfs

import (
	"cmp"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing/fstest"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// FS is a file system. New creates one.
type FS struct {
	// After is called after each operation. n is the number of the operation, from 1. After may be
	// nil.
	After func(n int, operation string)
	// Fault is called before each operation. operation is the name of the method of atomicfile.FS
	// or atomicfile.File, or "Create" for an OpenFile that may create a file. If Fault returns an
	// error, the operation fails with it and does nothing, except that a Write writes half. Fault
	// may be nil.
	Fault func(n int, operation, path string) error

	mu      sync.Mutex
	n       int      // operations so far
	names   names    // what programs see
	stored  names    // what is on the disk
	changes []change // not on the disk yet, in order
}

// names are the files and folders by their paths, with slashes.
type names map[string]*node

type node struct {
	mode   fs.FileMode
	data   []byte // what programs read
	stored []byte // what is on the disk
	synced int    // bytes of data at the last sync, also if that failed
}

// change sets names of one folder at once. A nil node removes the name.
type change names

func (n names) apply(c change) {
	maps.Copy(n, c)
	maps.DeleteFunc(n, func(_ string, n *node) bool { return n == nil })
}

// New returns an empty file system. Paths are absolute or not, with the same meaning.
func New() *FS {
	root := &node{mode: fs.ModeDir | 0o777}
	return &FS{names: names{".": root}, stored: names{".": root}}
}

// Operations returns the number of operations so far.
func (f *FS) Operations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// do performs an operation, unless it is to fail. Errors name the path.
func (f *FS) do(operation, name string, run func(path string) error) error {
	f.mu.Lock()
	f.n++
	n := f.n
	var err error
	if f.Fault != nil {
		err = f.Fault(n, operation, name)
	}
	if err == nil {
		err = run(key(name))
	}
	f.mu.Unlock()
	if f.After != nil {
		f.After(n, operation)
	}
	if err != nil {
		return &fs.PathError{Op: strings.ToLower(operation), Path: name, Err: err}
	}
	return nil
}

// key returns the path in names of a path.
func key(name string) string { return path.Join(".", strings.Trim(filepath.ToSlash(name), "/")) }

// change changes the names in a folder that exists.
func (f *FS) change(c change) error {
	for name := range c {
		if dir := f.names[path.Dir(name)]; dir == nil || !dir.mode.IsDir() {
			return syscall.ENOENT
		}
	}
	f.names.apply(c)
	f.changes = append(f.changes, c)
	return nil
}

// create gives a node a new name.
func (f *FS) create(name string, n *node) error {
	if f.names[name] != nil {
		return syscall.EEXIST
	}
	return f.change(change{name: n})
}

// tree returns the files for package fs.
func (f *FS) tree() fstest.MapFS {
	tree := fstest.MapFS{}
	for name, n := range f.names {
		tree[name] = &fstest.MapFile{Data: n.data, Mode: n.mode}
	}
	return tree
}

// Stat describes a file.
func (f *FS) Stat(name string) (info fs.FileInfo, err error) {
	err = f.do("Stat", name, func(path string) (err error) {
		info, err = f.tree().Stat(path)
		return err
	})
	return info, err
}

// ReadDir lists a folder.
func (f *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = f.do("ReadDir", name, func(path string) (err error) {
		list, err = f.tree().ReadDir(path)
		return err
	})
	return list, err
}

// Mkdir creates a folder.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.do("Mkdir", name, func(path string) error { return f.create(path, &node{mode: fs.ModeDir | perm}) })
}

// Rename renames a file. If the folders differ, a power cut may lose the new name but not the
// removal of the old one, or vice versa.
func (f *FS) Rename(from, to string) error {
	return f.do("Rename", to, func(name string) error {
		old, n := key(from), f.names[key(from)]
		if n == nil {
			return syscall.ENOENT
		}
		if path.Dir(old) == path.Dir(name) {
			return f.change(change{old: nil, name: n})
		}
		return cmp.Or(f.change(change{name: n}), f.change(change{old: nil}))
	})
}

// Remove removes a file or an empty folder.
func (f *FS) Remove(name string) error {
	return f.do("Remove", name, func(path string) error {
		if f.names[path] == nil {
			return syscall.ENOENT
		}
		for other := range f.names {
			if strings.HasPrefix(other, path+"/") {
				return syscall.ENOTEMPTY
			}
		}
		return f.change(change{path: nil})
	})
}

// Follow returns the path itself.
func (f *FS) Follow(name string) (string, error) {
	return filepath.Clean(name), f.do("Follow", name, func(name string) error {
		if f.names[path.Dir(name)] == nil {
			return syscall.ENOENT
		}
		return nil
	})
}

// OpenFile opens a file. Writes append to it.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	opened, operation := &file{fs: f, name: name}, "OpenFile"
	if flag&os.O_CREATE != 0 {
		operation = "Create"
	}
	err := f.do(operation, name, func(path string) error {
		opened.node = f.names[path]
		switch n := opened.node; {
		case n == nil && flag&os.O_CREATE != 0:
			opened.node = &node{mode: perm}
			return f.create(path, opened.node)
		case n == nil:
			return syscall.ENOENT
		case flag&os.O_EXCL != 0:
			return syscall.EEXIST
		case n.mode.IsDir() && flag&os.O_WRONLY != 0:
			return syscall.EISDIR
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// file is an open file.
type file struct {
	fs   *FS
	name string
	node *node
	at   int // position of Read
}

// Read reads from the position on.
func (f *file) Read(p []byte) (n int, err error) {
	err = f.fs.do("Read", f.name, func(string) error {
		if f.node.mode.IsDir() {
			return syscall.EISDIR
		}
		n = copy(p, f.node.data[f.at:])
		f.at += n
		return nil
	})
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write appends to the file. A write that fails writes half.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.fs.do("Write", f.name, func(string) error {
		n = len(p)
		return nil
	})
	if err != nil {
		n = len(p) / 2
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.data = append(slices.Clip(f.node.data), p[:n]...)
	return n, err
}

// Chmod sets the permissions.
func (f *file) Chmod(perm fs.FileMode) error {
	return f.fs.do("Chmod", f.name, func(string) error {
		f.node.mode = f.node.mode.Type() | perm
		return nil
	})
}

// Sync stores the content of a file, or the names in a folder.
func (f *file) Sync() error {
	n := f.node
	defer func() { n.synced = len(n.data) }()
	return f.fs.do("Sync", f.name, func(dir string) error {
		if !n.mode.IsDir() {
			n.stored = n.after(n.data[n.synced:])
			return nil
		}
		f.fs.changes = slices.DeleteFunc(f.fs.changes, func(c change) bool {
			for name := range c {
				if path.Dir(name) != dir {
					return false
				}
			}
			f.fs.stored.apply(c)
			return true
		})
		return nil
	})
}

// after returns the stored content after data is written at the position of the last sync. Bytes
// before it that were never stored are zero.
func (n *node) after(data []byte) []byte {
	content := make([]byte, n.synced, n.synced+len(data))
	copy(content, n.stored)
	return append(content, data...)
}

// Close closes the file. Like the system's, it does not sync.
func (f *file) Close() error {
	return f.fs.do("Close", f.name, func(string) error { return nil })
}

// String lists the files, for messages.
func (f *FS) String() (text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		if !f.names[name].mode.IsDir() {
			text += name + "\n"
		}
	}
	return text
}
