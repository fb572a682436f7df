// Package atomicfile replaces files whole.
//
// In goes a path and a function that writes the content; out comes, after a crash at any moment, the file as
// it was or the file as it should be. A crash may leave a file NAME.*.tmp beside it.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file by what write writes, readable for all: to a temporary name in the same folder, then
// to the disk, then under its own name. An error names the path and leaves the file as it was.
func Write(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // not the temporary name
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := fill(f, write); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fill writes, syncs and closes f.
func fill(f *os.File, write func(w io.Writer) error) (err error) {
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return f.Sync()
}
