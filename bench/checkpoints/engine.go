package main

import (
	"context"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

// evaluate returns the logits of every image, computed as `s4d-fast eval` does.
func evaluate(ctx context.Context, m *model.Model, images *images, threads int) (logits [][]float32, err error) {
	_, err = train.Evaluate(ctx, m, images.data.Test, train.EvalOptions{
		Info: images.data.Info, Workers: threads,
		Each: func(p train.Prediction) error {
			logits = append(logits, p.Logits)
			return nil
		},
	})
	return logits, err
}

// normalised returns the images as the network reads them.
func normalised(m *model.Model, images *images) []float32 {
	x := slices.Clone(images.x)
	channel := 0
	for row := range slices.Chunk(x, images.length()) {
		scale, shift := m.Meta.Affine(channel % images.channels())
		vek.ScaleShift(row, row, scale, shift)
		channel++
	}
	return x
}

// engine is s4d-fast in convolution mode, prepared for one batch size and one treatment of kernels
// at a time.
type engine struct {
	m       *model.Model
	x       []float32 // [image][channel][position]
	length  int
	threads int
	net     *convmode.Net
	opt     convmode.Options // of net
}

func (e *engine) close() {
	if e.net != nil {
		e.net.Close()
	}
}

// prepare makes a network for a batch size.
func (e *engine) prepare(batch int, cached bool) error {
	opt := convmode.Options{MaxBatch: batch, MaxLen: e.length, Workers: e.threads, Fixed: cached}
	if e.net != nil && opt == e.opt {
		return nil
	}
	e.close()
	var err error
	e.net, err = convmode.New(e.m, opt)
	e.opt = opt
	return err
}

// rate measures images per second with recomputed or cached kernels.
func (e *engine) rate(cached bool) measure {
	return func(batch int, d time.Duration) (float64, error) {
		if err := e.prepare(batch, cached); err != nil {
			return 0, err
		}
		size := batch * e.m.Config.DInput * e.length
		forward := func(i int) {
			at := i % (len(e.x) / size) * size
			e.net.Forward(convmode.Batch{Size: batch, Len: e.length, X: e.x[at : at+size]})
		}
		forward(0)
		done, begin := 0, time.Now()
		for done == 0 || time.Since(begin) < d {
			forward(done)
			done++
		}
		return float64(done*batch) / time.Since(begin).Seconds(), nil
	}
}
