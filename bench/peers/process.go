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

// process is a peer in a process of its own, which answers requests as sources/peer.h describes.
type process struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Scanner
}

// settle is how long the threads of a peer may spin after its last call, before somebody else is measured.
const settle = 5 * time.Millisecond

func (p *process) Name() string { return p.name }

// Measure implements bench.Peer.
func (p *process) Measure(r bench.Row, d time.Duration) (float64, error) {
	if _, err := fmt.Fprintln(p.in, r.Op, r.Workers, r.N, r.L, r.H, r.M, r.Rows, r.K, r.B, r.Layers, d.Seconds()); err != nil {
		return 0, err
	}
	if !p.answers.Scan() {
		return 0, errors.Join(errors.New("it ended"), p.answers.Err())
	}
	var ns float64
	if _, err := fmt.Sscan(p.answers.Text(), &ns); err != nil {
		return 0, fmt.Errorf("answer %q: %w", p.answers.Text(), err)
	}
	time.Sleep(settle)
	return ns, nil
}

// stop ends the process: its input ends.
func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait() // whatever its exit status
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

// interpreted starts sources/NAME.py, whose modules Python must have.
func interpreted(ctx context.Context, name string) (peer, error) {
	python := "python3"
	for _, p := range []string{"/usr/bin/python3", python} { // Debian's own has Debian's packages
		if err := exec.CommandContext(ctx, p, "-c", "import "+name).Run(); err == nil {
			// The script has the module's name: it is read, so that its folder is no place to import from.
			script, err := sources.ReadFile("sources/" + name + ".py")
			if err != nil {
				return nil, err
			}
			return launch(exec.CommandContext(ctx, p, "-c", string(script)), name, nil)
		}
	}
	return nil, fmt.Errorf("%s has no module %s", python, name)
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
	return &process{name: name, cmd: cmd, in: in, answers: bufio.NewScanner(out)}, nil
}

// unpack writes sources into a folder.
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
