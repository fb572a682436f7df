package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Every level of a row is measured at least leastRounds times, or leastSlow times if one call takes
// longer than the time of the row. A sample takes at most longest. The median is reported.
const (
	leastRounds = 9
	leastSlow   = 3
	longest     = 50 * time.Millisecond
	leastPeak   = 5 * time.Millisecond // threads take a while to start
)

// workload is an operation at one size.
type workload struct {
	op string
	Sizes
	units     float64 // units of the operation per call
	flops     float64 // nominal, per call; 0 if not counted
	bytes     float64 // read and written per call, if the operation only copies
	sequences float64 // trained per call
	shared    bool    // all threads share one call; otherwise each makes its own
	start     func(threads int) (engine, error)
}

// engine runs calls of a workload at the level at which it was started.
type engine struct {
	run  func(calls int)
	stop func()
}

// perThread returns the start of a workload that every thread runs separately. setup returns the
// call of one thread.
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

// runAll makes n calls of each function, in one goroutine per function.
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

// peerRun is the measurement of a peer for a row.
type peerRun struct {
	peer  Peer
	ns    []float64 // per unit, one per sample
	spent time.Duration
}

// levelRun is the measurement of a level for a row.
type levelRun struct {
	level         vek.Level
	work, peak    sampler
	peakFlops     float64 // per call of peak
	spent, budget time.Duration
}

// sampler measures an engine.
type sampler struct {
	engine
	calls int       // per sample
	ns    []float64 // per call, one per sample
}

// measure returns one row per level, and one per peer that implements the operation.
func (w workload) measure(ctx context.Context, levels []vek.Level, peers []Peer, threads int, budget time.Duration) ([]Row, error) {
	rounds := max(leastRounds, int(budget/longest))
	slice := budget / time.Duration(rounds)
	levelRuns := make([]levelRun, len(levels))
	for i, level := range levels {
		c := &levelRuns[i]
		c.level, c.budget = level, budget
		if err := c.begin(ctx, w, threads, slice); err != nil {
			return nil, err
		}
		defer c.work.stop()
	}
	peerRuns, err := w.startPeers(ctx, peers, threads, slice)
	if err != nil {
		return nil, err
	}
	for round := range rounds {
		for i := range peerRuns {
			if err := peerRuns[i].sample(w.plain(threads), slice, budget); err != nil {
				return nil, err
			}
		}
		for i := range levelRuns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := levelRuns[i].sample(round); err != nil {
				return nil, err
			}
		}
	}
	var rows []Row
	for i := range levelRuns {
		rows = append(rows, w.row(&levelRuns[i], threads))
	}
	for i := range peerRuns {
		rows = append(rows, w.peerRow(&peerRuns[i], threads))
	}
	return rows, nil
}

// plain returns the fields that all rows of the workload share.
func (w workload) plain(threads int) Row { return Row{Op: w.op, Workers: threads, Sizes: w.Sizes} }

// startPeers returns the peers that implement the workload, warmed up.
func (w workload) startPeers(ctx context.Context, peers []Peer, threads int, d time.Duration) ([]peerRun, error) {
	var all []peerRun
	for _, p := range peers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ns, err := p.Measure(w.plain(threads), d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		if ns > 0 {
			all = append(all, peerRun{peer: p})
		}
	}
	return all, nil
}

// sample measures one round, unless the peer's time is used up.
func (g *peerRun) sample(r Row, d, budget time.Duration) error {
	if len(g.ns) >= leastSlow && g.spent >= budget {
		return nil
	}
	begin := time.Now()
	ns, err := g.peer.Measure(r, d)
	if err != nil {
		return fmt.Errorf("%s: %w", g.peer.Name(), err)
	}
	g.ns, g.spent = append(g.ns, ns), g.spent+time.Since(begin)
	return nil
}

// begin starts the engines at their level and warms them up for samples of duration d.
func (c *levelRun) begin(ctx context.Context, w workload, threads int, d time.Duration) (err error) {
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
	c.peak.warmUp(max(d/8, leastPeak))
	c.work.warmUp(d)
	return nil
}

// sample measures one round, unless the time of a slow workload is used up.
func (c *levelRun) sample(round int) error {
	if round >= leastSlow && c.spent >= c.budget {
		return nil
	}
	if err := vek.SetLevel(c.level); err != nil {
		return err
	}
	c.peak.sample()
	c.spent += c.work.sample()
	return nil
}

// warmUp determines the number of calls that take d.
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
	took := max(s.time(), 1) // the clock may be coarse
	s.ns = append(s.ns, float64(took)/float64(s.calls))
	return took
}

// row returns the row of a level.
func (w workload) row(c *levelRun, threads int) Row {
	if w.op == fma.op {
		w.flops = c.peakFlops
	}
	r := w.timed(median(c.work.ns)/w.units, threads)
	r.Level = string(c.level)
	r.Peak = r.GFLOPS / (float64(threads) * c.peakFlops / median(c.peak.ns))
	return r
}

func (w workload) peerRow(g *peerRun, threads int) Row {
	r := w.timed(median(g.ns), threads)
	r.Peer = g.peer.Name()
	return r
}

// timed computes the fields that follow from the time per unit.
func (w workload) timed(ns float64, threads int) Row {
	copies := float64(threads)
	if w.shared {
		copies = 1
	}
	r := w.plain(threads)
	call := ns * w.units
	r.NS, r.GFLOPS, r.GBPerSecond = ns, copies*w.flops/call, copies*w.bytes/call
	r.SequencesPerSecond = 1e9 * w.sequences / call
	return r
}

// median returns the median of x. It sorts x.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
