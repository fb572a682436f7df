package filelock

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestTry(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	l := must.Get(Try(path))(t)
	must.Equal(t, l.Locked(), true, "locked")
	must.Reject(Try(path))(t, ErrLocked, dir)
	must.Do(t, l.Close())
	must.Do(t, must.Get(Try(path))(t).Close())
	must.Reject(Try(filepath.Join(dir, "missing", "lock")))(t, "missing")
}
