package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// hosts are network namespaces that a bridge connects. The bridge has a namespace of its own.
type hosts struct {
	t   *testing.T
	hub string
}

// newHosts skips the test if the system does not allow namespaces.
func newHosts(t *testing.T) *hosts {
	t.Helper()
	h := &hosts{t, fmt.Sprintf("s4d-%d-hub", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", h.hub).CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not allowed: ip netns add: %v %s", err, out)
	}
	t.Cleanup(func() { h.ip("netns", "delete", h.hub) })
	h.ip("-n", h.hub, "link", "add", "br0", "type", "bridge")
	h.ip("-n", h.hub, "address", "add", "10.77.0.1/24", "dev", "br0")
	h.ip("-n", h.hub, "link", "set", "br0", "up")
	return h
}

func (h *hosts) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// add adds host n with the address 10.77.0.n, and returns the command that runs a program there.
func (h *hosts) add(n int) (prefix []string) {
	h.t.Helper()
	name := fmt.Sprintf("s4d-%d-%d", os.Getpid(), n)
	h.ip("netns", "add", name)
	h.t.Cleanup(func() { h.ip("netns", "delete", name) })
	h.ip("-n", h.hub, "link", "add", fmt.Sprint("host", n), "type", "veth", "peer", "name", "eth0", "netns", name)
	h.ip("-n", h.hub, "link", "set", fmt.Sprint("host", n), "master", "br0", "up")
	h.ip("-n", name, "address", "add", fmt.Sprintf("10.77.0.%d/24", n), "dev", "eth0")
	h.ip("-n", name, "link", "set", "eth0", "up")
	h.ip("-n", name, "link", "set", "lo", "up")
	return []string{"ip", "netns", "exec", name}
}

// cable connects a host to the bridge, or disconnects it.
func (h *hosts) cable(n int, state string) {
	h.t.Helper()
	h.ip("-n", h.hub, "link", "set", fmt.Sprint("host", n), state)
}

// Dial implements nats.CustomDialer: it connects from the bridge's namespace.
func (h *hosts) Dial(network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		f, err := os.Open(filepath.Join("/var/run/netns", h.hub))
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{nil, err}
			return
		}
		conn, err := net.DialTimeout(network, address, 5*time.Second)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// Each member is a host of its own. The network of one is cut, so that it loses its streams without
// knowing it, and another one is killed.
func TestHosts(t *testing.T) {
	h, ctx, r := newHosts(t), clustertest.Context(t), recognizer(t)
	program, model := build(t)
	dir := t.TempDir()
	const url = "nats://10.77.0.10:4222"
	broker := append(h.add(10), clustertest.Command("10.77.0.10:4222", t.TempDir())...)
	f := &fleet{dir: dir}
	var err error
	f.broker, err = start(ctx, dir, "broker", broker...)
	must.Do(t, err)
	t.Cleanup(f.close)
	for n := 1; n <= 3; n++ {
		f.command = append(h.add(10+n), program, "-nats", url, "-model", model, "-interval", "50ms", "-lease", "500ms")
		must.Do(t, f.addMember(ctx))
	}
	nc := must.Get(nats.Connect(url, nats.SetCustomDialer(h)))(t)
	defer nc.Close()
	l := load{js: must.Get(jetstream.New(nc))(t), scripts: toneScripts(t, r, 300), streams: 12, patience: time.Minute}
	total, steps := l.total(), make(chan string, 2)
	cut := at(func() { h.cable(13, "down"); steps <- "cut" }, total/8)
	kill := at(func() { f.killOldest(); steps <- "killed" }, total/3)
	l.onLine = func(n int) { cut(n); kill(n) }
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	t.Log(<-steps, <-steps)

	// The host that was cut off comes back when others have ended its streams.
	h.cable(13, "up")
	for _, p := range f.list()[1:] {
		p.stop()
		must.Equal(t, p.cmd.ProcessState.ExitCode(), 0, "exit code of %s", p.name)
	}
	info := must.Get(must.Get(l.js.Stream(ctx, wire.LineStream))(t).Info(ctx))(t)
	must.Equal(t, int(info.State.Msgs), total+l.streams, "lines in JetStream")
}
