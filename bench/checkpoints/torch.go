package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed network.py
var network string

// torch runs the network in PyTorch, in a separate process.
type torch struct {
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Scanner
}

// settle is the time after a call in which PyTorch's threads may still spin. The next measurement
// waits for it.
const settle = 20 * time.Millisecond

// interpreter is a Python interpreter with PyTorch.
type interpreter struct{ path, version string }

// python finds one, once, because importing PyTorch takes seconds.
var python = sync.OnceValues(func() (interpreter, error) {
	for _, path := range []string{"/usr/bin/python3", "python3"} { // Debian's packages
		out, err := exec.Command(path, "-c", "import torch; print(torch.__version__)").Output()
		if err == nil {
			return interpreter{path, strings.TrimSpace(string(out))}, nil
		}
	}
	return interpreter{}, errors.New("python3 has no module torch (Debian: apt-get install python3-torch)")
})

// startTorch starts PyTorch on a checkpoint and the images.
func startTorch(ctx context.Context, checkpoint string, images *images, threads int) (*torch, error) {
	p, err := python()
	if err != nil {
		return nil, err
	}
	list := func(v []float32) string {
		text, _ := json.Marshal(v) // finite numbers
		return string(text)
	}
	t := &torch{version: p.version, cmd: exec.CommandContext(ctx, p.path, "-c", network,
		checkpoint, images.file, fmt.Sprint(images.length()), list(mean), list(std), fmt.Sprint(threads))}
	t.cmd.Stderr = os.Stderr
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.replies = bufio.NewScanner(out)
	return t, t.cmd.Start()
}

// stop closes the process's input, which ends it.
func (t *torch) stop() {
	_ = t.in.Close()
	_ = t.cmd.Wait() // its exit status does not matter
}

// request sends a request and reads the reply, a number.
func (t *torch) request(words ...any) (float64, error) {
	if _, err := fmt.Fprintln(t.in, words...); err != nil {
		return 0, fmt.Errorf("PyTorch: %w", err)
	}
	if !t.replies.Scan() {
		return 0, errors.Join(errors.New("PyTorch: the process ended"), t.replies.Err())
	}
	var v float64
	if _, err := fmt.Sscan(t.replies.Text(), &v); err != nil {
		return 0, fmt.Errorf("PyTorch: reply %q: %w", t.replies.Text(), err)
	}
	time.Sleep(settle)
	return v, nil
}

// logits returns PyTorch's logits of every image.
func (t *torch) logits(dir string, classes int) ([][]float32, error) {
	file := filepath.Join(dir, "logits")
	n, err := t.request("logits", file)
	if err != nil {
		return nil, err
	}
	flat, err := readFloats(file)
	if err != nil {
		return nil, err
	}
	if len(flat) != int(n)*classes {
		return nil, fmt.Errorf("PyTorch: %d logits of %v images, expected %d of each", len(flat), n, classes)
	}
	return slices.Collect(slices.Chunk(flat, classes)), nil
}

// rate measures PyTorch with kernels that are "recomputed" for every batch or "cached".
func (t *torch) rate(kernels string) measure {
	return func(batch int, d time.Duration) (float64, error) {
		return t.request("rate", kernels, batch, d.Seconds())
	}
}

// writeFloats writes little-endian float32s.
func writeFloats(file string, x []float32) error {
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return os.WriteFile(file, out, 0o600)
}

// readFloats reads little-endian float32s.
func readFloats(file string) ([]float32, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x := make([]float32, 0, len(text)/4)
	for b := range slices.Chunk(text[:len(text)/4*4], 4) {
		x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return x, nil
}
