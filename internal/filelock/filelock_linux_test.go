package filelock

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// lockVariable makes the test program lock a file, whose name is the value, and exit. With
// userVariable it does that as a user without privileges.
const (
	lockVariable = "FILELOCK_TEST_PATH"
	userVariable = "FILELOCK_TEST_USER"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(lockVariable); path != "" {
		runtime.LockOSThread() // strace counts the calls of each thread
		syscall.Umask(0o022)   // package flock compares the file's permissions with those requested
		if os.Getenv(userVariable) != "" {
			if err := syscall.Setuid(65534); err != nil {
				fmt.Print(err)
				return
			}
		}
		l, err := Try(path)
		if err != nil {
			fmt.Print(err)
			return
		}
		fmt.Print("locked ", l.Locked())
		return
	}
	os.Exit(m.Run())
}

// A file system that locks only files that are open for writing, as NFS does, locks. One without
// locks does not, which is no error. All other errors name the file. A file that can be locked when
// open for reading is not opened for writing.
func TestFileSystems(t *testing.T) {
	for _, c := range []struct {
		inject, output string
		writing        bool // whether the file is opened for writing
	}{
		{"", "locked true", false},
		{"error=EBADF:when=1", "locked true", true},
		{"error=EIO:when=1", "locked true", true},
		{"error=ENOLCK", "locked false", false},
		{"error=EOPNOTSUPP", "locked false", false},
		{"error=EBADF", "lock PATH: bad file descriptor", true},
		{"error=EIO", "lock PATH: input/output error", true},
		{"error=EINVAL", "lock PATH: invalid argument", false},
	} {
		dir := t.TempDir()
		path, log := filepath.Join(dir, "lock"), filepath.Join(dir, "log")
		args := []string{"-f", "-o", log, "-e", "trace=openat,flock"}
		if c.inject != "" {
			args = append(args, "-e", "inject=flock:"+c.inject)
		}
		if text, err := exec.Command("strace", append(args, "true")...).CombinedOutput(); err != nil {
			t.Skipf("strace: %v %s", err, bytes.TrimSpace(text))
		}
		cmd := exec.Command("strace", append(args, os.Args[0])...)
		cmd.Env = append(os.Environ(), lockVariable+"="+path)
		output := string(must.Get(cmd.Output())(t))
		must.Equal(t, output, strings.ReplaceAll(c.output, "PATH", path), "output with %q", c.inject)
		opened, injected := false, false
		for line := range strings.Lines(string(must.Get(os.ReadFile(log))(t))) {
			opened = opened || strings.Contains(line, path) && strings.Contains(line, "O_RDWR")
			injected = injected || strings.Contains(line, "(INJECTED)")
		}
		must.Equal(t, opened, c.writing, "the file is opened for writing with %q", c.inject)
		must.Equal(t, injected, c.inject != "", "an error with %q", c.inject)
	}
}

// A file in a folder that cannot be changed, such as that of another user, can be locked.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o444))
	must.Do(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	cmd := exec.Command(must.Get(filepath.Abs(os.Args[0]))(t))
	cmd.Dir = dir // another user can have no access to the folders above
	cmd.Env = append(os.Environ(), lockVariable+"=lock")
	if os.Getuid() == 0 { // whom permissions do not stop
		cmd.Env = append(cmd.Env, userVariable+"=1")
	}
	must.Equal(t, string(must.Get(cmd.Output())(t)), "locked true", "output")
}
