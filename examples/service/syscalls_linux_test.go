package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/straced"
)

// faultyDisk plays streams to three processes, one after another. The files of the second one fail.
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

func (f *faultyDisk) begin() { must.Equal(f.t, f.play(nil, 0.4), 0, "exit code of the first process") }

// play starts a process by the words of a command line that begin with before, sends it a part of
// each stream, and stops it. It returns the exit code.
func (f *faultyDisk) play(before []string, part float64) int {
	words := append(slices.Clone(before), os.Args[0], "-listen", "127.0.0.1:0", "-metrics", "127.0.0.1:0", "-snapshots", f.folder, "-model", f.model, "-grace", "10m")
	p := tryCommand(f.t, exec.Command(words[0], words[1:]...))
	p.drain()
	if p.address != "" {
		var sent, ended sync.WaitGroup
		for _, c := range f.clients {
			left := 2
			sent.Add(left)
			progress := func() { sent.Done(); left-- }
			ended.Go(func() {
				c.run(p.address, int(part*float64(len(c.pcm)/2))*2, progress)
				for left > 0 { // the service has rejected the stream
					progress()
				}
			})
		}
		if part == 1 {
			ended.Wait()
		}
		sent.Wait()
		for range 10_000 { // until audio has been processed, unless all streams were rejected
			if _, text := p.get(p.metrics, "/metrics"); !strings.Contains(text, "\ns4d_samples_total 0\n") {
				break
			}
		}
		p.terminate()
		ended.Wait()
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// fail plays the second part to a process whose files fail, and returns its exit code.
func (f *faultyDisk) fail(before []string) int {
	for _, c := range f.clients {
		c.faulty = true
	}
	return f.play(before, 0.7)
}

// held plays the rest to a process whose files do not fail. It reports whether the second one has
// ended with a documented exit code, and each stream has its events.
func (f *faultyDisk) held(what string, code int) bool {
	for _, c := range f.clients {
		c.faulty = false
	}
	ok := code == 0 || code == 1
	if !ok {
		f.t.Errorf("%s: exit code %d, expected 0 or 1", what, code)
	}
	must.Equal(f.t, f.play(nil, 1), 0, "%s: exit code of the last process", what)
	for _, c := range f.clients {
		if !c.ended || !slices.Equal(c.got, c.want) {
			f.t.Errorf("%s: %s: ended %v, events %v, expected %v", what, c.name, c.ended, c.got, c.want)
			ok = false
		}
	}
	return ok
}

// A process resumes streams and saves them again, and one of its system calls in the folder of
// snapshots fails. Another process continues each stream: where the first one has announced, if it
// has saved the stream.
func TestServiceSystemCallFails(t *testing.T) {
	model := saveToneModel(t)
	tried, held := straced.Each(t, []straced.Fault{
		{Call: "fsync", Number: "EIO", Short: 2}, {Call: "renameat", Number: "EACCES", Short: 2}, {Call: "openat", Number: "ENOSPC", Short: 2},
		{Call: "getdents64", Number: "EIO", Short: 1}, {Call: "newfstatat", Number: "EIO", Short: 1}, {Call: "close", Number: "EIO", Short: 1},
	}, func(before []string) (string, func(string, straced.Fault) bool) {
		f := newFaultyDisk(t, model)
		code := f.fail(before)
		return f.folder, func(what string, _ straced.Fault) bool { return f.held(what, code) }
	})
	must.Tally(t, "a service whose system call fails continues each stream where it was last saved", tried, held)
}

// Snapshots exceed the limit of file sizes, or the disk is full. The process fails with 1, and
// another one continues each stream.
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
		code := f.fail([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks)})
		check(fmt.Sprintf("limit of %d blocks", blocks), f, code)
	}
	f := &faultyDisk{t, model, t.TempDir(), newClients(t, 4)}
	mount := func(flags uintptr, pages int) error {
		return syscall.Mount("tmpfs", f.folder, "tmpfs", flags, fmt.Sprintf("size=%d", pages*4096))
	}
	if err := mount(0, 1000); err != nil {
		t.Logf("a full disk is not tested: mount: %v", err)
	} else {
		defer syscall.Unmount(f.folder, syscall.MNT_DETACH)
		f.begin()
		pages := 1
		for mount(syscall.MS_REMOUNT, pages) != nil { // fewer than are used
			pages++
		}
		code := f.fail(nil)
		must.Do(t, mount(syscall.MS_REMOUNT, 1000))
		check("full disk", f, code)
	}
	must.Tally(t, "a service on a full disk exits with 1 and continues each stream where it was last saved", tried, held)
}
