//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
)

// A signal ends a command that waits for a named pipe to be written.
func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	clip := filepath.Join(dir, "clip.wav")
	must.Do(t, os.WriteFile(clip, nil, 0o666))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(program.Signal(syscall.SIGTERM))
	for _, args := range []string{
		"inspect " + pipe, "eval " + pipe, "prune --keep 0.5 " + pipe + " " + filepath.Join(dir, "x.safetensors"),
		"calibrate digits --words " + pipe, "stream " + pipe, "stream " + pipe + " " + clip, "convert " + pipe + " " + filepath.Join(dir, "x.pth"),
		"plot delay " + pipe, "plot poles " + pipe, "plot kernels " + pipe, "plot hinf " + pipe,
	} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, strings.Fields(args), streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
		if code != 128+int(syscall.SIGTERM) || !strings.Contains(stderr.String(), "stopped by SIGTERM") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr.String())
		}
	}
}
