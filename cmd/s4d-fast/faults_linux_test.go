package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// failed checks the end of a run whose files could not be written: exit code 1, and an error that
// names a file of the run and has the cause. Without a cause the exit code 0 is allowed: the run
// can do without what failed.
func failed(t *testing.T, what, out string, code int, text, cause string) bool {
	t.Helper()
	if code == exitOK && cause == "" {
		return true
	}
	if code != exitFailed || !strings.Contains(text, out) || !strings.Contains(text, cause) {
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

// Each listed kind of system call that a training run makes in its folder fails, in the long form
// at each position. strace counts the calls of each thread. Each kind must fail at least once.
func TestSystemCallFails(t *testing.T) {
	const epochs, attempts = 2, 2 // attempts at a position
	want, _ := uninterrupted(t, epochs)
	trace := func(inject string) (out, log, text string, code int) {
		dir := scratch(t)
		out, log = filepath.Join(dir, "run"), filepath.Join(dir, "log")
		before := []string{"strace", "-f", "-y", "-s", "0", "-o", log, "-e", "trace=%file,%desc"}
		if inject != "" {
			before = append(before, "-e", "inject="+inject)
		}
		code, text = runToEnd(t, process(t, before, trial(out, epochs)...))
		return out, string(read(t, log)), text, code
	}
	if text, err := exec.Command("strace", "-f", "-e", "trace=none", "-e", "inject=fsync:error=EIO:when=1", "true").CombinedOutput(); err != nil {
		t.Skipf("strace: %v %s", err, bytes.TrimSpace(text))
	}
	out, log, _, _ := trace("")
	positions := callsIn(log, out)
	tried, held := 0, 0
	for _, fault := range []struct {
		call, number, cause string
		short               int // cases of the short form
	}{
		{"fsync", "EIO", "input/output error", 4}, {"fsync", "ENOSPC", "no space left", 1},
		{"renameat", "EACCES", "permission denied", 2}, {"renameat", "ENOSPC", "no space left", 1},
		{"openat", "EMFILE", "too many open files", 2}, {"openat", "ENOSPC", "no space left", 1},
		{"write", "ENOSPC", "no space left", 2}, {"write", "EIO", "input/output error", 1},
		{"mkdirat", "ENOSPC", "no space left", 2}, {"fchmod", "EPERM", "not permitted", 1}, {"flock", "ENOLCK", "", 1},
		{"getdents64", "EIO", "input/output error", 1}, {"newfstatat", "EIO", "", 1}, {"readlinkat", "EIO", "", 1},
		{"linkat", "EPERM", "", 1}, {"unlinkat", "EACCES", "", 1}, {"close", "EIO", "", 1},
	} {
		places := positions[fault.call]
		if len(places) == 0 {
			t.Errorf("the run makes no call of %s in its folder", fault.call)
		}
		n, made := must.Cases(min(fault.short, len(places)), len(places)), 0
		for i := range n { // one position of each nth that can fail, from its middle: the first ones often cannot
			part := places[i*len(places)/n : (i+1)*len(places)/n]
			for k := range attempts * len(part) {
				inject := fmt.Sprintf("%s:error=%s:when=%d", fault.call, fault.number, part[(len(part)/2+k/attempts)%len(part)])
				out, log, text, code := trace(inject)
				if !failsInside(log, out) {
					continue
				}
				made++
				if failed(t, inject, filepath.Dir(filepath.Dir(out)), code, text, fault.cause) && sameEnd(t, inject, out, epochs, want) {
					held++
				}
				break
			}
		}
		t.Logf("%s %s: %d cases, of %d positions", fault.call, fault.number, made, len(places))
		if made == 0 {
			t.Errorf("%s fails with %s at none of the positions %v", fault.call, fault.number, places)
		}
		tried += made
	}
	must.Tally(t, "a run whose system call fails names the file and resumes to the same bits", tried, held)
}

// failsInside reports whether strace has made calls fail, all of them in a folder. Otherwise no
// thread has made so many calls, or another file has failed too: the system divides the calls
// differently among the threads in each run.
func failsInside(log, dir string) bool {
	failures, inside, began := 0, 0, map[string]string{}
	for line := range strings.Lines(log) {
		thread, call, _ := strings.Cut(line, " ")
		if strings.Contains(call, " resumed>") { // the rest of a call that another thread interrupted
			call = began[thread] + call
		}
		began[thread] = call
		if strings.Contains(call, "(INJECTED)") {
			failures++
			if strings.Contains(call, dir) {
				inside++
			}
		}
	}
	return failures > 0 && inside == failures
}

// callsIn returns the positions of system calls that name a path, among the calls of this name of
// the same thread, from the output of strace -f -y.
func callsIn(log, path string) map[string][]int {
	count, positions := map[string]int{}, map[string][]int{}
	for line := range strings.Lines(log) {
		thread, rest, _ := strings.Cut(line, " ")
		call, _, ok := strings.Cut(strings.TrimSpace(rest), "(")
		if !ok || strings.ContainsAny(call, " <+-") {
			continue // the end of a call, or a signal
		}
		count[thread+" "+call]++
		if n := count[thread+" "+call]; strings.Contains(line, path) && !slices.Contains(positions[call], n) {
			positions[call] = append(positions[call], n)
		}
	}
	for _, list := range positions {
		slices.Sort(list)
	}
	return positions
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

// The disk is full after a number of pages.
func TestFullDisk(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	cases, tried, held := must.Cases(5, 24), 0, 0
	for i := range cases {
		dir := t.TempDir()
		mount(t, "tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", (1+i*24/cases)*4096))
		out := filepath.Join(dir, "run")
		code, text := runToEnd(t, process(t, nil, trial(out, epochs)...))
		if code == exitOK {
			break // enough space
		}
		tried++
		what := fmt.Sprintf("size %d", i)
		mount(t, "tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m")
		if failed(t, what, out, code, text, "no space left") && sameEnd(t, what, out, epochs, want) {
			held++
		}
	}
	must.Tally(t, "a run on a full disk names the file and resumes to the same bits", tried, held)
}

// A limit of the size of files ends a run.
func TestFileSizeLimit(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	tried, held := 0, 0
	for blocks := 0; blocks < 64; blocks = max(1, 2*blocks) { // of 512 bytes
		out := filepath.Join(scratch(t), "run")
		code, text := runToEnd(t, process(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks)}, trial(out, epochs)...))
		if code == exitOK {
			continue
		}
		tried++
		what := fmt.Sprintf("limit of %d blocks", blocks)
		if failed(t, what, out, code, text, "file too large") && sameEnd(t, what, out, epochs, want) {
			held++
		}
	}
	must.Tally(t, "a run that exceeds the limit of file sizes names the file and resumes to the same bits", tried, held)
}

// The run folder is moved away, is removed, or becomes read-only, while the run writes to it.
func TestFolderGone(t *testing.T) {
	const long = 1 << 20 // epochs
	tried, held := 0, 0
	check := func(t *testing.T, what, out, now string, code int, text, cause string) {
		tried++
		if code == exitOK || !failed(t, what, out, code, text, cause) {
			t.Errorf("%s: exit code %d: %s", what, code, text)
			return
		}
		epochs := strings.Count(string(read(t, filepath.Join(now, "metrics.jsonl"))), "\n") + 2
		want, _ := uninterrupted(t, epochs)
		if sameEnd(t, what, now, epochs, want) {
			held++
		}
	}
	uninterrupted(t, 1)
	t.Run("moved", func(t *testing.T) {
		out := filepath.Join(scratch(t), "run")
		cmd := process(t, nil, trial(out, long)...)
		text := atWord(t, cmd, "epoch=2 ", func() { must.Do(t, os.Rename(out, out+"-moved")) })
		check(t, "moved", out, out+"-moved", stopped(t, cmd), text.String(), "no such file")
	})
	t.Run("removed", func(t *testing.T) {
		out := filepath.Join(scratch(t), "run")
		cmd := process(t, nil, trial(out, long)...)
		text := atWord(t, cmd, "epoch=2 ", func() {
			for { // the run creates files meanwhile
				if err := os.RemoveAll(out); err == nil {
					return
				} else if !errors.Is(err, syscall.ENOTEMPTY) {
					t.Fatal(err)
				}
			}
		})
		code := stopped(t, cmd)
		tried++
		if _, err := os.Stat(out); err == nil {
			t.Error("removed: the run made its folder again")
		}
		want, _ := uninterrupted(t, 2)
		if failed(t, "removed", out, code, text.String(), "no such file") && sameEnd(t, "removed", out, 2, want) {
			held++
		}
	})
	t.Run("read-only", func(t *testing.T) {
		dir := t.TempDir()
		mount(t, "tmpfs", dir, "tmpfs", 0, "size=16m")
		out := filepath.Join(dir, "run")
		cmd := process(t, nil, trial(out, long)...)
		text := atWord(t, cmd, "epoch=2 ", func() {
			for { // busy while a file is open for writing
				err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=16m")
				if err != syscall.EBUSY {
					must.Do(t, err)
					return
				}
			}
		})
		code := stopped(t, cmd)
		mount(t, "tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m")
		check(t, "read-only", out, out, code, text.String(), "read-only file system")
	})
	must.Tally(t, "a run whose folder is moved, is removed or becomes read-only names the file and can be resumed, or run again, to the same bits", tried, held)
}

// The disk's content at a moment of a run, on which the file system replays its journal.
func TestDiskImage(t *testing.T) {
	const long = 1 << 20 // epochs
	uninterrupted(t, 1)
	dir := scratch(t)
	image, mounted := filepath.Join(dir, "image"), t.TempDir()
	must.Do(t, os.WriteFile(image, nil, 0o600))
	must.Do(t, os.Truncate(image, 8<<20))
	for _, line := range []string{"mkfs.ext4 -q -F " + image, "mount -o loop " + image + " " + mounted} {
		words := strings.Fields(line)
		if text, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", words[0], err, bytes.TrimSpace(text))
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", mounted).Run() })
	cases, held := must.Cases(2, 20), 0
	var images []string
	cmd := process(t, nil, trial(filepath.Join(mounted, "run"), long)...)
	var steps []any
	for i := range cases {
		steps = append(steps, fmt.Sprintf("epoch=%d ", 1+3*i), func() {
			must.Do(t, cmd.Process.Signal(syscall.SIGSTOP)) // in the middle of any step
			images = append(images, filepath.Join(dir, fmt.Sprint("copy", i)))
			must.Do(t, os.WriteFile(images[i], read(t, image), 0o600))
			if i == cases-1 {
				_ = cmd.Process.Kill()
			}
			must.Do(t, cmd.Process.Signal(syscall.SIGCONT))
		})
	}
	atWord(t, cmd, steps...)
	stopped(t, cmd)
	must.Equal(t, len(images), cases, "copies")
	for i, copied := range images {
		again := t.TempDir()
		if text, err := exec.Command("mount", "-o", "loop", copied, again).CombinedOutput(); err != nil {
			t.Fatalf("mount of a copy: %v: %s", err, text)
		}
		out := filepath.Join(again, "run")
		must.Get(os.Stat(filepath.Join(out, "last", "checkpoint.safetensors")))(t)
		epochs := strings.Count(string(read(t, filepath.Join(out, "metrics.jsonl"))), "\n") + 2
		want, _ := uninterrupted(t, epochs)
		if sameEnd(t, fmt.Sprint("copy ", i), out, epochs, want) {
			held++
		}
		must.Do(t, exec.Command("umount", again).Run())
	}
	must.Tally(t, "a run on ext4 resumes to the same bits after a power cut", cases, held)
}
