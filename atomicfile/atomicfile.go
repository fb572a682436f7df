// Package atomicfile writes files whole or not at all.
//
// A regular file is written under a temporary name in the same folder, synced and renamed, and the
// folder is synced. After a crash or a power cut at any moment the path holds either the old
// content or the new. A crash may leave the temporary file NAME.NUMBER.tmp behind, for
// RemoveTemporary. Devices, pipes and open files, such as /dev/stdout, are written in place.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write is Files.Write on the file system of the operating system.
func Write(path string, perm fs.FileMode, write func(w io.Writer) error) error {
	return System().Write(path, perm, write)
}

// Check returns an error if Write could not begin, for example because the folder is read-only. It
// makes a temporary file and removes it. An error names path, and a folder that does not exist.
func Check(path string) error {
	f := System()
	target, err := f.Follow(path)
	if err == nil {
		switch info, statErr := f.Stat(target); {
		case statErr == nil && info.IsDir():
			err = errors.New("is a folder, expected a file")
		case errors.Is(statErr, fs.ErrNotExist) || statErr == nil && info.Mode().IsRegular():
			var file File
			var name string
			if file, name, err = f.createTemp(target, 0o600, false); err == nil {
				file.Close()
				f.Remove(name)
			}
			err = bare(err) // which names a temporary file
		default:
			err = bare(statErr)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write writes what write produces to the file at path. A new file gets mode perm less the umask.
// An existing file keeps its mode, but neither its owner, its access control list nor its other
// hard links, and needs no permission to be written: only its folder does. A symbolic link stays,
// and the file that it leads to is written. An error names path, and leaves a regular file
// unchanged unless only the folder could not be synced.
func (f Files) Write(path string, perm fs.FileMode, write func(w io.Writer) error) error {
	var failed error // of write: it may name a file that was read
	err := f.writeFile(path, perm, func(w io.Writer) error {
		failed = write(w)
		return failed
	})
	if err == nil {
		return nil
	}
	if failed == nil {
		err = bare(err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (f Files) writeFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	info, err := f.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.replace(path, perm, false, write)
	case err != nil:
		return err
	case info.Mode().IsRegular() && filepath.Dir(path) != "/dev" && filepath.Dir(path) != "/dev/fd":
		return f.replace(path, info.Mode().Perm(), true, write)
	}
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) // of a folder this is an error
	if err != nil {
		return err
	}
	return fill(file, write, func() error { return nil })
}

// replace writes the regular file that path leads to. A new one gets mode perm less the umask, and
// one that exists has that mode.
func (f Files) replace(path string, perm fs.FileMode, exists bool, write func(io.Writer) error) error {
	path, err := f.Follow(path)
	if err != nil {
		return err
	}
	file, name, err := f.createTemp(path, perm, exists)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed { // write failed or panicked
			f.Remove(name)
		}
	}()
	if err := fill(file, write, file.Sync); err != nil {
		return err
	}
	if err := f.Rename(name, path); err != nil {
		return err
	}
	renamed = true
	return f.SyncFolder(filepath.Dir(path))
}

// fill writes, syncs and closes a file.
func fill(file File, write func(io.Writer) error, sync func() error) (err error) {
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	if err := write(writer{file}); err != nil {
		return err
	}
	return sync()
}

// writer is a file whose errors do not name it, for the name may be a temporary one.
type writer struct{ file File }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, bare(err)
}

// bare removes operation and path from an error of package os.
func bare(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
