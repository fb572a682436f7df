package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// TestMain lets a test run this program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("SERVICE_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is this program, running.
type process struct {
	*instance
	cmd *exec.Cmd
	log *bufio.Scanner
}

// startProcess runs this program with flags and waits until it listens.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0"}, args...)...))
}

// startCommand runs a command that starts this program on a free port.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Env = append(os.Environ(), "SERVICE_TEST_MAIN=1")
	r, w, err := os.Pipe()
	must.Do(t, err)
	cmd.Stderr = w
	must.Do(t, cmd.Start())
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		r.Close()
	})
	p := &process{&instance{t: t, client: &http.Client{Transport: &http.Transport{}}}, cmd, bufio.NewScanner(r)}
	_, rest, _ := strings.Cut(p.waitForLog("INFO listening"), " address=")
	p.address, _, _ = strings.Cut(rest, " ")
	return p
}

// waitForLog reads the log up to a line that contains a text and returns that line.
func (p *process) waitForLog(text string) string {
	p.t.Helper()
	for p.log.Scan() {
		if strings.Contains(p.log.Text(), text) {
			return p.log.Text()
		}
	}
	p.t.Fatalf("the log has no %q", text)
	return ""
}

// terminate sends SIGTERM.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// saveToneModel writes the model of two tones to a file.
func saveToneModel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tones.safetensors")
	must.Do(t, toneModel(t, 0).Save(path))
	return path
}

// SIGTERM saves the streams and ends the process with 0; another process resumes them.
func TestSIGTERM(t *testing.T) {
	dir, path := t.TempDir(), saveToneModel(t)
	p := startProcess(t, "-snapshots", dir, "-model", path)
	c := p.dial("/v1/streams/mine")
	c.sendAudio(encode(tonemodel.Words().Samples), 1600)
	for !strings.Contains(c.line(), `"event"`) {
	}
	if busy := p.metric("s4d_busy_seconds_total"); busy <= 0 {
		t.Errorf("s4d_busy_seconds_total is %v", busy)
	}
	p.terminate()
	got, status := c.rest()
	checkLine(t, "SIGTERM", got.err, "shutdown")
	must.Equal(t, status, websocket.StatusServiceRestart, "closed with")
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the process ends with %v", err)
	}
	if got.err.Samples == nil {
		t.Fatalf("error line %+v has no samples, expected their number", got.err)
	}
	if *got.err.Samples == 0 {
		t.Fatal("error line of 0 samples, expected more")
	}
	p = startProcess(t, "-snapshots", dir, "-model", path)
	must.Equal(t, p.position("mine"), *got.err.Samples, "resumes at sample")
}

// When clients open more connections than the process may open files, some are rejected, and
// SIGTERM saves the streams of all others.
func TestFewFileDescriptors(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	p := startCommand(t, exec.Command(shell, "-c", `ulimit -n 120 && exec "$0" "$@"`, os.Args[0],
		"-listen", "127.0.0.1:0", "-snapshots", dir, "-max-per-client", "1000", "-model", saveToneModel(t)))
	words := tonemodel.Words()
	pcm := encode(words.Samples[:words.Tones[0].End+tonemodel.SampleRate])
	var accepted []net.Conn
	const clients = 150
	rejected := 0
	for range clients {
		conn := must.Get(net.Dial("tcp", p.address))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(pcm), pcm)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if strings.Contains(lines.Text(), `"event"`) {
				accepted = append(accepted, conn)
				break
			}
			if strings.Contains(lines.Text(), `"connections"`) {
				rejected++
				conn.Close()
				break
			}
		}
	}
	if len(accepted) == 0 || len(accepted)+rejected != clients {
		t.Errorf("%d accepted, %d rejected, expected %d in total", len(accepted), rejected, clients)
	}
	p.terminate()
	for _, conn := range accepted {
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the process ends with %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != len(accepted) {
		t.Errorf("%d snapshots, expected %d", len(files), len(accepted))
	}
}

// A process that cannot save a stream exits with 1 and reports how many.
func TestExitCodeOfUnsavedStreams(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "-snapshots", dir, "-model", saveToneModel(t))
	c := p.dial("/v1/streams/mine")
	c.sendAudio(encode(tonemodel.Words().Samples), 1600)
	for !strings.Contains(c.line(), `"event"`) {
	}
	must.Do(t, os.Remove(dir))
	p.terminate()
	p.waitForLog("1 of 1 streams were not saved")
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
	if status, _ := p.request("GET", "/healthz", nil); status != 200 {
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

// An invalid flag ends the process with 2, as the flag package does. Any other error ends it with
// 1.
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
			t.Errorf("%s: exit code %d, expected %d: %s", args, got, want, text)
		}
	}
}

// The built-in models serve streams.
func TestBuiltInModel(t *testing.T) {
	for _, name := range []string{"commands", "digits"} {
		m := must.Get(loadModel(name))(t)
		if _, err := newServer(m, events.DefaultsFor(m), defaults()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
