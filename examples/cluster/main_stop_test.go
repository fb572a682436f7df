package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// stopVariable makes the test program call stopOnSignal.
const stopVariable = "CLUSTER_TEST_STOP"

// stopOnSignal prints whether the process ignores SIGHUP, waits until a signal ends the context of
// notifyContext, and then until standard input ends.
func stopOnSignal() {
	ctx := notifyContext()
	fmt.Println("ignored", signal.Ignored(syscall.SIGHUP))
	<-ctx.Done()
	fmt.Println("stopping")
	io.Copy(io.Discard, os.Stdin)
}

// SIGHUP, which a process receives when its terminal closes, ends a member as SIGTERM does. Further
// SIGHUPs change nothing, and a second SIGTERM ends the process at once. Under nohup a
// member ignores SIGHUP.
func TestHangup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals")
	}
	hangups := make(chan os.Signal, 1) // if this process ignores SIGHUP, the members must not inherit that
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, c := range []struct {
		nohup         bool
		first, second syscall.Signal
		ends          bool // at the second signal
	}{
		{false, syscall.SIGHUP, syscall.SIGHUP, false},
		{false, syscall.SIGTERM, syscall.SIGHUP, false},
		{false, syscall.SIGHUP, syscall.SIGTERM, true},
		{true, syscall.SIGTERM, syscall.SIGHUP, false},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		if c.nohup {
			cmd = exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0])
		}
		cmd.Env = append(os.Environ(), stopVariable+"=1")
		input, output := must.Get(cmd.StdinPipe())(t), bufio.NewScanner(must.Get(cmd.StdoutPipe())(t))
		must.Do(t, cmd.Start())
		line := func(want string) {
			t.Helper()
			output.Scan()
			must.Equal(t, output.Text(), want, "line for %+v", c)
		}
		line(fmt.Sprint("ignored ", c.nohup))
		must.Do(t, cmd.Process.Signal(c.first))
		if c.second == syscall.SIGHUP {
			for range 5000 { // so that some arrive while the process handles the first signal
				must.Do(t, cmd.Process.Signal(syscall.SIGHUP))
			}
		}
		line("stopping")
		must.Do(t, cmd.Process.Signal(c.second))
		if !c.ends {
			input.Close()
		}
		cmd.Wait()
		must.Equal(t, cmd.ProcessState.Success(), !c.ends, "%+v: success of a process that ended with %v", c, cmd.ProcessState)
	}
}
