// Package filelock locks files against other processes.
package filelock

import (
	"errors"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrLocked is the error for a file that is locked already, by another process or by this one.
var ErrLocked = errors.New("the file is locked")

// Try locks a file, which it creates if necessary. The system releases the lock of a process that
// ends. On a file system without locks the result is not locked.
func Try(path string) (*flock.Flock, error) {
	l := flock.New(path)
	switch ok, err := l.TryLock(); {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrLocked
	}
	return l, nil
}
