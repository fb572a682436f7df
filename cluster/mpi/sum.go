package mpi

// #include "calls.h"
import "C"

import (
	"fmt"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/shard"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// maxSums is the largest number of sums in progress. Sum waits while there are as many.
const maxSums = 16

// unit is the number of floats by which vectors are divided among ranks: a cache line.
const unit = 16

// layout says how vectors of one length are divided. Each rank adds one part of all vectors.
type layout struct {
	parts                     []shard.Span // of the vector, by rank
	nodes                     int          // that this rank passes
	order                     []shard.Addition
	terms                     int     // nodes of all ranks
	sendCounts, sendAt        []C.int // floats, to each rank
	receivedCounts, receiveAt []C.int
	partCounts, partAt        []C.int
	err                       error // of a length that MPI cannot address
}

// layout returns the layout of vectors of a length in a run with so many shards.
func (w *World) layout(length, shards int) *layout {
	key := [2]int{length, shards}
	if l := w.cache[key]; l != nil {
		return l
	}
	l := &layout{}
	for r := range w.ranks {
		p := shard.Of((length+unit-1)/unit, w.ranks, r)
		l.parts = append(l.parts, shard.Span{Lo: min(unit*p.Lo, length), Hi: min(unit*p.Hi, length)})
	}
	var all []shard.Span
	most, longest := 0, 0 // nodes of a rank, values of a part
	own := l.parts[w.rank].Len()
	for r := range w.ranks {
		nodes := shard.Cover(shards, shard.Of(shards, w.ranks, r))
		all, most = append(all, nodes...), max(most, len(nodes))
		if r == w.rank {
			l.nodes = len(nodes)
		}
		l.receivedCounts = append(l.receivedCounts, C.int(len(nodes)*own))
		l.partCounts = append(l.partCounts, C.int(l.parts[r].Len()))
	}
	for _, p := range l.parts {
		l.sendCounts, longest = append(l.sendCounts, C.int(l.nodes*p.Len())), max(longest, p.Len())
	}
	l.order, l.terms = shard.Additions(all), len(all)
	if n := max(most*length, l.terms*longest); n > math.MaxInt32 {
		l.err = fmt.Errorf("mpi: %d values in one exchange, expected at most %d: use fewer shards, more ranks or a smaller network", n, math.MaxInt32)
	}
	l.sendAt, _ = offsets(l.sendCounts)
	l.receiveAt, _ = offsets(l.receivedCounts)
	l.partAt, _ = offsets(l.partCounts)
	w.cache[key] = l
	return l
}

// sum is a sum in progress: first all ranks exchange their parts, then each adds those of its own
// part, and then all receive the total.
type sum struct {
	*layout
	total          []float32 // the first vector
	sent, received []float32 // memory
	request        request
	added          bool // this rank's part is complete
	spreading      bool
}

// Sum is that of train.Group.
func (w *World) Sum(nodes [][]float32, shards int) {
	l := w.layout(len(nodes[0]), shards) // the thread of MPI does not use the cache
	if l.err == nil && len(nodes) != l.nodes {
		panic(fmt.Sprintf("mpi: Sum of %d vectors, expected %d", len(nodes), l.nodes))
	}
	list := append([][]float32(nil), nodes...)
	// An error is that of the next call that is waited for.
	_ = w.do(&call{start: func() error {
		if l.err != nil {
			return l.err
		}
		for began := time.Now(); len(w.sums) == maxSums; {
			moved, err := w.poll(true)
			if moved {
				began = time.Now()
			}
			if err == nil {
				err = w.late(began)
			}
			if err != nil {
				return err
			}
		}
		s := w.newSum()
		s.layout, s.total, s.added, s.spreading = l, list[0], false, false
		s.received = grow(s.received, l.terms*l.parts[w.rank].Len())
		send := list[0]
		if len(list) > 1 {
			s.sent = grow(s.sent, len(list)*len(list[0]))
			at := 0
			for _, p := range l.parts {
				for _, v := range list {
					at += copy(s.sent[at:], v[p.Lo:p.Hi])
				}
			}
			send = s.sent
		}
		w.sums = append(w.sums, s)
		r := &s.request
		return check("MPI_Ialltoallv", C.s4d_alltoall(
			(*C.float)(pin(r, send)), pin(r, l.sendCounts), pin(r, l.sendAt),
			(*C.float)(pin(r, s.received)), pin(r, l.receivedCounts), pin(r, l.receiveAt), r.handle))
	}})
}

func (w *World) newSum() *sum {
	if last := len(w.free) - 1; last >= 0 {
		s := w.free[last]
		w.free = w.free[:last]
		return s
	}
	return &sum{request: request{handle: newHandle()}}
}

// grow returns a slice of the length, s itself if it is long enough.
func grow(s []float32, length int) []float32 {
	if cap(s) < length {
		return vek.Aligned(length)
	}
	return s[:length]
}

// advance continues a sum whose operation is complete.
func (w *World) advance(s *sum) error {
	if s.spreading {
		for i, other := range w.sums {
			if other == s {
				w.sums = append(w.sums[:i], w.sums[i+1:]...)
				break
			}
		}
		w.free = append(w.free, s)
		return nil
	}
	n := s.parts[w.rank].Len()
	for _, a := range s.order {
		to, from := s.received[a.To*n:(a.To+1)*n], s.received[a.From*n:(a.From+1)*n]
		vek.Add(to, to, from)
	}
	s.added = true
	for _, s := range w.sums { // all ranks spread the totals in the same order
		if !s.added {
			break
		}
		if s.spreading {
			continue
		}
		s.spreading = true
		r, n := &s.request, s.parts[w.rank].Len()
		if err := check("MPI_Iallgatherv", C.s4d_allgather_floats(
			(*C.float)(pin(r, s.received[:n])), C.int(n), (*C.float)(pin(r, s.total)), pin(r, s.partCounts), pin(r, s.partAt), r.handle)); err != nil {
			return err
		}
	}
	return nil
}

// Wait is that of train.Group.
func (w *World) Wait() error {
	return w.do(&call{start: func() error { return nil }, wait: func() bool { return len(w.sums) == 0 }})
}
