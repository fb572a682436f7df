// Command bench measures training steps and sums on the ranks that mpirun starts, and predicts the
// speed-up on more machines (docs/mpi.md):
//
//	mpirun -np 2 bench -threads 1 -shards 2 step scifar
//	mpirun -np 2 bench net
//	bench -threads 2 predict scifar pathx128 pathx256
//
// Networks and batches are those of the tasks' presets, the data are noise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// rows are the shapes of the data.
var rows = map[string]dataset.Info{
	"scifar":   {Name: "scifar", Channels: 3, Outputs: 10, MaxLen: 1024},
	"pathx128": {Name: "pathx128", Channels: 1, Outputs: 2, MaxLen: 16384},
	"pathx256": {Name: "pathx256", Channels: 1, Outputs: 2, MaxLen: 65536},
}

var (
	threads = flag.Int("threads", 1, "threads per rank")
	shards  = flag.Int("shards", 1, "shards of a batch")
	batch   = flag.Int("batch", 0, "sequences of a batch; 0: those of the preset")
	steps   = flag.Int("steps", 6, "steps, of which the first is not measured")
)

func main() {
	flag.Parse()
	err := level.Set("")
	var world *mpi.World
	if err == nil {
		world, err = mpi.Init(5 * time.Minute)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
	if err = run(world); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		mpi.Abort(1) // the other ranks may wait for this one, as Finalize would for them
	} else if err = world.Finalize(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run(world *mpi.World) error {
	switch mode := flag.Arg(0); mode {
	case "step":
		for _, name := range flag.Args()[1:] {
			seconds, err := measure(world, name, *batch, *shards, *threads, *steps)
			if err != nil {
				return err
			}
			if world.Rank() == 0 {
				fmt.Printf("%s: %d ranks of %d threads, %d shards, level %s: %.4f s per step (median of %d, fastest %.4f)\n",
					name, world.Ranks(), *threads, *shards, level.Current(), median(seconds), len(seconds), slices.Min(seconds))
			}
		}
		return nil
	case "net":
		return network(world)
	case "predict":
		return predict(world, flag.Args()[1:])
	default:
		return fmt.Errorf("mode %q: expected step, net or predict", mode)
	}
}

// measure returns the times of training steps in seconds.
func measure(world *mpi.World, name string, batch, shards, threads, steps int) ([]float64, error) {
	cfg, info, err := config(name)
	if err != nil {
		return nil, err
	}
	if batch > 0 {
		cfg.Train.Batch = batch
	}
	cfg.Workers, cfg.Train.Shards, cfg.Train.MaxSteps, cfg.Train.EvalBatch = threads, shards, steps, 1
	data := &dataset.Dataset{
		Info: info, Train: noise{info, cfg.Train.Batch * steps}, Val: noise{info, 1},
		Mean: make([]float32, info.Channels), Std: slices.Repeat([]float32{1}, info.Channels),
	}
	c := &clock{}
	opt := train.Options{Reporter: c}
	if shards > 1 || world.Ranks() > 1 {
		opt.Group = world
	}
	t, err := train.New(context.Background(), cfg, data, opt)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return c.seconds, t.Fit(context.Background())
}

// config returns the preset of a task, and the shape of its data.
func config(name string) (train.Config, dataset.Info, error) {
	info, ok := rows[name]
	if !ok {
		return train.Config{}, info, fmt.Errorf("task %q: expected scifar, pathx128 or pathx256", name)
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return train.Config{}, info, err
	}
	cfg := tk.Preset()
	cfg.Data = nil
	return cfg, info, nil
}

// clock records the times between steps.
type clock struct {
	last    time.Time
	seconds []float64
}

func (c *clock) Step(train.Progress) {
	now := time.Now()
	if !c.last.IsZero() {
		c.seconds = append(c.seconds, now.Sub(c.last).Seconds())
	}
	c.last = now
}

func (c *clock) Begin(train.Progress)      {}
func (c *clock) Epoch(train.Metrics, bool) {}
func (c *clock) End()                      {}

// noise is a set of sequences of noise.
type noise struct {
	dataset.Info
	n int
}

func (s noise) Len() int       { return s.n }
func (s noise) Length(int) int { return s.MaxLen }

func (s noise) Example(e *dataset.Example, i, _ int) error {
	draw := random.New(1, random.Signal, i, 0)
	e.X = slices.Grow(e.X[:0], s.Channels*s.MaxLen)[:s.Channels*s.MaxLen]
	for l := range e.X {
		if l < 1024 {
			e.X[l] = float32(draw.Float64(uint64(l)) - 0.5)
		} else {
			e.X[l] = e.X[l-1024]
		}
	}
	e.Len, e.Label = s.MaxLen, i%s.Outputs
	return nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// network prints the times of sums and of gathers.
func network(world *mpi.World) error {
	for _, floats := range []int{1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22} {
		x, times := make([]float32, floats), []float64{}
		for range 20 {
			began := time.Now()
			world.Sum([][]float32{x}, world.Ranks())
			if err := world.Wait(); err != nil {
				return err
			}
			times = append(times, time.Since(began).Seconds())
		}
		if world.Rank() == 0 {
			fmt.Printf("sum of %8d bytes: %8.1f µs\n", 4*floats, 1e6*median(times))
		}
	}
	n := 512
	all, times := make([]float64, n*world.Ranks()), []float64{}
	for range 200 {
		began := time.Now()
		if err := world.Gather(all, all[:n], slices.Repeat([]int{n}, world.Ranks())); err != nil {
			return err
		}
		times = append(times, time.Since(began).Seconds())
	}
	if world.Rank() == 0 {
		fmt.Printf("gather of %d bytes per rank: %.1f µs\n", 8*n, 1e6*median(times))
	}
	return nil
}
