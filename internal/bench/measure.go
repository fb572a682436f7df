package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Every level of a row is measured at least leastRounds times, or leastSlow times where calls are longer than the time
// for them all, and for so long at a time at most; the median counts.
const (
	leastRounds = 9
	leastSlow   = 3
	longest     = 50 * time.Millisecond
	leastPeak   = 5 * time.Millisecond // threads take a while to get going
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

// peerRun is a peer in the measurement of a row.
type peerRun struct {
	peer  Peer
	ns    []float64 // of a unit, sample by sample
	spent time.Duration
}

// levelRun is a level in the measurement of a row.
type levelRun struct {
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

// measure returns a row a level, and then one a peer that does the same.
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

// plain is what all rows of the workload have in common.
func (w workload) plain(threads int) Row { return Row{Op: w.op, Workers: threads, Sizes: w.Sizes} }

// startPeers returns those peers that do the workload, warmed up.
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

// sample measures one round, unless the peer has used up its time.
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

// begin starts the engines at their level and warms them up, to take samples of the length d.
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

// sample measures one round, unless a slow workload has used up its time.
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

// timed fills in what follows from the time of a unit.
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

// median returns the middle of x, or the mean of the two in the middle; x comes out sorted.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
