package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a broker or a member.
type process struct {
	name    string
	cmd     *exec.Cmd
	log     *os.File
	metrics string // address of a member's page for Prometheus
	exited  chan struct{}
}

// ready is what a process logs when it serves, with the address of a member's metrics.
var ready = regexp.MustCompile(`Server is ready|INFO serving .*metrics=(\S+)`)

// startTime is how long a process may take until it serves.
const startTime = 30 * time.Second

// start starts a process whose log is a file, and waits until it serves.
func start(ctx context.Context, dir, name string, command ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: exec.Command(command[0], command[1:]...), log: log, exited: make(chan struct{})}
	r, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	serving := make(chan string, 1)
	go func() {
		defer close(p.exited)
		defer log.Close()
		lines := bufio.NewScanner(io.TeeReader(r, log))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if found := ready.FindStringSubmatch(lines.Text()); found != nil {
				select {
				case serving <- found[1]:
				default:
				}
			}
		}
		io.Copy(log, r) // after a line that is too long
		p.cmd.Wait()
	}()
	select {
	case p.metrics = <-serving:
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("%s ended at its start: see %s", strings.Join(command, " "), log.Name())
	case <-time.After(startTime):
		p.kill()
		return nil, fmt.Errorf("%s did not serve after %v: see %s", strings.Join(command, " "), startTime, log.Name())
	case <-ctx.Done():
		p.kill()
		return nil, ctx.Err()
	}
}

// kill ends a process with SIGKILL.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// stop ends a process with SIGTERM.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.exited
}

// cost is what a process has used, and what it holds.
type cost struct {
	cpu            time.Duration
	resident       int64 // bytes
	streams        int
	received, sent float64 // bytes, from and to NATS
	busy           float64 // seconds
	snapshots      float64
}

// cost reads the cost of a process. Linux only: elsewhere it is 0 but for a member's metrics.
func (p *process) cost() (c cost) {
	const ticks = 100 // per second, on every Linux port that Go supports
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if b, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		// The second field is the name in parentheses; utime and stime are fields 14 and 15.
		if fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])); len(fields) > 12 {
			user, _ := strconv.ParseInt(fields[11], 10, 64)
			system, _ := strconv.ParseInt(fields[12], 10, 64)
			c.cpu = time.Duration(user+system) * time.Second / ticks
		}
	}
	if b, err := os.ReadFile("/proc/" + pid + "/statm"); err == nil {
		if fields := strings.Fields(string(b)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			c.resident = pages * int64(os.Getpagesize())
		}
	}
	if p.metrics != "" {
		page := p.page()
		c.streams = int(page["s4d_streams"])
		c.received, c.sent = page["s4d_nats_received_bytes_total"], page["s4d_nats_sent_bytes_total"]
		c.busy, c.snapshots = page["s4d_busy_seconds_total"], page["s4d_snapshots_total"]
	}
	return c
}

// page returns a member's metrics.
func (p *process) page() map[string]float64 {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get("http://" + p.metrics + "/metrics")
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(io.LimitReader(r.Body, 1<<20)); lines.Scan(); {
		if name, value, is := strings.Cut(lines.Text(), " "); is && name != "#" {
			values[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return values
}

// fleet is a broker and members in processes of their own.
type fleet struct {
	dir     string // logs, and the broker's files
	command []string
	broker  *process // nil if it is not one of the fleet's

	mu      sync.Mutex
	members []*process
	started int
}

// addMember starts a member.
func (f *fleet) addMember(ctx context.Context) error {
	f.mu.Lock()
	f.started++
	name := fmt.Sprintf("member-%d", f.started)
	f.mu.Unlock()
	p, err := start(ctx, f.dir, name, f.command...)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, p)
	return nil
}

// killOldest kills the oldest member with SIGKILL, if there is one.
func (f *fleet) killOldest() {
	f.mu.Lock()
	if len(f.members) == 0 { // none could be started
		f.mu.Unlock()
		return
	}
	p := f.members[0]
	f.members = f.members[1:]
	f.mu.Unlock()
	p.kill()
}

// list returns the broker and the members.
func (f *fleet) list() (all []*process) {
	if f.broker != nil {
		all = append(all, f.broker)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(all, f.members...)
}

// close ends all processes, the broker last.
func (f *fleet) close() {
	all := f.list()
	slices.Reverse(all)
	for _, p := range all {
		p.stop()
	}
}
