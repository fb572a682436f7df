package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Process is another program that computes and measures. It reads requests from its standard input,
// one per line, and replies to each with a number on a line.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Scanner
}

// settle is the time after a request in which a program's threads may still spin. The next
// measurement waits for it.
const settle = 20 * time.Millisecond

// Start starts a program. Its standard error becomes that of this process.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Process{cmd, in, bufio.NewScanner(out)}, cmd.Start()
}

// Request sends a request and returns the reply.
func (p *Process) Request(words ...any) (number float64, err error) {
	if _, err := fmt.Fprintln(p.in, words...); err != nil {
		return 0, err
	}
	if !p.replies.Scan() {
		return 0, errors.Join(errors.New("the process ended"), p.replies.Err())
	}
	if _, err := fmt.Sscan(p.replies.Text(), &number); err != nil {
		return 0, fmt.Errorf("reply %q: %w", p.replies.Text(), err)
	}
	time.Sleep(settle)
	return number, nil
}

// Stop closes the program's input, which ends it.
func (p *Process) Stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait() // its exit status does not matter
}

// PyTorch returns a Python interpreter that has PyTorch, and its version. It reads the version of
// the installed package: importing PyTorch takes seconds.
func PyTorch(ctx context.Context) (path, version string, err error) {
	for _, path := range []string{"/usr/bin/python3", "python3"} { // the first has Debian's packages
		out, err := exec.CommandContext(ctx, path, "-c", `from importlib.metadata import version; print(version("torch"))`).Output()
		if err == nil {
			return path, strings.TrimSpace(string(out)), nil
		}
	}
	return "", "", errors.New("python3 has no module torch (Debian: apt-get install python3-torch)")
}
