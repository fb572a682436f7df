// Package atomicfile writes files whole or not at all.
//
// A regular file is written under a temporary name in the same folder, synced and renamed, and the
// folder is synced. After a crash or a power cut at any moment the path holds either the old
// content or the new. A crash may leave the temporary file NAME.NUMBER.tmp behind, for
// RemoveTemporary. Devices and pipes are written in place.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Write writes what write produces to the file at path. A new file gets mode perm less the umask.
// An existing file keeps its mode, but neither its owner, its access control list nor its other
// hard links, and needs no permission to be written: only its folder does. A symbolic link stays,
// and the file that it leads to is written. An error names path, and leaves a regular file
// unchanged unless only the folder could not be synced.
func Write(path string, perm fs.FileMode, write func(w io.Writer) error) error {
	var failed error // of write: it may name a file that was read
	err := writeFile(path, perm, func(w io.Writer) error {
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

func writeFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(path, perm, false, write)
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return replace(path, info.Mode().Perm(), true, write)
	}
	// Of a folder this is an error. Some regular files of Windows count as irregular.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return fill(f, write, func() error { return nil })
}

// replace writes the regular file that path leads to. A new one gets mode perm less the umask, and
// one that exists has that mode.
func replace(path string, perm fs.FileMode, exists bool, write func(io.Writer) error) error {
	path, err := follow(path)
	if err != nil {
		return err
	}
	f, err := createTemp(path, perm, exists)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed { // write failed or panicked
			os.Remove(f.Name())
		}
	}()
	if err := fill(f, write, func() error { return sync(f) }); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	renamed = true
	return SyncFolder(filepath.Dir(path))
}

// follow returns the path without symbolic links of the file, existing or not, that path leads to.
func follow(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		dir, name := filepath.Split(path) // Dir would simplify LINK/.. to nothing
		dir, err := filepath.EvalSymlinks(dir + ".")
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(filepath.Join(dir, name))
		switch {
		case err != nil: // not a link
			return filepath.Join(dir, name), nil
		case filepath.IsAbs(link):
			path = link
		default:
			path = dir + string(filepath.Separator) + link
		}
	}
	return "", errors.New("too many symbolic links")
}

// createTemp creates a file in the folder of path with mode perm, less the umask unless path
// exists.
func createTemp(path string, perm fs.FileMode, exists bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s.%d.tmp", path, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil || !exists:
			return f, err
		}
		if err := f.Chmod(perm); err != nil { // the bits that the umask cleared
			f.Close()
			os.Remove(f.Name())
			return nil, err
		}
		return f, nil
	}
}

// RemoveTemporary removes the temporary files that crashed processes left of Write to each of the
// paths. No such Write may be in progress.
func RemoveTemporary(paths ...string) error {
	for _, path := range paths {
		path, err := follow(path)
		if err != nil {
			return err
		}
		dir, name := filepath.Split(path)
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			rest, ours := strings.CutPrefix(f.Name(), name+".")
			number, temporary := strings.CutSuffix(rest, ".tmp")
			_, err := strconv.ParseUint(number, 10, 32)
			if !ours || !temporary || err != nil || !f.Type().IsRegular() {
				continue
			}
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill writes, syncs and closes f.
func fill(f *os.File, write func(io.Writer) error, sync func() error) (err error) {
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if err := write(writer{f}); err != nil {
		return err
	}
	return sync()
}

// writer is a file whose errors do not name it, for the name may be a temporary one.
type writer struct{ file *os.File }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, bare(err)
}

// sync is a variable for a test.
var sync = (*os.File).Sync

// SyncFolder makes the files that were created and renamed in a folder outlast a power cut, where
// the system and the file system can.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) { // a folder may be writable only
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := sync(f); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
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
