package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

// SIGTERM saves the streams and ends the process with 0; another process resumes them.
func TestSIGTERM(t *testing.T) {
	checkStop(t, syscall.SIGTERM)
}

// SIGHUP, which a process receives when its terminal closes, does the same. Under nohup, which
// ignores it, the service continues.
func TestSIGHUP(t *testing.T) {
	receiveHangups(t)
	checkStop(t, syscall.SIGHUP)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	p := startCommand(t, exec.Command(shell, "-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0],
		"-listen", "127.0.0.1:0", "-metrics", "127.0.0.1:0", "-model", saveToneModel(t)))
	if runtime.GOOS == "linux" {
		must.Equal(t, ignoresHangup(p), true, "ignores SIGHUP under nohup")
		must.Equal(t, ignoresHangup(startProcess(t, "-model", saveToneModel(t))), false, "ignores SIGHUP without nohup")
	}
	must.Do(t, p.cmd.Process.Signal(syscall.SIGHUP))
	status, _ := p.get(p.address, "/healthz")
	must.Equal(t, status, 200, "status of /healthz after an ignored SIGHUP")
	p.terminate()
	must.Do(t, p.cmd.Wait())
}

// receiveHangups lets a test start processes that do not ignore SIGHUP, even if this process does.
func receiveHangups(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
}

// ignoresHangup reports whether a process on Linux ignores SIGHUP.
func ignoresHangup(p *process) bool {
	p.t.Helper()
	status := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)))(p.t))
	_, rest, _ := strings.Cut(status, "SigIgn:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	signals := must.Get(strconv.ParseUint(mask, 16, 64))(p.t)
	return signals&(1<<(syscall.SIGHUP-1)) != 0
}

// Further SIGHUPs do not end the process while it waits for its clients after the first. The
// streams are saved.
func TestSecondSIGHUP(t *testing.T) {
	receiveHangups(t)
	checkStop(t, syscall.SIGHUP, syscall.SIGHUP)
}

// checkStop ends a service that has a stream with a signal, and resumes the stream with another
// service. It sends more signals during the shutdown, in which the service waits until its client
// reads.
func checkStop(t *testing.T, stop syscall.Signal, more ...syscall.Signal) {
	t.Helper()
	dir, path := t.TempDir(), saveToneModel(t)
	p := startProcess(t, "-snapshots", dir, "-model", path)
	conn := p.stream("mine")
	must.Do(t, p.cmd.Process.Signal(stop))
	for _, s := range more {
		for range 5000 { // so that some arrive while the process handles the first signal
			must.Do(t, p.cmd.Process.Signal(s))
		}
		p.waitForLog("INFO shutting down")
		must.Do(t, p.cmd.Process.Signal(s))
	}
	var last report.Error
	for {
		_, line, err := conn.Read(t.Context())
		if err != nil {
			must.Equal(t, websocket.CloseStatus(err), websocket.StatusServiceRestart, "closed with")
			break
		}
		must.Do(t, json.Unmarshal(line, &last))
	}
	must.Equal(t, last.Code, "shutdown", "the last line is an error")
	must.Do(t, p.cmd.Wait())
	if last.Samples == nil || *last.Samples == 0 {
		t.Fatalf("error line %+v, expected the number of samples", last)
	}
	p = startProcess(t, "-snapshots", dir, "-model", path)
	r := must.Get(http.Post("http://"+p.address+"/v1/streams/mine?format=s16le", "", nil))(t)
	defer r.Body.Close()
	var start report.Start
	must.Do(t, json.NewDecoder(r.Body).Decode(&start))
	if start.Samples == nil || *start.Samples != *last.Samples {
		t.Errorf("start line %+v, expected %d samples", start, *last.Samples)
	}
}

// A process that cannot save a stream exits with 1 and reports how many.
func TestExitCodeOfUnsavedStreams(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "-snapshots", dir, "-model", saveToneModel(t))
	p.stream("mine")
	must.Do(t, os.RemoveAll(dir))
	p.terminate()
	p.waitForLog("streams were not saved: 1 failed")
	p.cmd.Wait()
	must.Equal(t, p.cmd.ProcessState.ExitCode(), 1, "exit code")
}

// A second SIGTERM ends the process at once, while the first still waits for clients.
func TestSecondSIGTERM(t *testing.T) {
	p := startProcess(t, "-grace", "1m", "-model", saveToneModel(t))
	conn, err := net.Dial("tcp", p.address) // net/http waits for its request
	must.Do(t, err)
	defer conn.Close()
	// When this request is served, conn has been accepted.
	if status, _ := p.get(p.address, "/healthz"); status != 200 {
		t.Errorf("/healthz: status %d", status)
	}
	p.terminate()
	p.waitForLog("INFO shutting down")
	p.terminate()
	p.cmd.Wait()
	if s := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, expected SIGTERM", p.cmd.ProcessState)
	}
}
