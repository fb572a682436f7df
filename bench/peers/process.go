package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

//go:embed sources
var sources embed.FS

// process is a peer in a separate process. sources/peer.h describes the protocol.
type process struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Scanner
}

// settle is the time after a call in which a peer's threads may still spin. The next measurement
// waits for it.
const settle = 5 * time.Millisecond

func (p *process) Name() string { return p.name }

// Measure implements bench.Peer.
func (p *process) Measure(r bench.Row, d time.Duration) (float64, error) {
	if _, err := fmt.Fprintln(p.in, r.Op, r.Workers, r.N, r.L, r.H, r.M, r.Rows, r.K, r.B, r.Layers, d.Seconds()); err != nil {
		return 0, err
	}
	if !p.replies.Scan() {
		return 0, errors.Join(errors.New("the process ended"), p.replies.Err())
	}
	var ns float64
	if _, err := fmt.Sscan(p.replies.Text(), &ns); err != nil {
		return 0, fmt.Errorf("reply %q: %w", p.replies.Text(), err)
	}
	time.Sleep(settle)
	return ns, nil
}

// stop closes the process's input, which ends it.
func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait() // its exit status does not matter
}

// compiled builds sources/NAME.c with the C compiler and starts it.
func compiled(ctx context.Context, dir, name, source string, flags, env []string) (peer, error) {
	if err := unpack(dir, "peer.h", source+".c"); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, name)
	args := append([]string{"-O3", "-march=native", filepath.Join(dir, source+".c"), "-o", program}, flags...)
	if out, err := exec.CommandContext(ctx, "cc", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, firstLine(out))
	}
	return launch(exec.CommandContext(ctx, program), name, env)
}

// interpreted starts sources/NAME.py if Python has the module NAME.
func interpreted(ctx context.Context, name string) (peer, error) {
	python, err := pythonWith(ctx, name)
	if err != nil {
		return nil, err
	}
	// The script has the module's name. It is passed as text, so that Python does not import it.
	script, err := sources.ReadFile("sources/" + name + ".py")
	if err != nil {
		return nil, err
	}
	return launch(exec.CommandContext(ctx, python, "-c", string(script)), name, nil)
}

// pythonWith returns a Python that can import a module.
func pythonWith(ctx context.Context, module string) (string, error) {
	const python = "python3"
	for _, p := range []string{"/usr/bin/python3", python} { // the first has Debian's packages
		if err := exec.CommandContext(ctx, p, "-c", "import "+module).Run(); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s has no module %s", python, module)
}

func launch(cmd *exec.Cmd, name string, env []string) (peer, error) {
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{name: name, cmd: cmd, in: in, replies: bufio.NewScanner(out)}, nil
}

// unpack writes sources to a folder.
func unpack(dir string, names ...string) error {
	for _, name := range names {
		data, err := sources.ReadFile("sources/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}
