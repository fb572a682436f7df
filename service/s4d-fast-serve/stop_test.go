package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
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

// SIGHUP, which a process receives when its terminal closes, does the same, also if a shell sends
// another one. Under nohup, which ignores it, the service continues.
func TestSIGHUP(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // so that processes do not ignore SIGHUP, even if this process does
	defer signal.Stop(hangups)
	checkStop(t, syscall.SIGHUP, syscall.SIGHUP)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	p := startCommand(t, exec.Command(shell, "-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0],
		"-listen", "127.0.0.1:0", "-metrics", "127.0.0.1:0", "-model", saveToneModel(t)))
	must.Do(t, p.cmd.Process.Signal(syscall.SIGHUP))
	status, _ := p.get(p.address, "/healthz")
	must.Equal(t, status, 200, "status of /healthz after an ignored SIGHUP")
	p.terminate()
	must.Do(t, p.cmd.Wait())
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
