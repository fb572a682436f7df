package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// role is the environment variable by which the test binary becomes another process.
const role = "S4D_TEST_ROLE"

func TestMain(m *testing.M) {
	part, ok := map[string]func(context.Context, []string) error{
		"worker": workerProcess, "coordinator": coordinatorProcess,
	}[os.Getenv(role)]
	if !ok {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := part(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(role)+":", err)
		os.Exit(1)
	}
}

// workerProcess trains for the broker at a URL, with a name and a level. With a fourth argument,
// each of its runs waits in a step.
func workerProcess(ctx context.Context, args []string) error {
	if err := level.Set(args[2]); err != nil {
		return err
	}
	nc, err := Connect(Connection{URL: args[0], Wait: true, Log: slog.Default()})
	if err != nil {
		return err
	}
	w := &Worker{Name: args[1], Load: loadTask, Log: slog.Default()}
	if len(args) > 3 {
		p := &pause{in: bufio.NewReader(os.Stdin)}
		w.Reporter, w.Load = p, p.load
	}
	return w.Run(ctx, nc)
}

// pause is a reporter that holds each run in a step, prints its name, and continues after a line of
// input. The step depends on the seed.
type pause struct {
	in   *bufio.Reader
	name string
	step int
}

func (p *pause) load(ctx context.Context, c train.Config) (*dataset.Dataset, error) {
	p.name, p.step = fmt.Sprintf("ssm.init=%s seed=%d", c.SSM.Init, c.Seed), 4+6*int(c.Seed%4)
	return loadTask(ctx, c)
}

func (p *pause) Begin(now train.Progress) {
	if now.Step > 0 {
		fmt.Println("resumes", p.name)
	}
}

func (p *pause) Step(now train.Progress) {
	if now.Step == p.step {
		fmt.Println("waits", p.name)
		_, _ = p.in.ReadString('\n')
	}
}

func (*pause) Epoch(train.Metrics, bool) {}
func (*pause) End()                      {}

// coordinatorProcess has a sweep trained in a folder, with a number of seeds, and prints the states
// of its runs after each change.
func coordinatorProcess(ctx context.Context, args []string) error {
	nc, err := Connect(Connection{URL: args[0], Log: slog.Default()})
	if err != nil {
		return err
	}
	seeds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	c := &Coordinator{
		Sweep: tiny(&testing.T{}, args[1], seeds, args[3:]...), Lease: 2 * time.Second, Log: slog.Default(),
		Watch: func(all []Status) { _ = out.Encode(all) },
	}
	_, err = c.Run(ctx, nc)
	return err
}

// host is where a process of a test runs: a network namespace, or this machine.
type host struct{ *netns.Host }

// process is a process of a test.
type process struct {
	*exec.Cmd
	stdin io.Writer
	lines <-chan string // of its standard output
	ended <-chan error

	address string // of a NATS server
}

// start starts the test binary as a part of a cluster, until the end of the test.
func (h host) start(t testing.TB, part string, args ...string) *process {
	t.Helper()
	return h.run(t, append([]string{must.Get(os.Executable())(t)}, args...), role+"="+part, "TMPDIR="+t.TempDir()) // killed workers leave folders
}

// startNATS starts a NATS server, and waits until it is ready.
func (h host) startNATS(t testing.TB, args ...string) *process {
	t.Helper()
	program, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("nats-server is not installed (Debian package nats-server): ", err)
	}
	p := h.run(t, append([]string{"sh", "-c", `exec "$@" 2>&1`, program, program}, args...))
	for line := range p.lines {
		if _, address, ok := strings.Cut(line, "client connections on "); ok {
			p.address = address
		}
		if strings.Contains(line, "Server is ready") {
			go func() { // the server waits when the pipe is full
				for range p.lines {
				}
			}()
			return p
		}
	}
	t.Fatal("nats-server ends before it is ready")
	return nil
}

// run starts a program.
func (h host) run(t testing.TB, args []string, env ...string) *process {
	t.Helper()
	if h.Host != nil {
		args = h.Command(args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = t.Output()
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines, ended := make(chan string), make(chan error, 1)
	p := &process{Cmd: cmd, stdin: in, lines: lines, ended: ended}
	closed := make(chan struct{})
	go func() {
		text := bufio.NewScanner(out)
		text.Buffer(nil, 1<<20)
		for text.Scan() {
			select {
			case lines <- text.Text():
			case <-closed:
			}
		}
		close(lines)
		ended <- cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() { close(closed); p.kill() })
	return p
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.Process.Signal(syscall.SIGKILL)
	for lines := p.lines; ; {
		select {
		case _, ok := <-lines: // the process ends when all lines have been read
			if !ok {
				lines = nil
			}
		case <-p.ended:
			return
		}
	}
}
