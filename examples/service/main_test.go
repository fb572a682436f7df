package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// process runs this program with flags and returns its address.
func process(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(os.Args[0], append([]string{"-listen", address}, args...)...)
	cmd.Env = append(os.Environ(), "SERVICE_TEST_MAIN=1")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	until(t, "listening", func() bool {
		answer, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == 200
	})
	return cmd, address
}

// The same with real processes, a real SIGTERM, and the built-in model.
func TestSIGTERM(t *testing.T) {
	dir := t.TempDir()
	cmd, address := process(t, "-snapshots", dir)
	in := &instance{t: t, address: address}
	c := in.dial("/v1/streams/mine")
	c.line()
	c.say(make([]byte, 16000), 1600)
	until(t, "heard", func() bool { return in.metric("s4d_samples_total") == 8000 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got, status := c.rest()
	if got.err == nil || got.err.Code != "shutdown" || *got.err.Samples != 8000 || status != websocket.StatusServiceRestart {
		t.Errorf("%+v, closed with %v", got.err, status)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ends with %v", err)
	}
	_, address = process(t, "-snapshots", dir)
	in = &instance{t: t, address: address}
	if n := in.heardBefore("mine"); n != 8000 {
		t.Errorf("goes on from sample %d, want 8000", n)
	}
}

// Wrong flags end the process with 2, as the flag package's own errors do; what else fails, with 1.
func TestExitCodes(t *testing.T) {
	for args, want := range map[string]int{
		"-threshold 5":         2,
		"-max-streams 0":       2,
		"-max-streams many":    2,
		"words.wav":            2,
		"-model missing":       1,
		"-listen nowhere:what": 1,
	} {
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "SERVICE_TEST_MAIN=1")
		text, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", args, got, want, text)
		}
	}
}

// A second SIGTERM ends the process at once, when the first still waits for a client.
func TestSecondSIGTERM(t *testing.T) {
	cmd, address := process(t, "-grace", "1m")
	conn, err := net.Dial("tcp", address) // which net/http waits for, as it may be about to ask
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := http.Get("http://" + address + "/healthz"); err != nil { // so the one before it was accepted
		t.Fatal(err)
	}
	began := time.Now()
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	for tick := time.Tick(50 * time.Millisecond); ; {
		select {
		case err := <-gone:
			if took := time.Since(began); cmd.ProcessState.Success() || took > 3*time.Second {
				t.Errorf("ended after %v with %v", took, err)
			}
			return
		case <-tick:
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}
