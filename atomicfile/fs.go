package atomicfile

import (
	"cmp"
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

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// FS is what programs that write files need of a file system. The methods behave as the functions
// of package os with these names. Tests replace it, to lose what was not synced and to let calls
// fail.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	// Follow returns the path of the file, existing or not, that name leads to. This file is not a
	// symbolic link.
	Follow(name string) (string, error)
}

// File is an open file of an FS.
type File interface {
	io.ReadWriteCloser
	Chmod(perm fs.FileMode) error
	Sync() error
}

// OS is the file system of the operating system.
type OS struct{}

// OpenFile opens a file.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File in a File
	}
	return f, nil
}

// Stat describes a file.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir lists a folder.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Mkdir creates a folder.
func (OS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// Rename renames a file and replaces the one that has the name.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file or an empty folder.
func (OS) Remove(name string) error { return os.Remove(name) }

// Follow follows symbolic links.
func (OS) Follow(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		link, err := os.Readlink(path)
		if err != nil { // not a link
			return path, nil
		}
		if !filepath.IsAbs(link) {
			dir, _ := filepath.Split(path) // Dir would simplify LINK/.. to nothing
			link = dir + link
		}
		path = link
	}
	return "", errors.New("too many symbolic links")
}

// Files adds to a file system the operations that outlast a power cut.
type Files struct{ FS }

// System is the file system of the operating system.
func System() Files { return Files{OS{}} }

// Open opens a regular file to read it, or a folder.
func (f Files) Open(name string) (File, error) {
	if info, err := f.Stat(name); err == nil && !info.IsDir() {
		if err := datafile.Regular(name, info); err != nil {
			return nil, err
		}
	}
	return f.OpenFile(name, os.O_RDONLY, 0)
}

// Replace is Write for a file that nobody else chooses: what is there must be a regular file, if
// anything is. To write to a named pipe would wait for a reader.
func (f Files) Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	if info, err := f.Stat(name); err == nil {
		if err := datafile.Regular(name, info); err != nil {
			return err
		}
	}
	return f.Write(name, perm, write)
}

// ErrTooLarge marks a file with more bytes than ReadFile may read.
var ErrTooLarge = errors.New("larger than the limit")

// ReadFile returns the content of a regular file of at most limit bytes. A larger one is an
// ErrTooLarge.
func (f Files) ReadFile(name string, limit int64) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(file, name, limit)
}

// ReadPipe is ReadFile for a file that a user chose, which may be a pipe.
func (f Files) ReadPipe(name string, limit int64) ([]byte, error) {
	file, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return readAll(file, name, limit)
}

func readAll(file File, name string, limit int64) ([]byte, error) {
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w of %d bytes", name, ErrTooLarge, limit)
	}
	return b, err
}

// MkdirAll creates a folder and those above it that are missing. They outlast a power cut. If the
// folder exists, its name is synced, because the process that made it may have been killed before.
func (f Files) MkdirAll(dir string, perm fs.FileMode) error {
	parent := filepath.Dir(dir)
	_, err := f.Stat(dir)
	if parent == dir || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		if err := f.MkdirAll(parent, perm); err != nil {
			return err
		}
		if err := f.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return f.SyncFolder(parent)
}

// RemoveTemporary removes the temporary files that crashed processes left of Write to each of the
// paths. No such Write may be in progress.
func (f Files) RemoveTemporary(paths ...string) error {
	for _, path := range paths {
		path, err := f.Follow(path)
		if err != nil {
			return err
		}
		dir, name := filepath.Split(path)
		files, err := f.ReadDir(cmp.Or(dir, "."))
		if err != nil {
			return err
		}
		for _, file := range files {
			if of, ok := TemporaryOf(file.Name()); !ok || of != shortened(name) || !file.Type().IsRegular() {
				continue
			}
			if err := f.Remove(filepath.Join(dir, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// TemporaryOf reports whether name is that of a temporary file of Write, and returns the name of
// the file that was to be written, whose end is missing if it is long. For other names it returns
// name.
func TemporaryOf(name string) (of string, ok bool) {
	rest, ok := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot <= 0 {
		return name, false
	}
	if _, err := strconv.ParseUint(rest[dot+1:], 10, 32); err != nil {
		return name, false
	}
	return rest[:dot], true
}

// shortened returns a name that leaves room for the end of a temporary file's name in the 255 bytes
// that file systems allow.
func shortened(name string) string {
	if len(name) <= 239 {
		return name
	}
	return strings.ToValidUTF8(name[:239], "")
}

// createTemp creates a file in the folder of path with mode perm, less the umask unless path
// exists.
func (f Files) createTemp(path string, perm fs.FileMode, exists bool) (File, string, error) {
	dir, base := filepath.Split(path)
	for {
		name := fmt.Sprintf("%s%s.%d.tmp", dir, shortened(base), rand.Uint32())
		file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil || !exists:
			return file, name, err
		}
		if err := file.Chmod(perm); err != nil { // the bits that the umask cleared
			file.Close()
			f.Remove(name)
			return nil, "", err
		}
		return file, name, nil
	}
}

// SyncFolder makes the files that were created and renamed in a folder outlast a power cut, where
// the system and the file system can.
func (f Files) SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := f.Open(dir)
	if errors.Is(err, fs.ErrPermission) { // a folder may be writable only
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
