// Command presets runs training steps of every preset at full size on noise, and prints a table of
// time and memory:
//
//	go run ./bench/presets [-memory 8] [-threads N] [-roofline] [TASK...]
//
// With -roofline it runs them with one thread and compares each part of a step with the roofline
// model (Williams, Waterman and Patterson, 2009). It prints the part's time, and the operations and
// bytes that the part cannot avoid. It also prints the time that these would take at the core's
// peak rates of multiply-adds and of copies in memory, and the time of a step that does not depend
// on the batch.
//
// A batch that would need more than -memory GiB is halved until it fits; the table shows this. The
// peak of resident memory is shown on Linux only.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// tasks are the published sizes of the data sets (docs/maths.md §4.4, §5).
var tasks = []dataset.Info{
	{Name: "scifar", Channels: 3, Outputs: 10, MaxLen: 1024},
	{Name: "pscifar", Channels: 3, Outputs: 10, MaxLen: 1024},
	{Name: "image", Channels: 1, Outputs: 10, MaxLen: 1024},
	{Name: "listops", Vocab: 18, Outputs: 10, MaxLen: 2048},
	{Name: "text", Vocab: 135, Outputs: 2, MaxLen: 4096},
	{Name: "retrieval", Vocab: 98, Outputs: 2, MaxLen: 4000, Pairs: true},
	{Name: "pathfinder", Channels: 1, Outputs: 2, MaxLen: 1024},
	{Name: "pathx128", Channels: 1, Outputs: 2, MaxLen: 16384},
	{Name: "pathx256", Channels: 1, Outputs: 2, MaxLen: 65536},
	{Name: "speech-commands", Channels: 1, Outputs: 35, MaxLen: 16000},
	{Name: "bidmc-hr", Channels: 2, Outputs: 1, MaxLen: 4000, Regression: true},
	{Name: "bidmc-rr", Channels: 2, Outputs: 1, MaxLen: 4000, Regression: true},
	{Name: "bidmc-spo2", Channels: 2, Outputs: 1, MaxLen: 4000, Regression: true},
	{Name: "delay", Channels: 1, Outputs: 1, MaxLen: 4000, Regression: true, PerPosition: true},
	{Name: "smnist", Channels: 1, Outputs: 10, MaxLen: 784},
	{Name: "psmnist", Channels: 1, Outputs: 10, MaxLen: 784},
	{Name: "digits", Channels: 40, Outputs: 11, MaxLen: 200, PerPosition: true},
	{Name: "fsdd", Channels: 1, Outputs: 10, MaxLen: 5000},
}

type result struct {
	Network    string
	Length     int
	Batch      int // examples
	Preset     int // the preset's batch
	Parameters int
	Seconds    float64 // of the second step
	Peak       float64 // GiB of resident memory; 0: unknown
	Config     model.Config
	Sequences  int                // in a batch
	Loops      map[string]float64 // with one thread: seconds per function of a parallel loop
}

func main() {
	memory := flag.Float64("memory", 8, "`GiB` that a network may take")
	threads := flag.Int("threads", runtime.NumCPU(), "worker threads")
	roofline := flag.Bool("roofline", false, "compare the parts of a step with the limits of the processor and its memory")
	bench.Main("presets", func(ctx context.Context) error {
		if *roofline {
			*threads = 1
		}
		names := flag.Args()
		if len(names) == 0 {
			for _, t := range tasks {
				names = append(names, t.Name)
			}
		}
		fmt.Printf("%d threads, level %s\n\n", *threads, level.Current())
		row := result.row
		if *roofline {
			l := measureLimits()
			row = func(r result, task string) string { return r.roofline(task, l) }
			fmt.Printf("one thread; peak %.1f GFLOP/s; copy %.1f GB/s\n\n", l.Flops/1e9, l.Bytes/1e9)
			fmt.Println("| preset | length | batch | part | ms | share | GFLOP | of the peak | MB | GB/s | time at the limits, ms |")
			fmt.Println("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
		} else {
			fmt.Println("| preset | network | length | batch | parameters | seconds per step | peak memory |")
			fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
		}
		for _, name := range names {
			r, err := measure(name, *memory, *threads)
			if err = cmp.Or(context.Cause(ctx), err); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Println(row(r, name))
		}
		return nil
	})
}

// batch returns the batch size, and that of the preset if it differs.
func (r result) batch() string {
	if r.Batch != r.Preset {
		return fmt.Sprintf("%d of %d", r.Batch, r.Preset)
	}
	return strconv.Itoa(r.Batch)
}

func (r result) row(task string) string {
	peak := "–"
	if r.Peak > 0 {
		peak = fmt.Sprintf("%.2f GiB", r.Peak)
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %d | %.3g | %s |", task, r.Network, r.Length, r.batch(), r.Parameters, r.Seconds, peak)
}

// measure makes two training steps, forward, backward and AdamW, and times the second.
func measure(name string, memory float64, threads int) (result, error) {
	i := slices.IndexFunc(tasks, func(t dataset.Info) bool { return t.Name == name })
	if i < 0 {
		return result{}, errors.New("no such preset")
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return result{}, err
	}
	info, cfg := tasks[i], tk.Preset()
	c := cfg.Network(info)
	r := result{
		Network: fmt.Sprintf("%d×%d, N=%d", c.NLayers, c.DModel, c.SSM.DState), Length: info.MaxLen,
		Config: c, Batch: cfg.Train.Batch, Preset: cfg.Train.Batch, Parameters: c.CountParams(),
	}
	opt := convmode.Options{MaxLen: info.MaxLen, Workers: threads, Training: true}
	for opt.MaxBatch = r.Batch * c.Towers(); r.Batch > 1 && opt.Memory(c) > memory*(1<<30); opt.MaxBatch = r.Batch * c.Towers() {
		r.Batch /= 2
	}
	r.Sequences = opt.MaxBatch
	debug.FreeOSMemory()
	unknown := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is that of now
	run, err := bench.NewTraining(c, r.Sequences, info.MaxLen, threads)
	if err != nil {
		return r, err
	}
	defer run.Close()
	if threads == 1 {
		par.Trace = func(loop string, items []time.Duration) {
			for _, d := range items {
				r.Loops[loop] += d.Seconds()
			}
		}
		defer func() { par.Trace = nil }()
	}
	for range 2 {
		r.Loops = map[string]float64{}
		began := time.Now()
		run.Step()
		r.Seconds = time.Since(began).Seconds()
	}
	status, _ := os.ReadFile("/proc/self/status")
	if _, peak, _ := strings.Cut(string(status), "VmHWM:"); unknown == nil {
		fmt.Sscan(peak, &r.Peak)
		r.Peak /= 1 << 20 // from KiB
	}
	return r, nil
}
