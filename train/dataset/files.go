package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errNotRegular marks what a data folder holds in place of a file: a folder, a named pipe, a
// device. To open a pipe would block until something is written to it.
var errNotRegular = errors.New("not a regular file")

// statFile describes a regular file or the regular file that a link leads to; anything else is an
// error.
func statFile(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w (%v)", path, errNotRegular, info.Mode())
	}
	return info, err
}

// openFile opens a regular file.
func openFile(path string) (*os.File, error) {
	if _, err := statFile(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// readFile reads a regular file.
func readFile(path string) ([]byte, error) {
	if _, err := statFile(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// readFolder lists a data folder in alphabetical order. Source says where the data set is
// published.
func readFolder(dir, source string) ([]fs.DirEntry, error) {
	if dir == "" {
		return nil, fmt.Errorf("the folder of the data is missing; %s", source)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w; %s", err, source)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("data folder %s is empty; %s", dir, source)
	}
	return files, nil
}

// isFolder reports whether path is a folder or a link to one.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// findFile looks for a file in a folder and in its subfolders inner.
func findFile(dir, name string, inner ...string) (path string, ok bool) {
	for _, sub := range append([]string{""}, inner...) {
		path := filepath.Join(dir, sub, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
	}
	return "", false
}
