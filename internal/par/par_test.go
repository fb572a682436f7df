package par_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/par"
)

var workerCounts = []int{-1, 0, 1, 2, 3, 8}

// Every item is done exactly once, by a worker in range, for any number of workers.
func TestFor(t *testing.T) {
	for _, workers := range workerCounts {
		p := par.New(workers)
		if want := max(workers, 1); p.Workers() != want {
			t.Errorf("New(%d): %d workers, want %d", workers, p.Workers(), want)
		}
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
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d workers, %d items: item %d done %d times", workers, items, i, n)
				}
			}
			if outside.Load() > 0 {
				t.Errorf("%d workers, %d items: worker index out of range", workers, items)
			}
		}
		p.Close()
	}
}

// Scratch of a worker is used by one item at a time. Run with -race, this finds two goroutines with one index.
func TestWorkersDoNotShareScratch(t *testing.T) {
	p := par.New(4)
	defer p.Close()
	scratch := make([]int, p.Workers())
	p.For(5000, func(worker, _ int) { scratch[worker]++ })
	sum := 0
	for _, n := range scratch {
		sum += n
	}
	if sum != 5000 {
		t.Errorf("workers counted %d items, want 5000", sum)
	}
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
			t.Errorf("%d workers: other results than one worker's", workers)
		}
	}
}

// A panic reaches the caller, from whichever worker, and the pool works on.
func TestPanic(t *testing.T) {
	for _, workers := range workerCounts {
		p := par.New(workers)
		for _, bad := range []int{0, 57, 99} {
			if got := recovered(func() {
				p.For(100, func(_, item int) {
					if item == bad {
						panic(fmt.Sprintf("item %d", item))
					}
				})
			}); got != fmt.Sprintf("item %d", bad) {
				t.Errorf("%d workers: recovered %v, want item %d", workers, got, bad)
			}
			var n atomic.Int32
			p.For(100, func(_, _ int) { n.Add(1) })
			if n.Load() != 100 {
				t.Errorf("%d workers: %d of 100 items after a panic", workers, n.Load())
			}
		}
		p.Close()
	}
}

func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestCloseEndsGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		p := par.New(8)
		p.For(20, func(_, _ int) {})
		p.Close()
		p.Close() // a second one does nothing
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines after Close, %d before New", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestForAllocatesNothing(t *testing.T) {
	for _, workers := range workerCounts {
		p := par.New(workers)
		out := make([]int, 100)
		body := func(_, item int) { out[item]++ }
		if n := testing.AllocsPerRun(50, func() { p.For(len(out), body) }); n != 0 {
			t.Errorf("%d workers: %v allocations a call", workers, n)
		}
		p.Close()
	}
}
