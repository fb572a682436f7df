package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Every level and peer of a row is measured at least leastRounds times, or leastSlow times if one
// call takes longer than the time of the row. A sample takes at most longest. The median is
// reported.
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
	start     func(threads int) engine
}

// engine runs calls of a workload at the level at which it was started.
type engine struct {
	run  func(calls int)
	stop func()
}

// perThread returns the start of a workload that every thread runs separately. setup returns the
// call of one thread.
func perThread(setup func() func()) func(threads int) engine {
	return func(threads int) engine {
		var calls []func()
		for range threads {
			calls = append(calls, setup())
		}
		run := func(n int) {
			var all sync.WaitGroup
			for _, f := range calls {
				all.Go(func() { repeat(f, n) })
			}
			all.Wait()
		}
		return engine{run: run, stop: func() {}}
	}
}

// valid returns a value that is made from the constant settings of a workload, which are valid.
func valid[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func repeat(f func(), n int) {
	for range n {
		f()
	}
}

// entrant is a level or a peer that is measured for a row.
type entrant struct {
	sample func() (ns float64, err error) // time per unit
	row    func(ns float64) Row
	ns     []float64
	spent  time.Duration
}

// measure returns one row per level, and one per peer that implements the operation. All are
// measured once per round.
func (w workload) measure(ctx context.Context, levels []vek.Level, peers []Peer, threads int, budget time.Duration) (rows []Row, err error) {
	rounds := max(leastRounds, int(budget/longest))
	slice := budget / time.Duration(rounds)
	var all []*entrant
	for _, level := range levels {
		e, stop, err := w.atLevel(level, threads, slice)
		if err != nil {
			return nil, err
		}
		defer stop()
		all = append(all, e)
	}
	for _, p := range peers {
		e := w.ofPeer(p, threads, slice)
		ns, err := e.sample() // warms it up
		if err != nil {
			return nil, err
		}
		if ns > 0 {
			all = append(all, e)
		}
	}
	for round := range rounds {
		for _, e := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if round >= leastSlow && e.spent >= budget {
				continue
			}
			begin := time.Now()
			ns, err := e.sample()
			if err != nil {
				return nil, err
			}
			e.ns, e.spent = append(e.ns, ns), e.spent+time.Since(begin)
		}
	}
	for _, e := range all {
		rows = append(rows, e.row(Median(e.ns)))
	}
	return rows, nil
}

// ofPeer returns a peer as an entrant.
func (w workload) ofPeer(p Peer, threads int, d time.Duration) *entrant {
	plain := Row{Op: w.op, Workers: threads, Sizes: w.Sizes}
	return &entrant{
		sample: func() (float64, error) {
			ns, err := p.Measure(plain, d)
			if err != nil {
				err = fmt.Errorf("%s: %w", p.Name(), err)
			}
			return ns, err
		},
		row: func(ns float64) Row {
			r := w.timed(ns, threads)
			r.Peer = p.Name()
			return r
		},
	}
}

// atLevel returns a level as an entrant whose samples take about d. Each of them also measures the
// peak.
func (w workload) atLevel(level vek.Level, threads int, d time.Duration) (e *entrant, stop func(), err error) {
	if err := vek.SetLevel(level); err != nil {
		return nil, nil, err
	}
	peak, work := fma.start(threads), w.start(threads)
	_, peakFlops := vek.FMAPeak(fmaRounds)
	if w.op == fma.op {
		w.flops = peakFlops
	}
	peakCalls, calls := peak.warmUp(max(d/8, leastPeak)), work.warmUp(d)
	var peaks []float64
	e = &entrant{
		sample: func() (float64, error) {
			if err := vek.SetLevel(level); err != nil {
				return 0, err
			}
			peaks = append(peaks, peak.time(peakCalls))
			return work.time(calls) / w.units, nil
		},
		row: func(ns float64) Row {
			r := w.timed(ns, threads)
			r.Level, r.Peak = string(level), r.GFLOPS/(float64(threads)*peakFlops/Median(peaks))
			return r
		},
	}
	return e, work.stop, nil
}

// warmUp returns the number of calls that take d.
func (e engine) warmUp(d time.Duration) int {
	for calls := 1; ; {
		took := float64(calls) * e.time(calls)
		need := float64(calls) * float64(d) / took
		calls = int(min(max(need, 1), 16*float64(calls)))
		if took >= float64(d)/4 {
			return calls
		}
	}
}

// time returns the nanoseconds of each of n calls.
func (e engine) time(n int) float64 {
	begin := time.Now()
	e.run(n)
	return float64(max(time.Since(begin), 1)) / float64(n) // the clock may be coarse
}

// timed returns a row with the fields that follow from the time per unit.
func (w workload) timed(ns float64, threads int) Row {
	copies := float64(threads)
	if w.shared {
		copies = 1
	}
	call := ns * w.units
	return Row{
		Op: w.op, Workers: threads, Sizes: w.Sizes, NS: ns,
		GFLOPS: copies * w.flops / call, GBPerSecond: copies * w.bytes / call, SequencesPerSecond: 1e9 * w.sequences / call,
	}
}
