// Package filelock locks files against other processes.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// ErrLocked is the error for a file that is locked already, by another process or by this one.
var ErrLocked = errors.New("the file is locked")

// Lock is the result of Try.
type Lock = flock.Flock

// Try locks a file, which it creates if necessary, until the caller closes the result or the
// process ends. An ErrLocked names the file's folder. On a file system without locks Try succeeds,
// and Locked of the result is false.
func Try(path string) (*Lock, error) {
	if err := datafile.Free(path); err != nil {
		return nil, fmt.Errorf("lock %w", err)
	}
	l := flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(os.O_CREATE|os.O_RDWR)) // NFS locks only files that are open for writing
	ok, err := l.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !ok:
		return nil, fmt.Errorf("another process uses %s: wait until it ends, or choose another folder%.0w", filepath.Dir(path), ErrLocked)
	}
	return l, nil
}
