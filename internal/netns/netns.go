// Package netns makes hosts for tests, and finds free ports. A host is a network namespace with an
// address of its own.
package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Network connects hosts by a bridge, which has a namespace of its own.
type Network struct {
	t   testing.TB
	hub string
}

// New makes a network without hosts, which ends with the test. It returns an error if the system
// does not allow network namespaces, bridges or pairs of virtual interfaces.
func New(t testing.TB) (*Network, error) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, errors.New("network namespaces require ip (Debian's iproute2)")
	}
	n := &Network{t, fmt.Sprintf("s4d-%d", os.Getpid())}
	if err := ip("netns", "add", n.hub); err != nil {
		return nil, fmt.Errorf("the system does not allow network namespaces: %w", err)
	}
	t.Cleanup(func() { n.ip("netns", "delete", n.hub) })
	for _, command := range [][]string{
		{"link", "add", "br0", "type", "bridge"},
		{"link", "add", "try0", "type", "veth", "peer", "name", "try1"}, // Add requires such pairs
		{"link", "delete", "try0"},
		{"address", "add", "10.209.0.254/24", "dev", "br0"},
		{"link", "set", "br0", "up"},
	} {
		if err := ip(append([]string{"-n", n.hub}, command...)...); err != nil {
			return nil, fmt.Errorf("the system does not allow virtual networks: %w", err)
		}
	}
	return n, nil
}

// Add adds a host with the address 10.209.0.number; number is in [1, 253]. The host ends with the
// test.
func (n *Network) Add(number int) *Host {
	n.t.Helper()
	h := &Host{n, fmt.Sprintf("%s-%d", n.hub, number), fmt.Sprintf("10.209.0.%d", number), fmt.Sprint("port", number)}
	n.ip("netns", "add", h.Name)
	n.t.Cleanup(func() { n.ip("netns", "delete", h.Name) })
	n.ip("-n", n.hub, "link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", h.Name)
	n.ip("-n", n.hub, "link", "set", h.port, "master", "br0", "up")
	n.ip("-n", h.Name, "address", "add", h.Addr+"/24", "dev", "eth0")
	n.ip("-n", h.Name, "link", "set", "eth0", "up")
	n.ip("-n", h.Name, "link", "set", "lo", "up")
	return h
}

// Host is a host of a network.
type Host struct {
	network          *Network
	Name, Addr, port string // namespace, IP address, port of the bridge
}

// Command returns the command that runs args on the host. ip replaces itself by the program, so
// that both have one process ID.
func (h *Host) Command(args ...string) []string {
	return append([]string{"ip", "netns", "exec", h.Name}, args...)
}

// Cut disconnects the host from the bridge, or connects it again.
func (h *Host) Cut(off bool) {
	h.network.t.Helper()
	h.network.ip("-n", h.network.hub, "link", "set", h.port, map[bool]string{true: "down", false: "up"}[off])
}

func (n *Network) ip(args ...string) {
	n.t.Helper()
	must.Do(n.t, ip(args...))
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}
