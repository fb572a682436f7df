package par_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
)

var workerCounts = []int{0, 1, 2, 3, 8}

// Every item is done exactly once by a worker in range, for any number of workers.
func TestFor(t *testing.T) {
	for _, workers := range workerCounts {
		p := par.New(workers)
		want := workers
		if workers == 0 {
			want = runtime.GOMAXPROCS(0)
		}
		must.Equal(t, p.Workers(), want, "New(%d): workers", workers)
		for _, items := range []int{0, 1, 2, 7, 1000} {
			done := make([]atomic.Int32, items)
			var outside atomic.Int32
			p.For(items, func(worker, item int) {
				if worker < 0 || worker >= p.Workers() {
					outside.Add(1)
				}
				done[item].Add(1)
			})
			for i := range done {
				must.Equal(t, done[i].Load(), 1, "%d workers, %d items: times that item %d was done", workers, items, i)
			}
			if outside.Load() > 0 {
				t.Errorf("%d workers, %d items: worker index out of range", workers, items)
			}
		}
		p.Close()
	}
}

// One item at a time uses a worker's scratch. With -race this finds two goroutines that share an
// index.
func TestWorkersDoNotShareScratch(t *testing.T) {
	p := par.New(4)
	defer p.Close()
	scratch := make([]int, p.Workers())
	p.For(5000, func(worker, _ int) { scratch[worker]++ })
	sum := 0
	for _, n := range scratch {
		sum += n
	}
	must.Equal(t, sum, 5000, "items that workers counted")
}

// A fixed partition gives the same bits for any number of workers.
func TestResultsIgnoreWorkers(t *testing.T) {
	sums := func(workers int) []float32 {
		p := par.New(workers)
		defer p.Close()
		out := make([]float32, 64)
		p.For(len(out), func(_, item int) {
			for i := range 100 {
				out[item] += 1 / float32(1+item*100+i)
			}
		})
		return out
	}
	want := sums(1)
	for _, workers := range workerCounts {
		if !slices.Equal(sums(workers), want) {
			t.Errorf("%d workers: results differ from those of one worker", workers)
		}
	}
}

// After an error or a cancellation no further job begins. The error or the cause is returned.
func TestEach(t *testing.T) {
	bad := errors.New("bad")
	for name, fourth := range map[string]func(cancel context.CancelCauseFunc) error{
		"error":        func(context.CancelCauseFunc) error { return bad },
		"cancellation": func(cancel context.CancelCauseFunc) error { cancel(bad); return nil },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := 0
		err := par.Each(ctx, 1, 9, func(_ context.Context, i int) error {
			begun++
			if i == 3 {
				return fourth(cancel)
			}
			return nil
		})
		must.Equal(t, err, bad, "%s: result", name)
		must.Equal(t, begun, 4, "%s: jobs begun", name)
	}
	must.Do(t, par.Each(t.Context(), 0, 0, nil))
}

func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestNegativeWorkers(t *testing.T) {
	must.Equal(t, recovered(func() { par.New(-1) }), "par: -1 workers, expected 0 or more", "recovered")
}

// synctest fails the test if a goroutine outlives Close.
func TestCloseEndsGoroutines(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		p := par.New(8)
		p.For(20, func(_, _ int) {})
		p.Close()
		p.Close() // has no effect
	})
}

// Trace receives one time per item of each loop with one worker.
func TestTrace(t *testing.T) {
	var loops [][]time.Duration
	var name string
	par.Trace = func(body string, items []time.Duration) { name, loops = body, append(loops, items) }
	defer func() { par.Trace = nil }()
	one, two := par.New(1), par.New(2)
	defer one.Close()
	defer two.Close()
	sum := 0
	one.For(3, func(_, item int) { sum += item })
	one.For(0, func(_, _ int) { t.Error("an item of an empty loop") })
	two.For(2, func(_, _ int) {})
	if !strings.Contains(name, ".TestTrace.") {
		t.Errorf("a loop of function %q", name)
	}
	if sum != 3 || len(loops) != 2 || len(loops[0]) != 3 || len(loops[1]) != 0 {
		t.Errorf("sum %d, loops %v, expected 3 and loops of 3 and 0 items", sum, loops)
	}
}
