// Command layers compares trained networks with different layers:
//
//	go run ./bench/layers [-length 1024] [-rounds 5] [-threads N] [-level LEVEL] RUN...
//
// RUN is the folder of a training run. For each run, the table has the best accuracy on the
// validation set, the number of training steps, the time of a training step (forward and backward)
// with the run's batch size on noise of the given length, and the time per sample of a stream on
// one core: in blocks of 64 samples, and sample by sample. The networks take turns, and the times
// are medians. Networks that cannot process a stream have no times for it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/train"
)

const block = 64 // samples

func main() {
	length := flag.Int("length", 1024, "`samples` in a training sequence")
	rounds := flag.Int("rounds", 5, "number of measurements of each time")
	threads := flag.Int("threads", 0, "worker `threads` of the training steps (default: one per processor)")
	name := flag.String("level", "", "kernel `level` (default: the best one)")
	flag.Parse()
	fail(level.Set(*name))
	if flag.NArg() == 0 || *length < block || *rounds < 1 {
		fail(fmt.Errorf("%d runs, -length %d, -rounds %d: expected at least 1 run, %d samples and 1 round", flag.NArg(), *length, *rounds, block))
	}
	var rows []*row
	for _, dir := range flag.Args() {
		r, err := load(dir, *length, *threads)
		if err != nil {
			fail(fmt.Errorf("%s: %w", dir, err))
		}
		rows = append(rows, r)
	}
	for i := range *rounds {
		for j := range rows {
			rows[(i+j)%len(rows)].measure() // each round starts with the next network
		}
	}
	fmt.Println("| run | layer | parameters | steps | accuracy | ms per training step | sequences/s | µs per sample, blocks | µs per sample, one by one |")
	fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, r := range rows {
		fmt.Println(r)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(1)
	}
}

// row is a run and its measurements in seconds.
type row struct {
	name                  string
	model                 *model.Model
	best                  train.Metrics
	steps                 int
	net                   *convmode.Net
	batch                 convmode.Batch
	grads                 *model.Weights
	stream                *recurrent.Stream // nil if the network cannot process a stream
	training, blocks, one []float64
}

func load(dir string, length, threads int) (*row, error) {
	cfg, err := train.LoadRun(dir)
	if err != nil {
		return nil, err
	}
	r := &row{name: filepath.Base(dir)}
	if r.model, err = model.Load(filepath.Join(dir, "best.safetensors")); err != nil {
		return nil, err
	}
	if r.best, r.steps, err = bestEpoch(filepath.Join(dir, "metrics.jsonl")); err != nil {
		return nil, err
	}
	c := r.model.Config
	if c.Encoder != model.EncoderLinear || c.Pool == model.PoolNone {
		return nil, fmt.Errorf("encoder %q, pool %q: expected a classifier of samples", c.Encoder, c.Pool)
	}
	size := cfg.Train.Batch * c.Towers()
	if r.net, err = convmode.New(r.model, convmode.Options{MaxBatch: size, MaxLen: length, Workers: threads, Training: true}); err != nil {
		return nil, err
	}
	r.batch = convmode.Batch{Size: size, Len: length, X: noise(size * c.DInput * length)}
	r.grads = model.NewWeights(c)
	if net, err := recurrent.New(r.model, recurrent.Options{}); err == nil {
		r.stream = net.NewStream()
	}
	return r, nil
}

// bestEpoch reads the metrics of a run: those of the best epoch, and the number of steps.
func bestEpoch(path string) (best train.Metrics, steps int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return best, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m train.Metrics
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return best, 0, fmt.Errorf("%s: %w", path, err)
		}
		if m.ValAccuracy == nil {
			return best, 0, fmt.Errorf("%s: no accuracy, expected a classifier", path)
		}
		steps = m.Step
		if best.ValAccuracy == nil || *m.ValAccuracy > *best.ValAccuracy {
			best = m
		}
	}
	if best.ValAccuracy == nil {
		return best, 0, fmt.Errorf("%s: no complete epoch", path)
	}
	return best, steps, nil
}

func noise(n int) []float32 {
	draw := random.New(1, random.Signal, 0, 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(draw.Normal(uint64(i)))
	}
	return x
}

// measure adds one measurement of every time.
func (r *row) measure() {
	begin := time.Now()
	logits := r.net.ForwardTrain(r.batch, convmode.Step{Seed: 1})
	r.net.Backward(slices.Clone(logits), r.grads)
	r.training = append(r.training, time.Since(begin).Seconds())
	if r.stream == nil {
		return
	}
	const samples = 256 * block
	x, inputs := r.batch.X, r.model.Config.DInput
	r.blocks = append(r.blocks, perSample(samples, func() {
		for range samples / block {
			r.stream.Process(x[:block*inputs], block)
		}
	}))
	r.one = append(r.one, perSample(samples/16, func() {
		for range samples / 16 {
			r.stream.Step(x[:inputs])
		}
	}))
}

func perSample(samples int, run func()) float64 {
	begin := time.Now()
	run()
	return time.Since(begin).Seconds() / float64(samples)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

func (r *row) String() string {
	c := r.model.Config
	kind := string(c.SSM.Init)
	if c.SSM.Layer != "" {
		kind = fmt.Sprintf("%s, %s", c.SSM.Layer, c.SSM.Init)
	}
	step := median(r.training)
	line := fmt.Sprintf("| %s | %s | %d | %d | %.2f %% | %.1f | %.0f |", r.name, kind, c.CountParams(), r.steps, 100**r.best.ValAccuracy, 1e3*step, float64(r.batch.Size)/step)
	if r.stream == nil {
		return line + " – | – |"
	}
	return line + fmt.Sprintf(" %.2f | %.2f |", 1e6*median(r.blocks), 1e6*median(r.one))
}
