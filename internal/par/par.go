// Package par runs loops in parallel over a fixed partition.
//
// The caller cuts the work into items whose boundaries do not depend on the number of workers, and each
// item writes its own output; then the result is bit-identical for any number of workers. No goroutine
// outlives a call unless a Pool is used, and a Pool's goroutines end with Close.
package par

import (
	"sync"
	"sync/atomic"
)

// Pool is a fixed set of workers owned by one caller. A call of For allocates nothing.
type Pool struct {
	workers int
	body    func(worker, item int)
	items   int64
	next    atomic.Int64
	start   []chan struct{}
	done    sync.WaitGroup
	failed  atomic.Pointer[panicked]
}

type panicked struct{ value any }

// New starts a pool of workers (at least one; the calling goroutine is worker 0).
func New(workers int) *Pool {
	p := &Pool{workers: max(workers, 1)}
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

// For calls body(worker, item) once for every item in [0, items), worker in [0, Workers()). It returns
// when all are done. A panic in body is raised again in the caller. For must not be called from body,
// nor from two goroutines at once.
func (p *Pool) For(items int, body func(worker, item int)) {
	if p.workers == 1 || items == 1 {
		for i := range items {
			body(0, i)
		}
		return
	}
	p.body, p.items = body, int64(items)
	p.next.Store(0)
	p.failed.Store(nil)
	p.done.Add(len(p.start))
	for _, c := range p.start {
		c <- struct{}{}
	}
	p.run(0)
	p.done.Wait()
	p.body = nil
	if f := p.failed.Load(); f != nil {
		panic(f.value)
	}
}

func (p *Pool) run(worker int) {
	defer func() {
		if v := recover(); v != nil {
			p.failed.CompareAndSwap(nil, &panicked{v})
			p.next.Store(p.items)
		}
	}()
	for {
		i := p.next.Add(1) - 1
		if i >= p.items {
			return
		}
		p.body(worker, int(i))
	}
}

// Close ends the workers. The pool must not be used afterwards.
func (p *Pool) Close() {
	for _, c := range p.start {
		close(c)
	}
	p.start = nil
	p.workers = 1
}
