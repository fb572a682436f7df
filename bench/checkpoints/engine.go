package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// rate measures images per second at a batch size, over at least d.
type rate func(batch int, d time.Duration) (float64, error)

// engine is s4d-fast in convolution mode, prepared for one batch size and one treatment of kernels
// at a time.
type engine struct {
	m       *model.Model
	x       []float32 // [image][channel][position], normalised
	threads int
	net     *convmode.Net
	opt     convmode.Options // of net
}

func newEngine(m *model.Model, images *images, threads int) *engine {
	e := &engine{m: m, x: slices.Clone(images.x), threads: threads}
	channel := 0
	for row := range slices.Chunk(e.x, length) {
		scale, shift := m.Meta.Affine(channel % channels)
		vek.ScaleShift(row, row, scale, shift)
		channel++
	}
	return e
}

func (e *engine) close() {
	if e.net != nil {
		e.net.Close()
	}
}

// prepare makes a network for a batch size.
func (e *engine) prepare(batch int, cached bool) (err error) {
	opt := convmode.Options{MaxBatch: batch, MaxLen: length, Workers: e.threads, Fixed: cached}
	if e.net != nil && opt == e.opt {
		return nil
	}
	e.close()
	e.net, err = convmode.New(e.m, opt)
	e.opt = opt
	return err
}

func (e *engine) forward(first, batch int) []float32 {
	return e.net.Forward(convmode.Batch{Size: batch, Len: length, X: e.x[first*channels*length:][:batch*channels*length]})
}

// logits returns the logits of every image.
func (e *engine) logits() (all [][]float32, err error) {
	if err := e.prepare(1, true); err != nil {
		return nil, err
	}
	for i := range len(e.x) / (channels * length) {
		all = append(all, slices.Clone(e.forward(i, 1)))
	}
	return all, nil
}

// rate measures with recomputed or cached kernels.
func (e *engine) rate(cached bool) rate {
	return func(batch int, d time.Duration) (float64, error) {
		if err := e.prepare(batch, cached); err != nil {
			return 0, err
		}
		batches := len(e.x) / (channels * length) / batch
		e.forward(0, batch)
		done, begin := 0, time.Now()
		for done == 0 || time.Since(begin) < d {
			e.forward(done%batches*batch, batch)
			done++
		}
		return float64(done*batch) / time.Since(begin).Seconds(), nil
	}
}

//go:embed network.py
var network string

// torch runs the network in PyTorch.
type torch struct {
	*bench.Process
	version string
}

// startTorch starts PyTorch on a checkpoint and the images.
func startTorch(ctx context.Context, checkpoint string, images *images, threads int) (torch, error) {
	python, version, err := bench.PyTorch(ctx)
	if err != nil {
		return torch{}, err
	}
	list := func(v []float32) string {
		text, _ := json.Marshal(v) // finite numbers
		return string(text)
	}
	p, err := bench.Start(exec.CommandContext(ctx, python, "-c", network,
		checkpoint, images.file, fmt.Sprint(length), list(mean), list(std), fmt.Sprint(threads)))
	return torch{p, version}, err
}

// logits returns PyTorch's logits of every image.
func (t torch) logits(dir string, classes int) ([][]float32, error) {
	file := filepath.Join(dir, "logits")
	if _, err := t.Request("logits", file); err != nil {
		return nil, err
	}
	flat, err := readFloats(file)
	return slices.Collect(slices.Chunk(flat, classes)), err
}

// rate measures PyTorch with kernels that are "recomputed" for every batch or "cached".
func (t torch) rate(kernels string) rate {
	return func(batch int, d time.Duration) (float64, error) {
		return t.Request("rate", kernels, batch, d.Seconds())
	}
}
