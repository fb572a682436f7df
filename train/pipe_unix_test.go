//go:build unix

package train

import (
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A named pipe in place of a file of a run or sweep, or of its lock, is an error: opening it would
// wait for another program.
func TestPipesInFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{configFile, BestFile, checkpointFile, metricsFile, sweepFile, "lock"} {
		if err := syscall.Mkfifo(filepath.Join(dir, filepath.Base(name)), 0o600); err != nil {
			t.Skip("the file system has no named pipes: ", err)
		}
	}
	files := atomicfile.System()
	r := &Run{Dir: dir, files: files}
	_, err1 := LoadRun(dir)
	_, err2 := r.readModel()
	_, _, err3 := r.readState(filepath.Base(checkpointFile))
	_, err4 := lockFolder(files, dir, "lock")
	_, err5 := ReadSweep(dir)
	for _, err := range []error{err1, err2, err3, err4, err5, r.replace(metricsFile, func(io.Writer) error { return nil })} {
		must.Fail(t, err, "not a regular file", dir)
	}
}
