package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutSockets is the environment variable by which the system kills the process of the command
// when it opens a socket.
const withoutSockets = "S4D_TEST_WITHOUT_SOCKETS"

func init() {
	if os.Getenv(withoutSockets) != "" {
		beforeCommand = forbidSockets
	}
}

// forbidSockets has the system kill this process when any of its threads calls socket.
func forbidSockets() error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},                             // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 1}, // another one: skip the next line
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	return nil
}

// Only studio opens sockets.
func TestNoSocket(t *testing.T) {
	const small = " --set data.length=64 --set data.delay=16 --set data.train_size=64 --set data.eval_size=64 --set ssm.d_state=8 --set train.epochs=1 --out "
	recording := clip(t, 8000, 2500)
	for _, c := range []struct {
		args    string
		sockets bool
	}{
		{args: "train delay" + small + filepath.Join(t.TempDir(), "run")},
		{args: "sweep delay --set ssm.dt_max=0.1,0.2" + small + t.TempDir()},
		{args: "stream digits " + recording},
		{args: "inspect digits"},
		{args: "version"},
		{args: "studio --dir " + t.TempDir(), sockets: true},
	} {
		cmd := process(t, nil, strings.Fields(c.args)...)
		cmd.Env = append(cmd.Env, withoutSockets+"=1")
		out, err := cmd.CombinedOutput()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.ExitStatus() == noRestriction {
			t.Skipf("no seccomp filters here: %s", out)
		}
		if c.sockets && status.Signal() != syscall.SIGSYS || !c.sockets && err != nil {
			t.Errorf("s4d-fast %s: %v, expected it to open sockets: %v; output: %s", c.args, err, c.sockets, out)
		}
	}
}
