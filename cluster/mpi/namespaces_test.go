package mpi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
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
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("mpirun is not installed")
	}
	hosts, err := netns.New(t)
	if err != nil {
		t.Skip(err)
	}
	first, second := hosts.Add(1), hosts.Add(2)
	script := filepath.Join(t.TempDir(), "agent")
	must.Do(t, os.WriteFile(script, []byte(agent), 0o777))
	want := ""
	for _, n := range networks[:1] {
		want += fmt.Sprintf("%s: %s\n", n.name, must.Get(fit(t.Context(), n, nil))(t))
	}
	const network = "10.209.0.0/24"
	args := first.Command("mpirun", "--allow-run-as-root", "--bind-to", "none",
		"--host", first.Addr+","+second.Addr, "--mca", "plm_rsh_agent", script,
		"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", network,
		"--mca", "oob_tcp_if_include", network, "-x", program, "-np", "2", os.Args[0])
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	prefix := strings.TrimSuffix(first.Name, "-1")
	cmd.Env = append(os.Environ(), program+"=first", "S4D_MPI_PREFIX="+prefix)
	out, err := cmd.Output()
	must.Do(t, err)
	must.Equal(t, string(out), want, "output of two machines")
}
