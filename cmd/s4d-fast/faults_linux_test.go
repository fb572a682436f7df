package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// failed checks the end of a run whose files could not be written: exit code 1, and an error of one
// line that names a file of the run and has the cause. Other output has the path too. Without a
// cause the exit code 0 is allowed: the run can do without what failed.
func failed(t *testing.T, what, out string, code int, text, cause string) bool {
	t.Helper()
	if code == exitOK && cause == "" {
		return true
	}
	names := false
	for line := range strings.Lines(text) {
		line, isError := strings.CutPrefix(line, "s4d-fast: ")
		names = names || isError && strings.Contains(line, out) && strings.Contains(line, cause)
	}
	if code != exitFailed || !names {
		t.Errorf("%s: exit code %d, expected %d and an error that names a file in %s with %q: %s", what, code, exitFailed, out, cause, text)
		return false
	}
	return true
}

// runToEnd runs a process to its end.
func runToEnd(t *testing.T, cmd *exec.Cmd) (code int, text string) {
	t.Helper()
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	must.Do(t, cmd.Start())
	code = stopped(t, cmd)
	return code, all.String()
}

// A system call that a run makes only in its folder fails, the first time in a thread, the second
// time and so on. The run names the file, and resumes to the same bits.
func TestSystemCallFails(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	log := filepath.Join(t.TempDir(), "log")
	for _, f := range []struct{ call, errno, cause string }{
		{"fsync", "EIO", "input/output error"}, {"renameat", "EACCES", "permission denied"},
		{"mkdirat", "ENOSPC", "no space left"}, {"flock", "ENOLCK", ""},
	} {
		n := 1
		for ; n <= must.Cases(2, 100); n++ {
			what := fmt.Sprintf("inject=%s:error=%s:when=%d", f.call, f.errno, n)
			strace := []string{"strace", "-D", "-f", "-o", log, "-e", "trace=" + f.call, "-e", what}
			if text, err := exec.Command(strace[0], append(strace[1:], "true")...).CombinedOutput(); err != nil {
				t.Skipf("strace: %v %s", err, bytes.TrimSpace(text))
			}
			out := filepath.Join(scratch(t), "out")
			code, text := runToEnd(t, process(t, strace, trial(out, epochs)...))
			if !bytes.Contains(read(t, log), []byte("(INJECTED)")) {
				break // fewer calls
			}
			if failed(t, what, filepath.Dir(filepath.Dir(out)), code, text, f.cause) {
				sameEnd(t, what, out, reported(text), epochs, want)
			}
		}
		if n == 1 {
			t.Errorf("the run makes no call of %s", f.call)
		}
	}
}

// mount mounts a file system in a folder, or changes it, and skips the test where this is not
// allowed.
func mount(t *testing.T, source, dir, kind string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount(source, dir, kind, flags, options); err != nil {
		t.Skipf("mount %s: %v", kind, err)
	}
	if flags&syscall.MS_REMOUNT == 0 {
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
}

// The disk is full after a number of pages. The run names the file, and resumes to the same bits
// when there is space.
func TestFullDisk(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	cases := must.Cases(5, 24)
	for i := range cases {
		dir, pages := t.TempDir(), 1+i*24/cases
		mount(t, "tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", pages*4096))
		out := filepath.Join(dir, "out")
		code, text := runToEnd(t, process(t, nil, trial(out, epochs)...))
		if code == exitOK {
			return // enough space
		}
		what := fmt.Sprintf("%d pages", pages)
		mount(t, "tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m")
		if failed(t, what, out, code, text, "no space left") {
			sameEnd(t, what, out, reported(text), epochs, want)
		}
	}
}
