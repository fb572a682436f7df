// Package filelock locks files against other processes.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrLocked is the error for a file that is locked already, by another process or by this one.
var ErrLocked = errors.New("the file is locked")

// Lock is the result of Try.
type Lock = flock.Flock

// Try locks a file, which it creates if necessary, until the caller closes the result or the
// process ends. On a file system without locks Try succeeds, and Locked of the result is false. The
// file may be read-only, except on NFS, which locks only files that are open for writing.
func Try(path string) (*Lock, error) {
	l := flock.New(path, flock.SetPermissions(0o666))
	ok, err := l.TryLock()
	if errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EIO) {
		// NFS reports these for a file that is open for reading. The package flock opens it for
		// writing only if the umask has removed none of the permissions.
		l = flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(os.O_CREATE|os.O_RDWR))
		ok, err = l.TryLock()
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
	case err != nil:
		if _, has := errors.AsType[*fs.PathError](err); !has {
			err = &fs.PathError{Op: "lock", Path: path, Err: err}
		}
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return l, nil
}
