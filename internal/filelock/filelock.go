// Package filelock locks files against other processes.
package filelock

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrLocked is the error for a file that is locked already, by another process or by this one.
var ErrLocked = errors.New("the file is locked")

// Try locks a file, which it creates if necessary, until the caller closes the result or the
// process ends. On a file system without locks Try succeeds, and Locked of the result is false.
func Try(path string) (*flock.Flock, error) {
	l := flock.New(path, flock.SetPermissions(0o666))
	switch ok, err := l.TryLock(); {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return l, nil
}
