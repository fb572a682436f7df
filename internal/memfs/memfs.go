// Package memfs is a file system in memory for tests. Tests can make any of its operations fail,
// and can cut its power. Like a disk, it then loses what was not synced.
//
// It guarantees less than POSIX, and therefore less than real file systems. A power cut may lose
// any write and any change of a folder that was not synced, and keep the others. The sync of a file
// does not store its name; only the sync of the folder does. As on Linux, writes before a failed
// sync are never stored, even if a later sync succeeds.
package memfs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

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

	mu   sync.Mutex
	root *node
	n    int // operations so far
}

// node is a file or a folder.
type node struct {
	mode   fs.FileMode
	data   []byte  // of a file: what programs read
	stored []byte  // what is on the disk
	writes []write // not yet on the disk, in order

	entries map[string]*node // of a folder; nil: a file
	synced  map[string]*node // on the disk
	changes []change         // not yet on the disk, in order
}

type write struct {
	at   int
	data []byte
}

// change sets the names of a folder at once. A nil node removes the name.
type change map[string]*node

// apply sets names.
func (c change) apply(names map[string]*node) {
	for name, to := range c {
		if names[name] = to; to == nil {
			delete(names, name)
		}
	}
}

// set changes names of a folder.
func (n *node) set(c change) {
	c.apply(n.entries)
	n.changes = append(n.changes, c)
}

// New returns an empty file system. Paths are absolute or not, with the same meaning.
func New() *FS { return &FS{root: folder(0o777)} }

func folder(perm fs.FileMode) *node {
	return &node{mode: fs.ModeDir | perm, entries: map[string]*node{}, synced: map[string]*node{}}
}

// Operations returns the number of operations so far.
func (f *FS) Operations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// do performs an operation, unless it is to fail. Errors name the path.
func (f *FS) do(operation, path string, run func() error) error {
	f.mu.Lock()
	f.n++
	n := f.n
	var err error
	if f.Fault != nil {
		err = f.Fault(n, operation, path)
	}
	if err == nil {
		err = run()
	}
	f.mu.Unlock()
	if f.After != nil {
		f.After(n, operation)
	}
	if err != nil {
		return &fs.PathError{Op: strings.ToLower(operation), Path: path, Err: err}
	}
	return nil
}

// find returns the node at a path.
func (f *FS) find(path string) (*node, error) {
	at := f.root
	for name := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		switch {
		case name == "" || name == ".":
		case at.entries == nil:
			return nil, syscall.ENOTDIR
		case at.entries[name] == nil:
			return nil, syscall.ENOENT
		default:
			at = at.entries[name]
		}
	}
	return at, nil
}

// parent returns the folder that has the last name of a path, and that name.
func (f *FS) parent(path string) (*node, string, error) {
	dir, err := f.find(filepath.Dir(path))
	if err == nil && dir.entries == nil {
		err = syscall.ENOTDIR
	}
	return dir, filepath.Base(path), err
}

// create gives a node a new name.
func (f *FS) create(path string, n *node) error {
	dir, base, err := f.parent(path)
	if err == nil && dir.entries[base] != nil {
		err = syscall.EEXIST
	}
	if err == nil {
		dir.set(change{base: n})
	}
	return err
}

// Stat describes a file.
func (f *FS) Stat(name string) (info fs.FileInfo, err error) {
	err = f.do("Stat", name, func() error {
		n, err := f.find(name)
		if err == nil {
			info = fileInfo{filepath.Base(name), n}
		}
		return err
	})
	return info, err
}

// ReadDir lists a folder.
func (f *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = f.do("ReadDir", name, func() error {
		n, err := f.find(name)
		if err == nil && n.entries == nil {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			list = append(list, fs.FileInfoToDirEntry(fileInfo{name, n.entries[name]}))
		}
		return nil
	})
	return list, err
}

// Mkdir creates a folder.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.do("Mkdir", name, func() error { return f.create(name, folder(perm)) })
}

// Rename renames a file. If the folders differ, a power cut may lose the new name but not the
// removal of the old one, or vice versa.
func (f *FS) Rename(from, to string) error {
	return f.do("Rename", to, func() error {
		dir, old, err := f.parent(from)
		if err != nil {
			return err
		}
		other, base, err := f.parent(to)
		if err != nil {
			return err
		}
		n := dir.entries[old]
		switch {
		case n == nil:
			return syscall.ENOENT
		case dir != other:
			other.set(change{base: n})
			dir.set(change{old: nil})
		case old != base:
			dir.set(change{old: nil, base: n})
		}
		return nil
	})
}

// Link gives a file a second name.
func (f *FS) Link(from, to string) error {
	return f.do("Link", to, func() error {
		n, err := f.find(from)
		if err != nil {
			return err
		}
		return f.create(to, n)
	})
}

// Remove removes a file or an empty folder.
func (f *FS) Remove(name string) error {
	return f.do("Remove", name, func() error {
		dir, base, err := f.parent(name)
		if err != nil {
			return err
		}
		switch n := dir.entries[base]; {
		case n == nil:
			return syscall.ENOENT
		case len(n.entries) > 0:
			return syscall.ENOTEMPTY
		}
		dir.set(change{base: nil})
		return nil
	})
}

// Follow returns the path itself: there are no symbolic links.
func (f *FS) Follow(name string) (string, error) {
	return filepath.Clean(name), f.do("Follow", name, func() error {
		_, _, err := f.parent(name)
		return err
	})
}

// OpenFile opens a file.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	opened := &file{fs: f, name: name, append: flag&os.O_APPEND != 0}
	operation := "OpenFile"
	if flag&os.O_CREATE != 0 {
		operation = "Create"
	}
	err := f.do(operation, name, func() (err error) {
		opened.node, err = f.find(name)
		switch {
		case err == syscall.ENOENT && flag&os.O_CREATE != 0:
			opened.node = &node{mode: perm}
			return f.create(name, opened.node)
		case err != nil:
			return err
		case flag&os.O_EXCL != 0:
			return syscall.EEXIST
		case opened.node.entries != nil && flag&(os.O_WRONLY|os.O_RDWR) != 0:
			return syscall.EISDIR
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// fileInfo is the fs.FileInfo of a node.
type fileInfo struct {
	name string
	node *node
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return int64(len(i.node.data)) }
func (i fileInfo) Mode() fs.FileMode  { return i.node.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.node.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// String lists the files, for messages.
func (f *FS) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.root.list("")
}

func (n *node) list(path string) (text string) {
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		if m := n.entries[name]; m.entries != nil {
			text += m.list(path + name + "/")
		} else {
			text += path + name + "\n"
		}
	}
	return text
}
