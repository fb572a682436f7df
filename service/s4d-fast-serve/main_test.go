package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// TestMain lets a test run this program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("S4D_TEST_SERVE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is this program, running.
type process struct {
	t                *testing.T
	cmd              *exec.Cmd
	log              *bufio.Scanner
	address, metrics string
}

// startProcess runs this program with flags and waits until it listens.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0", "-metrics", "127.0.0.1:0"}, args...)...))
}

// startCommand runs a command that starts this program on a free port.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Env = append(os.Environ(), "S4D_TEST_SERVE=1")
	log := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	p := &process{t: t, cmd: cmd, log: bufio.NewScanner(log)}
	address := func(line string) string {
		_, rest, _ := strings.Cut(line, " address=")
		address, _, _ := strings.Cut(rest, " ")
		return address
	}
	p.metrics = address(p.waitForLog("INFO serving metrics"))
	p.address = address(p.waitForLog("INFO listening"))
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

// drain reads the rest of the log, for which the process would wait when the pipe is full.
func (p *process) drain() {
	go func() {
		for p.log.Scan() {
		}
	}()
}

// terminate sends SIGTERM.
func (p *process) terminate() {
	p.t.Helper()
	must.Do(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// get returns the status and the body of a GET.
func (p *process) get(address, path string) (int, string) {
	p.t.Helper()
	r := must.Get(http.Get("http://" + address + path))(p.t)
	defer r.Body.Close()
	return r.StatusCode, string(must.Get(io.ReadAll(r.Body))(p.t))
}

// stream starts a stream with seven words and waits for the first.
func (p *process) stream(id string) *websocket.Conn {
	p.t.Helper()
	conn, _, err := websocket.Dial(p.t.Context(), "ws://"+p.address+"/v1/streams/"+id+"?format=s16le", nil)
	must.Do(p.t, err)
	p.t.Cleanup(func() { conn.CloseNow() })
	for block := range slices.Chunk(encode(tonemodel.Words().Samples), 1600) {
		must.Do(p.t, conn.Write(p.t.Context(), websocket.MessageBinary, block))
	}
	for {
		_, line, err := conn.Read(p.t.Context())
		must.Do(p.t, err)
		if strings.Contains(string(line), `"event"`) {
			return conn
		}
	}
}

// encode returns samples as s16le.
func encode(samples []float32) (b []byte) {
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
	}
	return b
}

// saveToneModel writes the model of two tones to a file.
func saveToneModel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tones.safetensors")
	must.Do(t, must.Get(tonemodel.New())(t).Save(path))
	return path
}

// The metrics have the documented names. They and the profiles have an address of their own.
func TestMetrics(t *testing.T) {
	p := startProcess(t, "-model", saveToneModel(t), "-snapshots", t.TempDir())
	defer p.stream("mine").CloseNow()
	p.get(p.address, "/nowhere")
	_, text := p.get(p.metrics, "/metrics")
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		var value float64
		if name, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "s4d_") {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			values[name] = value
		}
	}
	readme := string(must.Get(os.ReadFile("README.md"))(t))
	documented := regexp.MustCompile("`(s4d_[a-z_]+)").FindAllStringSubmatch(readme, -1)
	exists := func(name string) bool {
		for v := range values {
			if base, _, _ := strings.Cut(v, "{"); base == name || base == name+"_count" {
				return true
			}
		}
		return false
	}
	if len(documented) < 8 {
		t.Errorf("README.md documents %d metrics, expected at least 8", len(documented))
	}
	for _, d := range documented {
		if !exists(d[1]) {
			t.Errorf("metric %s does not exist", d[1])
		}
	}
	for name, least := range map[string]float64{
		"s4d_streams": 1, "s4d_stream_bytes": 1, "s4d_samples_total": 1, "s4d_busy_seconds_total": 1e-9,
		"s4d_block_seconds_count": 1, `s4d_events_total{label="low"}`: 1, `s4d_rejected_total{why="request"}`: 1,
	} {
		if values[name] < least {
			t.Errorf("%s is %v, expected at least %v", name, values[name], least)
		}
	}
	for _, c := range []struct {
		address, path string
		status        int
	}{
		{p.metrics, "/metrics", 200}, {p.metrics, "/debug/pprof/goroutine", 200}, {p.metrics, "/v1/streams", 404},
		{p.address, "/metrics", 404}, {p.address, "/debug/pprof/goroutine", 404},
	} {
		status, _ := p.get(c.address, c.path)
		must.Equal(t, status, c.status, "status of %s", c.path)
	}
}

// The flag -wyoming serves wake words beside the streams, and clips are classified.
func TestOtherProtocols(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	must.Do(t, l.Close())
	p := startProcess(t, "-model", saveToneModel(t), "-wyoming", address)
	p.drain()
	conn := must.Get(net.Dial("tcp", address))(t)
	defer conn.Close()
	must.Get(io.WriteString(conn, `{"type":"describe"}`+"\n"))(t)
	in := bufio.NewScanner(conn)
	in.Scan()
	must.Equal(t, strings.HasPrefix(in.Text(), `{"type":"info"`), true, "%s", in.Text())
	r := must.Get(http.Post("http://"+p.address+"/v1/classify", "", strings.NewReader("a text")))(t)
	defer r.Body.Close()
	text := string(must.Get(io.ReadAll(r.Body))(t))
	must.Equal(t, r.StatusCode == 400 && strings.Contains(text, "unknown format"), true, "%d %s", r.StatusCode, text)
}

// An invalid flag ends the process with 2, as the flag package does. Any other error ends it with
// 1.
func TestExitCodes(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		word string
	}{
		"-threshold 5":          {1, "threshold 5"},
		"-max-streams 0":        {1, "s4d-fast-serve: service: MaxStreams 0: expected more than 0"},
		"-max-streams many":     {2, "-max-streams"},
		"words.wav":             {2, "words.wav"},
		"-token-file missing":   {2, "missing"},
		"-token-file /dev/null": {2, "empty"},
		"-snapshots main.go":    {1, "-snapshots"},
		"-snapshots a -nats b":  {1, "-nats cannot be combined with -snapshots"},
		"-nats 127.0.0.1:1":     {1, "-nats"},
		"-model missing":        {1, "missing"},
		"-listen nowhere:what":  {1, "what"},
	} {
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "S4D_TEST_SERVE=1")
		text, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want.code || !strings.Contains(string(text), want.word) {
			t.Errorf("%s: exit code %d, expected %d and %q: %s", args, got, want.code, want.word, text)
		}
	}
}
