package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Every level of a row is measured at least so often, and for so long at a time at most (but for slow workloads); the
// median counts.
const (
	leastRounds = 9
	longest     = 50 * time.Millisecond
)

// workload is an operation at one size.
type workload struct {
	op string
	Sizes
	units     float64 // of the operation in one call
	flops     float64 // nominal, of one call; 0 where none are worth counting
	bytes     float64 // read and written in one call, of an operation that does nothing else
	sequences float64 // trained on in one call
	shared    bool    // threads share one call, rather than making one each
	start     func(threads int) (engine, error)
}

// engine makes calls of a workload at the level at which it was started.
type engine struct {
	run  func(calls int)
	stop func()
}

// perThread is the start of a workload that every thread runs for itself; setup returns one thread's call.
func perThread(setup func() (func(), error)) func(threads int) (engine, error) {
	return func(threads int) (engine, error) {
		var calls []func()
		for range threads {
			f, err := setup()
			if err != nil {
				return engine{}, err
			}
			calls = append(calls, f)
		}
		return engine{run: func(n int) { runAll(calls, n) }, stop: func() {}}, nil
	}
}

// runAll makes n calls of every function, each in a goroutine of its own.
func runAll(calls []func(), n int) {
	var all sync.WaitGroup
	for _, f := range calls[1:] {
		all.Go(func() { repeat(f, n) })
	}
	repeat(calls[0], n)
	all.Wait()
}

func repeat(f func(), n int) {
	for range n {
		f()
	}
}

// contender is a level in the measurement of a row.
type contender struct {
	level         vek.Level
	work, peak    sampler
	peakFlops     float64 // of a call of peak
	spent, budget time.Duration
}

// sampler collects times of an engine.
type sampler struct {
	engine
	calls int       // in one sample
	ns    []float64 // of a call, sample by sample
}

// measure returns a row a level.
func (w workload) measure(ctx context.Context, levels []vek.Level, threads int, budget time.Duration) ([]Row, error) {
	rounds := max(leastRounds, int(budget/longest))
	contenders := make([]contender, len(levels))
	for i, level := range levels {
		c := &contenders[i]
		c.level, c.budget = level, budget
		if err := c.begin(ctx, w, threads, budget/time.Duration(rounds)); err != nil {
			return nil, err
		}
		defer c.work.stop()
	}
	for round := range rounds {
		for i := range contenders {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := contenders[i].sample(round); err != nil {
				return nil, err
			}
		}
	}
	rows := make([]Row, len(levels))
	for i := range contenders {
		rows[i] = w.row(&contenders[i], threads)
	}
	return rows, nil
}

// begin starts the engines at their level and warms them up, to take samples of the length d.
func (c *contender) begin(ctx context.Context, w workload, threads int, d time.Duration) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := vek.SetLevel(c.level); err != nil {
		return err
	}
	if c.peak.engine, err = fma.start(threads); err != nil {
		return err
	}
	if c.work.engine, err = w.start(threads); err != nil {
		return err
	}
	_, c.peakFlops = vek.FMAPeak(fmaRounds)
	c.peak.warmUp(d / 8)
	c.work.warmUp(d)
	return nil
}

// sample measures one round, unless a slow workload has used up its time.
func (c *contender) sample(round int) error {
	if round > 0 && c.spent >= c.budget {
		return nil
	}
	if err := vek.SetLevel(c.level); err != nil {
		return err
	}
	c.peak.sample()
	c.spent += c.work.sample()
	return nil
}

// warmUp makes calls until it knows how many of them take d.
func (s *sampler) warmUp(d time.Duration) {
	for s.calls = 1; ; {
		took := max(s.time(), 1)
		need := float64(s.calls) * float64(d) / float64(took)
		done := took >= d/4
		s.calls = int(min(max(need, 1), 16*float64(s.calls)))
		if done {
			return
		}
	}
}

func (s *sampler) time() time.Duration {
	begin := time.Now()
	s.run(s.calls)
	return time.Since(begin)
}

func (s *sampler) sample() time.Duration {
	took := max(s.time(), 1) // a coarse clock may stand still
	s.ns = append(s.ns, float64(took)/float64(s.calls))
	return took
}

// row turns a contender's times into figures.
func (w workload) row(c *contender, threads int) Row {
	ns := median(c.work.ns)
	r := Row{Op: w.op, Level: string(c.level), Threads: threads, Sizes: w.Sizes, NS: ns / w.units, SequencesPerSecond: 1e9 * w.sequences / ns}
	copies, flops := float64(threads), w.flops
	if w.shared {
		copies = 1
	}
	if w.op == fma.op {
		flops = c.peakFlops
	}
	r.GFLOPS, r.GBPerSecond = copies*flops/ns, copies*w.bytes/ns
	r.Peak = r.GFLOPS / (float64(threads) * c.peakFlops / median(c.peak.ns))
	return r
}

// median returns the middle of x, or the mean of the two in the middle; x comes out sorted.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
