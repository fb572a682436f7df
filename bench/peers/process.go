package main

import (
	"context"
	"embed"
	"fmt"
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
	name string
	*bench.Process
}

func (p process) Name() string { return p.name }

// Measure implements bench.Peer.
func (p process) Measure(r bench.Row, d time.Duration) (float64, error) {
	return p.Request(r.Op, r.Workers, r.N, r.L, r.H, r.M, r.Rows, r.K, r.B, r.Layers, d.Seconds())
}

// compiled builds sources/NAME.c with the C compiler and starts it.
func compiled(ctx context.Context, dir, name, source string, flags, env []string) (bench.Peer, error) {
	dir = filepath.Join(dir, name)
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, name)
	args := append([]string{"-O3", "-march=native", filepath.Join(dir, "sources", source+".c"), "-o", program}, flags...)
	if out, err := exec.CommandContext(ctx, "cc", args...).CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		return nil, fmt.Errorf("cc: %w: %s", err, line)
	}
	return launch(exec.CommandContext(ctx, program), name, env)
}

// interpreted starts sources/torch.py if Python has PyTorch.
func interpreted(ctx context.Context) (bench.Peer, error) {
	python, _, err := bench.PyTorch(ctx)
	if err != nil {
		return nil, err
	}
	// The script has the module's name. It is passed as text, so that Python does not import it.
	script, err := sources.ReadFile("sources/torch.py")
	if err != nil {
		return nil, err
	}
	return launch(exec.CommandContext(ctx, python, "-c", string(script)), "torch", nil)
}

func launch(cmd *exec.Cmd, name string, env []string) (bench.Peer, error) {
	cmd.Env = append(os.Environ(), env...)
	p, err := bench.Start(cmd)
	return process{name, p}, err
}
