// Package datafile reads the files of data folders.
package datafile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrNotRegular marks what a data folder holds in place of a file: a folder, a named pipe, a
// device. To open a pipe would block until something is written to it.
var ErrNotRegular = errors.New("not a regular file")

// ErrNoData marks a folder that lacks the files of a data set.
var ErrNoData = errors.New("no data")

// NoData returns an error for which errors.Is(err, ErrNoData) holds.
func NoData(format string, args ...any) error {
	return fmt.Errorf("%w%.0w", fmt.Errorf(format, args...), ErrNoData)
}

// Regular returns an error if the file that info describes is not a regular one.
func Regular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w (%v)", path, ErrNotRegular, info.Mode())
	}
	return nil
}

// Free returns an error if something other than a regular file is at path, which is then not a
// place to write a file.
func Free(path string) error {
	info, err := examine(path)
	if info != nil {
		err = Regular(path, info)
	}
	return err
}

// Open opens a regular file.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = Regular(path, info)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Parse passes the content of a regular file to a function. Errors name the file.
func Parse(path string, parse func(r io.Reader) error) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := parse(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// List lists a data folder in alphabetical order. An empty one is an error.
func List(dir string) ([]fs.DirEntry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if len(files) == 0 {
		return nil, NoData("data folder %s is empty", dir)
	}
	return files, nil
}

// IsFolder reports whether path is a folder or a link to one. It fails if path cannot be examined,
// but not if nothing is there.
func IsFolder(path string) (bool, error) {
	info, err := examine(path)
	return info != nil && info.IsDir(), err
}

// examine is os.Stat, but returns neither information nor an error if path does not exist, or is a
// link to something that does not exist.
func examine(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// Walk calls visit with the files of a folder and of the folders in it, in alphabetical order. It
// follows links, and fails if one leads to a folder that contains it, or if an entry cannot be
// examined. It calls visit for a folder whose name begins with a dot, but not for its files.
func Walk(dir string, visit func(path string)) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err != nil {
		return err
	}
	return walk(dir, visit, []fs.FileInfo{info})
}

// walk is Walk. within has the folders that lead to dir, which is the last one.
func walk(dir string, visit func(path string), within []fs.FileInfo) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := examine(path)
		switch {
		case e.Name()[0] == '.' || err == nil && (info == nil || !info.IsDir()):
			visit(path)
			continue
		case err == nil && slices.ContainsFunc(within, func(f fs.FileInfo) bool { return os.SameFile(f, info) }):
			err = fmt.Errorf("%s: the folder contains itself, by a link on this path: remove the link", path)
		case err == nil:
			err = walk(path, visit, append(within, info))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Find looks for a file in a folder and in its subfolders inner.
func Find(dir, name string, inner ...string) (path string, ok bool) {
	for _, sub := range append([]string{""}, inner...) {
		path := filepath.Join(dir, sub, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
	}
	return "", false
}
