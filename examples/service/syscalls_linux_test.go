package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/straced"
)

// faultyDisk plays streams to three processes in turn. File operations of the second one fail.
type faultyDisk struct {
	t       *testing.T
	model   string // file
	folder  string // of snapshots
	clients []*client
}

// newFaultyDisk plays the beginning of each stream to the first process.
func newFaultyDisk(t *testing.T, model string) *faultyDisk {
	f := &faultyDisk{t, model, t.TempDir(), newClients(t, 4)}
	f.begin()
	return f
}

func (f *faultyDisk) begin() {
	code, log := f.play(nil, 0.4)
	must.Equal(f.t, code, 0, "exit code of the first process: %s", log)
}

// play starts a process, sends it each stream up to a part of its audio, stops it, and returns the
// exit code and the log. The command line begins with prefix.
func (f *faultyDisk) play(prefix []string, part float64) (code int, log string) {
	words := append(slices.Clone(prefix), os.Args[0], "-listen", "127.0.0.1:0", "-metrics", "127.0.0.1:0", "-snapshots", f.folder, "-model", f.model, "-grace", "10m")
	p := tryCommand(f.t, exec.Command(words[0], words[1:]...))
	logged := p.drain()
	if p.address != "" {
		var sent, ended sync.WaitGroup
		var sessions atomic.Int64
		for _, c := range f.clients {
			left := 2
			sent.Add(left)
			progress := func() { sent.Done(); left-- }
			ended.Go(func() {
				c.run(p.address, int(part*float64(len(c.pcm)/2))*2, func() { sessions.Add(1); progress() })
				for left > 0 { // the service has rejected the stream
					progress()
				}
			})
		}
		if part == 1 {
			ended.Wait()
		}
		sent.Wait()
		for sessions.Load() > 0 { // until audio has been processed
			r, err := http.Get("http://" + p.metrics + "/metrics")
			if err != nil { // this connection has the fault
				break
			}
			text, err := io.ReadAll(r.Body)
			if r.Body.Close(); err != nil || !strings.Contains(string(text), "\ns4d_samples_total 0\n") {
				break
			}
		}
		p.terminate()
		ended.Wait()
	}
	p.cmd.Wait()
	<-logged
	return p.cmd.ProcessState.ExitCode(), p.text.String()
}

// fail plays the second part to a process whose files fail, and returns its exit code and log.
func (f *faultyDisk) fail(prefix []string) (code int, log string) {
	for _, c := range f.clients {
		c.faulty = true
	}
	return f.play(prefix, 0.7)
}

// held plays the rest to a process whose files do not fail. It reports whether the second process
// exited with 0 or 1, the last one with 0, and each stream has its events.
func (f *faultyDisk) held(what string, code int) bool {
	for _, c := range f.clients {
		c.faulty = false
	}
	ok := code == 0 || code == 1
	if !ok {
		f.t.Errorf("%s: exit code %d, expected 0 or 1", what, code)
	}
	if last, log := f.play(nil, 1); last != 0 {
		f.t.Errorf("%s: exit code %d of the last process, expected 0: %s", what, last, log)
		ok = false
	}
	for _, c := range f.clients {
		if !c.ended || !slices.Equal(c.got, c.want) {
			f.t.Errorf("%s: %s: ended %v, events %v, expected %v", what, c.name, c.ended, c.got, c.want)
			ok = false
		}
	}
	return ok
}

// reported reports whether a line of the log names a file in the folder and has the cause. Without
// a cause it is true: the service can do without what failed.
func (f *faultyDisk) reported(what, log, cause string) bool {
	for line := range strings.Lines(log) {
		if cause == "" || strings.Contains(line, f.folder) && strings.Contains(line, cause) {
			return true
		}
	}
	f.t.Errorf("%s: the log has no error that names a file in %s with %q: %s", what, f.folder, cause, log)
	return false
}

// A process resumes streams and saves them again, and one of its system calls in the folder of
// snapshots fails. The next process continues each saved stream at the announced sample, and each
// other stream at its previous snapshot or a later one. Without read and write, which would also
// fail on the connections.
func TestServiceSystemCallFails(t *testing.T) {
	if must.RaceEnabled {
		t.Skip("the race detector makes system calls of its own; the test runs without it among the promises")
	}
	model := saveToneModel(t)
	tried, held := straced.Inject(t, []straced.Fault{
		{Call: "fsync", Errno: "EIO", Message: "input/output error", Short: 2}, {Call: "renameat", Errno: "EACCES", Message: "permission denied", Short: 2},
		{Call: "openat", Errno: "ENOSPC", Message: "no space left", Short: 2}, {Call: "unlinkat", Errno: "EACCES", Message: "permission denied", Short: 1},
		{Call: "getdents64", Errno: "EIO", Message: "input/output error", Short: 1},
		// newfstatat has no message: os.Rename ignores a failed Lstat.
		{Call: "newfstatat", Errno: "EIO", Short: 1}, {Call: "close", Errno: "EIO", Short: 1},
	}, func(prefix []string) (string, func(string, straced.Fault) bool) {
		f := newFaultyDisk(t, model)
		code, log := f.fail(prefix)
		return f.folder, func(what string, fault straced.Fault) bool {
			return f.reported(what, log, fault.Message) && f.held(what, code)
		}
	})
	must.Tally(t, "after a system call of a service has failed, the next process continues each stream from its last snapshot", tried, held)
}

// Snapshots exceed the limit of file sizes, or the disk is full. The process exits with 1, and the
// next one continues each stream.
func TestServiceFullDisk(t *testing.T) {
	model := saveToneModel(t)
	tried, held := 0, 0
	check := func(what string, f *faultyDisk, code int) {
		must.Equal(t, code, 1, "%s: exit code", what)
		if tried++; f.held(what, code) {
			held++
		}
	}
	for _, blocks := range []int{0, 1, 2} { // of 512 bytes
		f := newFaultyDisk(t, model)
		code, _ := f.fail([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks)})
		check(fmt.Sprintf("limit of %d blocks", blocks), f, code)
	}
	t.Run("full disk", func(t *testing.T) {
		f := &faultyDisk{t, model, t.TempDir(), newClients(t, 4)}
		mount := func(flags uintptr, pages int) error {
			return syscall.Mount("tmpfs", f.folder, "tmpfs", flags, fmt.Sprintf("size=%d", pages*4096))
		}
		if err := mount(0, 1000); err != nil {
			t.Skipf("mount: %v", err)
		}
		defer syscall.Unmount(f.folder, syscall.MNT_DETACH)
		f.begin()
		pages := 1
		for mount(syscall.MS_REMOUNT, pages) != nil && pages < 1000 { // fewer than are used
			pages++
		}
		code, _ := f.fail(nil)
		must.Do(t, mount(syscall.MS_REMOUNT, 1000))
		check("full disk", f, code)
	})
	must.Tally(t, "a service that cannot write snapshots exits with 1, and the next process continues each stream from its last snapshot", tried, held)
}
