package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// program is the environment variable that makes this test binary the command.
const program = "S4D_MPI_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(program) == "" {
		os.Exit(m.Run())
	}
	main()
}

// An error ends the ranks with exit code 1 and without an error of MPI, which Abort after Finalize
// would cause.
func TestError(t *testing.T) {
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("mpirun is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2", os.Args[0], "nothing")
	cmd.Env = append(os.Environ(), program+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), `bench: mode "nothing": expected step, net or predict`) {
		t.Errorf("error %v, output\n%s", err, out)
	}
	if strings.Contains(strings.ToLower(string(out)), "finalize") {
		t.Errorf("Abort was called after Finalize, output\n%s", out)
	}
}
