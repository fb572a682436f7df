//go:build unix

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/filelock"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// One worker at a time uses a folder. A temporary folder is removed at the end, or by the next
// worker if its own was killed. Those of running workers and other folders stay.
func TestWorkerFolder(t *testing.T) {
	dir := t.TempDir()
	named := func() *Worker { return &Worker{Dir: filepath.Join(dir, "named"), Log: logger(t)} }
	closeNamed := must.Get(named().folder())(t)
	must.Reject(named().folder())(t, "another worker uses "+filepath.Join(dir, "named"), "choose another folder")
	closeNamed()
	must.Get(named().folder())(t)()
	must.Equal(t, readFile(t, dir, "named/lock"), "", "lock of a named folder after its end")

	t.Setenv("TMPDIR", filepath.Join(dir, "tmp [1]"))
	names := func() (names []string) {
		for _, e := range must.Get(os.ReadDir(os.TempDir()))(t) {
			names = append(names, e.Name())
		}
		return names
	}
	name := func(s string) string { return temporaryPrefix + s + temporarySuffix() }
	for _, file := range []string{name("killed") + "/lock", name("killed") + "/data/hash/file", name("running") + "/lock", name("other") + "/file", temporaryPrefix + "killed@other/lock"} {
		writeFile(t, os.TempDir(), file, "")
	}
	must.Do(t, os.MkdirAll(filepath.Join(os.TempDir(), name("pipe")), 0o777))
	must.Do(t, syscall.Mkfifo(filepath.Join(os.TempDir(), name("pipe"), lockName), 0o666))
	lock := must.Get(filelock.Try(filepath.Join(os.TempDir(), name("running"), lockName)))(t)
	defer lock.Close()
	w := &Worker{Log: logger(t)}
	closeTemporary := must.Get(w.folder())(t)
	writeFile(t, w.Dir, "data/hash/file", "")
	must.Equal(t, len(names()), 5, "folders during the work")
	second := &Worker{Log: logger(t)}
	must.Get(second.folder())(t)()
	closeTemporary()
	must.Equal(t, strings.Join(names(), " "), strings.Join([]string{temporaryPrefix + "killed@other", name("other"), name("pipe"), name("running")}, " "), "folders at the end")
	must.Equal(t, w.Dir, "", "folder of a worker that has ended")
}
