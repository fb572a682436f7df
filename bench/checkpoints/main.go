// Command checkpoints compares s4d-fast with PyTorch on networks that were trained in PyTorch: the
// checkpoints of sequential CIFAR-10 in the folder checkpoints of -data, on test images in its
// folder cifar10. `s4d-fast data fetch` gets both. Both engines read the same decoded pixels.
//
//	go run ./bench/checkpoints [-data data] [-images 1000] [-batches 1,4,16,50] [-rounds 5] \
//		[-time 1s] [-threads N] [CHECKPOINT...]
//
// It prints the largest differences of logits, the number of differing and of correct predictions,
// and a table of images per second, with recomputed and with cached kernels. Every round measures
// all columns once, and each figure is the median of the rounds. The command fails if the
// predictions of an image differ although its two largest logits are more than 1e-3 apart. It
// requires Python with PyTorch:
//
//	apt-get install python3-torch
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
)

// Normalisation of the checkpoints' networks, per colour.
var (
	mean = []float32{0.4914, 0.4822, 0.4465}
	std  = []float32{0.2023, 0.1994, 0.2010}
)

type options struct {
	data    string
	images  int
	batches bench.Numbers
	rounds  int
	time    time.Duration
	threads int
}

func main() {
	o := options{batches: bench.Numbers{1, 4, 16, 50}}
	flag.StringVar(&o.data, "data", "data", "`folder` with checkpoints/*.pth and cifar10")
	flag.IntVar(&o.images, "images", 1000, "`number` of images")
	flag.Var(&o.batches, "batches", "`numbers` of images at once")
	flag.IntVar(&o.rounds, "rounds", 5, "`times` that each is measured; 0: compare the logits only")
	flag.DurationVar(&o.time, "time", time.Second, "`duration` of each measurement")
	flag.IntVar(&o.threads, "threads", runtime.NumCPU(), "worker `threads`")
	bench.Main("checkpoints", func(ctx context.Context) error { return o.run(ctx, os.Stdout, flag.Args()) })
}

func (o *options) run(ctx context.Context, w io.Writer, checkpoints []string) error {
	if most := slices.Max(o.batches); most > o.images {
		return fmt.Errorf("-batches %v: %d images", &o.batches, o.images)
	}
	if len(checkpoints) == 0 {
		checkpoints, _ = filepath.Glob(filepath.Join(o.data, "checkpoints", "*.pth"))
	}
	if len(checkpoints) == 0 {
		return fmt.Errorf("-data %s: it holds no checkpoints/*.pth", o.data)
	}
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	images, err := load(ctx, filepath.Join(o.data, "cifar10"), filepath.Join(dir, "pixels"), o.images)
	if err != nil {
		return err
	}
	for i, path := range checkpoints {
		if err := o.checkpoint(ctx, w, path, dir, images, i == 0); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// checkpoint compares and measures one network. The first one prints a title.
func (o *options) checkpoint(ctx context.Context, w io.Writer, path, dir string, images *images, title bool) error {
	m, err := model.ImportPyTorch(path, model.ImportOptions{})
	if err != nil {
		return err
	}
	m.Meta.InputMean, m.Meta.InputStd = mean, std
	e := newEngine(m, images, o.threads)
	defer e.close()
	ours, err := e.logits()
	if err != nil {
		return err
	}
	t, err := startTorch(ctx, path, images, o.threads)
	if err != nil {
		return err
	}
	defer t.Stop()
	theirs, err := t.logits(dir, m.Config.DOutput)
	if err != nil {
		return err
	}
	if title {
		fmt.Fprintf(w, "%d images, %d threads, level %s, PyTorch %s\n", len(images.labels), o.threads, level.Current(), t.version)
	}
	a := compare(ours, theirs, images.labels)
	fmt.Fprintf(w, "\n%s\n\n%s", filepath.Base(path), a)
	if a.differ > 0 {
		return fmt.Errorf("%d predictions differ", a.differ)
	}
	if o.rounds == 0 {
		return nil
	}
	rates, err := o.measureAll([4]rate{e.rate(false), e.rate(true), t.rate("recomputed"), t.rate("cached")})
	if err == nil {
		fmt.Fprint(w, o.table(rates))
	}
	return err
}
