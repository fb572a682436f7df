// Package mpi joins the processes that Open MPI's mpirun has started, so that they train one
// network together (train.Options.Group, docs/mpi.md).
//
// MPI only moves data here. The additions are in Go, in the order of package internal/shard, so
// that the bits of a sum do not depend on the number of ranks. All calls of MPI come from one
// thread (MPI_THREAD_FUNNELED), which also adds, while the network computes in other threads.
package mpi

// #cgo pkg-config: ompi-c
// #include <stdlib.h>
// #include <unistd.h>
// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

// World is the train.Group of all ranks. One goroutine at a time may use it.
type World struct {
	rank, ranks int
	patience    atomic.Int64 // nanoseconds

	calls chan *call
	wake  *C.int32_t // not 0 while a call waits to be started
	quit  chan struct{}
	cache map[[2]int]*layout // of the caller of Sum

	// Of the thread that calls MPI.
	sums    []*sum  // that are not complete, in their order
	waiting *call   // that the caller waits for; nil: none
	failed  error   // of an earlier call
	current request // of waiting
	free    []*sum
	lost    []*sum // not complete when an error occurred; MPI may still write to their memory
}

// call is a call of the thread of MPI.
type call struct {
	start func() error // starts operations; it may set World.current
	wait  func() bool  // reports whether the call is complete; nil: it need not be waited for
	done  chan error
}

// request is an operation of MPI in progress.
type request struct {
	handle *C.MPI_Request // in C memory; nil: none
	pins   runtime.Pinner
}

// Init joins the ranks. If a call waits longer than patience for other ranks, it returns an error;
// 0: it waits without a limit. Init may be called once in a process.
func Init(patience time.Duration) (*World, error) {
	w := &World{
		calls: make(chan *call), quit: make(chan struct{}), cache: map[[2]int]*layout{},
		wake: (*C.int32_t)(C.calloc(1, C.size_t(unsafe.Sizeof(C.int32_t(0))))),
	}
	w.SetPatience(patience)
	w.current.handle = newHandle()
	ready := make(chan error)
	go w.run(ready)
	return w, <-ready
}

func newHandle() *C.MPI_Request {
	return (*C.MPI_Request)(C.calloc(1, C.size_t(unsafe.Sizeof(C.MPI_Request(nil)))))
}

// check returns the error of a code that MPI returned.
func check(what string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	var text [C.MPI_MAX_ERROR_STRING]C.char
	C.s4d_error(code, &text[0])
	return fmt.Errorf("mpi: %s: %s", what, C.GoString(&text[0]))
}

// SetPatience sets the time after which a call that waits for other ranks returns an error; 0: it
// waits without a limit. Any goroutine may call it.
func (w *World) SetPatience(d time.Duration) { w.patience.Store(int64(d)) }

// Rank returns the index of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Ranks returns the number of processes.
func (w *World) Ranks() int { return w.ranks }

// run is the thread that calls MPI.
func (w *World) run(ready chan error) {
	runtime.LockOSThread()
	defer close(w.quit)
	var rank, ranks, level C.int
	err := check("MPI_Init", C.s4d_init(&rank, &ranks, &level))
	if err == nil && level < C.MPI_THREAD_FUNNELED {
		err = errors.New("mpi: the library does not support MPI_THREAD_FUNNELED")
	}
	w.rank, w.ranks = int(rank), int(ranks)
	ready <- err
	if err != nil {
		return
	}
	for {
		if w.waiting == nil && (len(w.sums) == 0 || atomic.LoadInt32((*int32)(w.wake)) != 0) {
			c, ok := <-w.calls
			if !ok {
				return
			}
			atomic.StoreInt32((*int32)(w.wake), 0)
			w.begin(c)
		}
		w.progress()
	}
}

// begin starts a call.
func (w *World) begin(c *call) {
	err := w.failed
	if err == nil {
		err = c.start()
	}
	if err != nil || c.wait == nil {
		w.failed = err
		c.done <- err
		return
	}
	w.waiting = c
}

// do runs a call in the thread of MPI and returns its error.
func (w *World) do(c *call) error {
	c.done = make(chan error, 1)
	atomic.StoreInt32((*int32)(w.wake), 1)
	w.calls <- c
	return <-c.done
}

// pollMicroseconds bounds the time in which a lost rank is not noticed, and a call is not started.
const pollMicroseconds = 10000

// progress advances the operations until the call that is waited for is complete, or another call
// arrives.
func (w *World) progress() {
	began := time.Now()
	for {
		if c := w.waiting; c != nil && (w.failed != nil || c.wait()) {
			w.waiting = nil
			c.done <- w.failed
			return
		}
		if w.failed != nil {
			w.lost, w.sums = append(w.lost, w.sums...), nil
		}
		if w.waiting == nil && (len(w.sums) == 0 || atomic.LoadInt32((*int32)(w.wake)) != 0) {
			return
		}
		if moved, err := w.poll(w.waiting != nil); err != nil {
			w.failed = err
		} else if moved {
			began = time.Now()
		}
		if w.waiting != nil && w.failed == nil {
			w.failed = w.late(began)
		}
	}
}

// late returns an error if a call has waited longer than the patience for other ranks.
func (w *World) late(began time.Time) error {
	limit := time.Duration(w.patience.Load())
	if waited := time.Since(began); limit > 0 && waited > limit {
		return fmt.Errorf("mpi: rank %d has waited %v for the other ranks: one of them is lost or does not respond", w.rank, waited.Round(100*time.Millisecond))
	}
	return nil
}

// poll tests the operations in progress, and reports whether one is complete. If busy, it does not
// sleep between tests.
func (w *World) poll(busy bool) (moved bool, err error) {
	var list [maxSums + 1]C.MPI_Request
	var owners [maxSums + 1]*sum
	count := 0
	if *w.current.handle != nil {
		list[count] = *w.current.handle
		count++
	}
	for _, s := range w.sums {
		if *s.request.handle != nil {
			list[count], owners[count] = *s.request.handle, s
			count++
		}
	}
	fast := C.int(0)
	if busy {
		fast = 1
	}
	index := C.int(-1)
	if err := check("MPI_Testany", C.s4d_poll(&list[0], C.int(count), fast, w.wake, pollMicroseconds, &index)); err != nil {
		return false, err
	}
	if index < 0 {
		return false, nil
	}
	s := owners[index]
	if s == nil {
		w.current.finish()
		return true, nil
	}
	s.request.finish()
	return true, w.advance(s)
}

// finish ends a request that is complete.
func (r *request) finish() {
	*r.handle = nil
	r.pins.Unpin()
}

// pin returns the address of a slice's memory, which stays valid until finish.
func pin[T any](r *request, v []T) *T {
	if len(v) == 0 {
		return nil
	}
	p := unsafe.SliceData(v)
	r.pins.Pin(p)
	return p
}

// offsets returns the positions of consecutive parts, and their sum.
func offsets(counts []C.int) (at []C.int, total int) {
	at = make([]C.int, len(counts))
	for i, n := range counts {
		at[i] = C.int(total)
		total += int(n)
	}
	return at, total
}

func cInts(list []int) []C.int {
	out := make([]C.int, len(list))
	for i, v := range list {
		out[i] = C.int(v)
	}
	return out
}

// Gather is that of train.Group.
func (w *World) Gather(dst, values []float64, counts []int) error {
	n := cInts(counts)
	at, total := offsets(n)
	if len(counts) != w.ranks || total != len(dst) || len(values) != counts[w.rank] {
		return fmt.Errorf("mpi: Gather of %d values from %d, counts %v", len(dst), len(values), counts)
	}
	r := &w.current
	return w.do(&call{
		start: func() error {
			return check("MPI_Iallgatherv", C.s4d_allgather_doubles(
				(*C.double)(pin(r, values)), C.int(len(values)), (*C.double)(pin(r, dst)), pin(r, n), pin(r, at), r.handle))
		},
		wait: func() bool { return *r.handle == nil },
	})
}

// GatherBytes is that of train.Group.
func (w *World) GatherBytes(data []byte) ([][]byte, error) {
	ones, sizes := make([]int, w.ranks), make([]float64, w.ranks)
	for i := range ones {
		ones[i] = 1
	}
	if err := w.Gather(sizes, []float64{float64(len(data))}, ones); err != nil {
		return nil, err
	}
	n, sum := make([]C.int, w.ranks), 0.0
	for i, size := range sizes {
		n[i] = C.int(int(size))
		sum += size
	}
	if sum > math.MaxInt32 {
		return nil, fmt.Errorf("mpi: %.0f bytes of all ranks, expected at most %d", sum, math.MaxInt32)
	}
	at, total := offsets(n)
	all, r := make([]byte, total), &w.current
	err := w.do(&call{
		start: func() error {
			return check("MPI_Iallgatherv", C.s4d_allgather_bytes(
				unsafe.Pointer(pin(r, data)), C.int(len(data)), unsafe.Pointer(pin(r, all)), pin(r, n), pin(r, at), r.handle))
		},
		wait: func() bool { return *r.handle == nil },
	})
	list := make([][]byte, w.ranks)
	for i := range list {
		list[i] = all[at[i] : at[i]+n[i] : at[i]+n[i]]
	}
	return list, err
}

// Finalize ends the use of MPI. All ranks must call it. After an error of another method it returns
// that error, and does not wait for other ranks.
func (w *World) Finalize() error {
	err := w.do(&call{start: func() error { return check("MPI_Finalize", C.s4d_finalize()) }})
	close(w.calls)
	<-w.quit
	return err
}

// Abort ends the processes of all ranks with an exit code. It may be called at any time, from any
// goroutine.
func Abort(code int) { C.s4d_abort(C.int(code)) }

// Processors returns the number of processors of this machine, of which a rank may be bound to a
// part.
func Processors() int { return int(C.sysconf(C._SC_NPROCESSORS_ONLN)) }
