// Package par runs loops in parallel.
//
// The caller cuts the work into items whose borders do not depend on the number of workers. Each
// item writes to memory of its own, so the result is bit-identical for any number of workers. The
// goroutines of a Pool end with Close.
package par

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is a fixed set of workers owned by one caller. A call of For allocates nothing.
type Pool struct {
	workers int
	body    func(worker, item int)
	items   int64
	next    atomic.Int64
	start   []chan struct{}
	done    sync.WaitGroup
}

// Trace, if not nil, is called after every loop of a pool with one worker, with the name of the
// loop's function and the time of each item. Only benchmarks set it, before they create pools.
var Trace func(body string, items []time.Duration)

// Workers resolves a number of workers that a caller asks for: 0 means one per processor
// (GOMAXPROCS).
func Workers(n int) int { return cmp.Or(n, runtime.GOMAXPROCS(0)) }

// New starts a pool; workers 0 means one per processor. The goroutine that calls For is worker 0.
func New(workers int) *Pool {
	if workers < 0 {
		panic(fmt.Sprintf("par: %d workers, expected 0 or more", workers))
	}
	p := &Pool{workers: Workers(workers)}
	for w := 1; w < p.workers; w++ {
		c := make(chan struct{}, 1)
		p.start = append(p.start, c)
		go func() {
			for range c {
				p.run(w)
				p.done.Done()
			}
		}()
	}
	return p
}

// Workers returns the number of workers, for sizing per-worker scratch.
func (p *Pool) Workers() int { return p.workers }

// For calls body(worker, item) once for every item in [0, items), with worker in [0, Workers()).
// Workers take the items in ascending order. For returns when all are done. It must not be called
// from body, nor from two goroutines at once.
func (p *Pool) For(items int, body func(worker, item int)) {
	if Trace != nil && len(p.start) == 0 {
		times := make([]time.Duration, items)
		for i := range times {
			began := time.Now()
			body(0, i)
			times[i] = time.Since(began)
		}
		Trace(runtime.FuncForPC(reflect.ValueOf(body).Pointer()).Name(), times)
		return
	}
	p.body, p.items = body, int64(items)
	p.next.Store(0)
	if items > 1 {
		p.done.Add(len(p.start))
		for _, c := range p.start {
			c <- struct{}{}
		}
	}
	p.run(0)
	p.done.Wait()
	p.body = nil
}

func (p *Pool) run(worker int) {
	for i := p.next.Add(1) - 1; i < p.items; i = p.next.Add(1) - 1 {
		p.body(worker, int(i))
	}
}

// Each calls job for every i in [0, n), on a number of workers; 0: one per processor. After an
// error, or if ctx is cancelled, it starts no further job. It returns the first error, or the
// cause.
func Each(ctx context.Context, workers, n int, job func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := New(min(Workers(workers), max(n, 1)))
	defer p.Close()
	p.For(n, func(_, i int) {
		if ctx.Err() == nil {
			if err := job(ctx, i); err != nil {
				cancel(err)
			}
		}
	})
	return context.Cause(ctx)
}

// Close ends the workers. The pool must not be used afterwards.
func (p *Pool) Close() {
	for _, c := range p.start {
		close(c)
	}
	p.start = nil
	p.workers = 1
}
