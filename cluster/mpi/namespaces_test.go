package mpi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// agent runs a command in the network namespace of a host, whose address ends with its number.
const agent = `#!/bin/sh
host=$1
shift
exec ip netns exec "$S4D_MPI_PREFIX-${host##*.}" sh -c "$*"
`

// Two machines, which are network namespaces with an address each and communicate by TCP, have the
// bits of one process.
func TestNamespaces(t *testing.T) {
	for _, name := range []string{"mpirun", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	prefix := fmt.Sprintf("s4dmpi%d", os.Getpid())
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	hosts := []string{prefix + "-1", prefix + "-2"}
	for _, host := range hosts {
		if out, err := exec.Command("ip", "netns", "add", host).CombinedOutput(); err != nil {
			t.Skipf("the system does not allow network namespaces: %v, %s", err, out)
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", host).Run() })
	}
	ip("link", "add", "eth1", "netns", hosts[0], "type", "veth", "peer", "name", "eth2", "netns", hosts[1])
	for i, host := range hosts {
		device := fmt.Sprintf("eth%d", i+1)
		ip("-n", host, "addr", "add", fmt.Sprintf("10.97.0.%d/24", i+1), "dev", device)
		ip("-n", host, "link", "set", device, "up")
		ip("-n", host, "link", "set", "lo", "up")
	}
	script := filepath.Join(t.TempDir(), "agent")
	must.Do(t, os.WriteFile(script, []byte(agent), 0o777))
	want := ""
	for _, n := range networks[:1] {
		want += fmt.Sprintf("%s: %s\n", n.name, must.Get(fit(t.Context(), n, nil))(t))
	}
	const network = "10.97.0.0/24"
	cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", hosts[0], "mpirun", "--allow-run-as-root", "--bind-to", "none",
		"--host", "10.97.0.1,10.97.0.2", "--mca", "plm_rsh_agent", script, "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, "-x", program, "-np", "2", os.Args[0])
	cmd.Env = append(os.Environ(), program+"=first", "S4D_MPI_PREFIX="+prefix)
	out, err := cmd.Output()
	must.Do(t, err)
	must.Equal(t, string(out), want, "output of two machines")
}
