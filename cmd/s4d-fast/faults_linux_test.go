package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/straced"
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

// program is a command that writes files.
type program struct {
	calls, disk string // the promises for failed system calls and for full disks
	args        func(out string) []string
	// end runs the command again after a fault. text is the output of the failed command. end
	// reports whether the results are those of a command that was not interrupted.
	end func(what, out, text string) bool
}

// programs are a training run and a sweep.
func programs(t *testing.T) []program {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	sweep := func(out string) []string {
		args := trial(out, 1, "--set", "ssm.init=lin,inv")
		args[0] = "sweep"
		return args
	}
	results := func(out string) string {
		text := endOf(t, filepath.Join(out, "ssm.init=lin,seed=1")) + endOf(t, filepath.Join(out, "ssm.init=inv,seed=1"))
		for _, row := range must.Get(csv.NewReader(bytes.NewReader(read(t, filepath.Join(out, "sweep.csv")))).ReadAll())(t) {
			text += fmt.Sprintln(row)
		}
		return text
	}
	out := filepath.Join(scratch(t), "sweep")
	if code, text := runToEnd(t, process(t, nil, sweep(out)...)); code != exitOK {
		t.Fatal(text)
	}
	table := results(out)
	return []program{
		{
			calls: "a run whose system call fails names the file and resumes to the same bits",
			disk:  "a run on a full disk names the file and resumes to the same bits",
			args:  func(out string) []string { return trial(out, epochs) },
			end:   func(what, out, text string) bool { return sameEnd(t, what, out, reported(text), epochs, want) },
		},
		{
			calls: "a sweep whose system call fails names the file and resumes to the same results",
			disk:  "a sweep on a full disk names the file and resumes to the same results",
			args:  sweep,
			end: func(what, out, _ string) bool {
				if code, text := runToEnd(t, process(t, nil, sweep(out)...)); code != exitOK {
					t.Errorf("%s: the sweep cannot be resumed: %s", what, text)
					return false
				}
				if got := results(out); got != table {
					t.Errorf("%s: the resumed sweep has another result:\n%s\nexpected\n%s", what, got, table)
					return false
				}
				return true
			},
		},
	}
}

// Each listed kind of system call that a training run or a sweep makes in its folder fails, in the
// long form at each position.
func TestSystemCallFails(t *testing.T) {
	faults := []straced.Fault{
		{Call: "fsync", Errno: "EIO", Message: "input/output error", Short: 4}, {Call: "fsync", Errno: "ENOSPC", Message: "no space left", Short: 1},
		{Call: "renameat", Errno: "EACCES", Message: "permission denied", Short: 2}, {Call: "renameat", Errno: "ENOSPC", Message: "no space left", Short: 1},
		{Call: "openat", Errno: "EMFILE", Message: "too many open files", Short: 2}, {Call: "openat", Errno: "ENOSPC", Message: "no space left", Short: 1},
		{Call: "write", Errno: "ENOSPC", Message: "no space left", Short: 2}, {Call: "write", Errno: "EIO", Message: "input/output error", Short: 1},
		{Call: "mkdirat", Errno: "ENOSPC", Message: "no space left", Short: 2}, {Call: "fchmod", Errno: "EPERM", Message: "not permitted", Short: 1},
		{Call: "flock", Errno: "ENOLCK", Short: 1}, {Call: "getdents64", Errno: "EIO", Message: "input/output error", Short: 1},
		{Call: "newfstatat", Errno: "EIO", Short: 1}, {Call: "readlinkat", Errno: "EIO", Short: 1}, {Call: "linkat", Errno: "EPERM", Short: 1},
		{Call: "unlinkat", Errno: "EACCES", Short: 1}, {Call: "close", Errno: "EIO", Short: 1},
	}
	for _, p := range programs(t) {
		tried, held := straced.Inject(t, faults, func(prefix []string) (string, func(string, straced.Fault) bool) {
			dir := scratch(t)
			out := filepath.Join(dir, "out")
			code, text := runToEnd(t, process(t, prefix, p.args(out)...))
			return out, func(what string, f straced.Fault) bool {
				return failed(t, what, dir, code, text, f.Message) && p.end(what, out, text)
			}
		})
		must.Tally(t, p.calls, tried, held)
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

// The disk is full after a number of pages.
func TestFullDisk(t *testing.T) {
	for _, p := range programs(t) {
		cases, tried, held := must.Cases(5, 24), 0, 0
		for i := range cases {
			dir, pages := t.TempDir(), 1+i*24/cases
			mount(t, "tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", pages*4096))
			out := filepath.Join(dir, "out")
			code, text := runToEnd(t, process(t, nil, p.args(out)...))
			if code == exitOK {
				break // enough space
			}
			tried++
			what := fmt.Sprintf("%s: %d pages", p.disk, pages)
			mount(t, "tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m")
			if failed(t, what, out, code, text, "no space left") && p.end(what, out, text) {
				held++
			}
		}
		must.Tally(t, p.disk, tried, held)
	}
}

// A limit of the size of files ends a run at each file that is larger than those before it. With 7
// blocks this is a checkpoint after the first one. The best model is smaller than a checkpoint.
func TestFileSizeLimit(t *testing.T) {
	const epochs, config, checkpoint, log = 30, "config.toml", "last/checkpoint.safetensors", "metrics.jsonl"
	want, _ := uninterrupted(t, epochs)
	tried, held := 0, 0
	for _, c := range []struct {
		blocks int // of 512 bytes
		file   string
	}{{0, config}, {1, config}, {4, checkpoint}, {7, checkpoint}, {8, log}, {12, log}, {32, "delay.png"}} {
		out := filepath.Join(scratch(t), "run")
		code, text := runToEnd(t, process(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, c.blocks)}, trial(out, epochs)...))
		tried++
		what := fmt.Sprintf("limit of %d blocks", c.blocks)
		if failed(t, what, filepath.Join(out, filepath.FromSlash(c.file)), code, text, "file too large") && sameEnd(t, what, out, reported(text), epochs, want) {
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
		if sameEnd(t, what, now, reported(text), epochs, want) {
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
		if failed(t, "removed", out, code, text.String(), "no such file") && sameEnd(t, "removed", out, 0, 2, want) {
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

// The disk is copied at a moment of a run, as after a power cut. ext4 replays its journal on the
// copy, and the run resumes from the files that are in it.
func TestDiskImage(t *testing.T) {
	const long = 1 << 20 // epochs
	uninterrupted(t, 1)
	dir := scratch(t)
	image, mounted, copies := filepath.Join(dir, "image"), t.TempDir(), t.TempDir()
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
	random := rand.New(rand.NewPCG(1, 2))
	listing := func() (text string) { // the files of the checkpoint, with temporary ones
		files, _ := os.ReadDir(filepath.Join(mounted, "run", "last"))
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				text += fmt.Sprintln(f.Name(), info.Size(), info.ModTime())
			}
		}
		return text
	}
	var steps []any
	for i := range cases {
		steps = append(steps, fmt.Sprintf("epoch=%d ", 1+12*i), func() {
			began := time.Now()
			for before, changes := listing(), random.IntN(40); changes > 0; { // a step makes several
				if time.Since(began) > time.Minute {
					t.Fatalf("copy %d: the run does not change its checkpoint", i)
				}
				if now := listing(); now != before {
					before, changes = now, changes-1
				}
			}
			must.Do(t, cmd.Process.Signal(syscall.SIGSTOP)) // in the middle of any step
			images = append(images, filepath.Join(copies, fmt.Sprint("copy", i)))
			// The run is suspended, but the kernel may still write. If two successive copies are
			// equal, the image had this content at a moment between them.
			var content []byte
			for again := read(t, image); !bytes.Equal(again, content); again = read(t, image) {
				content = again
			}
			must.Do(t, os.WriteFile(images[i], content, 0o600))
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
		replayed := t.TempDir()
		must.Do(t, os.CopyFS(replayed, os.DirFS(filepath.Join(again, "run"))))
		must.Do(t, exec.Command("umount", again).Run())
		must.Get(os.Stat(filepath.Join(replayed, "last", "checkpoint.safetensors")))(t)
		epochs := strings.Count(string(read(t, filepath.Join(replayed, "metrics.jsonl"))), "\n") + 2
		want, _ := uninterrupted(t, epochs)
		logged := 4 * (1 + 12*i) // steps, when the copy was requested
		if sameEnd(t, fmt.Sprint("copy ", i), replayed, logged, epochs, want) {
			held++
		}
	}
	must.Tally(t, "a run on ext4 resumes to the same bits after a power cut", cases, held)
}
