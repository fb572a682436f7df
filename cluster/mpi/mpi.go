// Package mpi joins the processes that Open MPI's mpirun has started, so that they train one
// network together (train.Options.Exchange, docs/mpi.md).
//
// MPI only moves data here. The additions are in Go, in an order that docs/maths.md §21 defines, so
// the bits of a sum do not depend on the number of ranks. In a sum of R ranks, each of log2(R)
// rounds exchanges the partial sums of two ranks, after which both have the sum of the two.
package mpi

// #cgo pkg-config: ompi-c
// #include <stdlib.h>
// #include <unistd.h>
// #include "calls.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// World is the train.Exchange of all ranks. One goroutine at a time may use it, except for
// SetPatience.
type World struct {
	rank, ranks int
	patience    *int64 // microseconds, in C memory

	// The memory that MPI reads and writes, [bufferBytes] each. It is C memory, because MPI may use
	// it after an error.
	send, received unsafe.Pointer
	failed         error // of an earlier call
}

// bufferBytes is the largest size of a message.
const bufferBytes = 1 << 20

// Init joins the ranks, whose number must be a power of two. If a call waits longer than patience
// for another rank, it returns an error; 0: it waits without a limit. Init may be called once in a
// process.
func Init(patience time.Duration) (*World, error) {
	var rank, ranks, level C.int
	if err := check("MPI_Init", C.s4d_init(&rank, &ranks, &level)); err != nil {
		return nil, err
	}
	if level < C.MPI_THREAD_SERIALIZED {
		return nil, errors.New("mpi: the library does not support MPI_THREAD_SERIALIZED")
	}
	if bits.OnesCount(uint(ranks)) != 1 {
		return nil, fmt.Errorf("mpi: %d ranks, expected a power of two", ranks)
	}
	w := &World{
		rank: int(rank), ranks: int(ranks), patience: (*int64)(C.calloc(1, 8)), send: C.calloc(1, bufferBytes), received: C.calloc(1, bufferBytes),
	}
	w.SetPatience(patience)
	return w, nil
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

// SetPatience sets the time after which a call that waits for another rank returns an error; 0: it
// waits without a limit. Any goroutine may call it.
func (w *World) SetPatience(d time.Duration) { atomic.StoreInt64(w.patience, d.Microseconds()) }

// Rank returns the index of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Ranks returns the number of processes.
func (w *World) Ranks() int { return w.ranks }

// exchange sends the first bytes of w.send to a rank, and receives bytes from it in w.received.
func (w *World) exchange(rank, send, receive int) error {
	if w.failed != nil {
		return w.failed
	}
	began, late := time.Now(), C.int(0)
	w.failed = check("exchange", C.s4d_exchange(w.send, C.int(send), w.received, C.int(receive), C.int(rank), (*C.int64_t)(w.patience), &late))
	if late != 0 {
		w.failed = fmt.Errorf("mpi: rank %d has waited %v for rank %d: a rank is lost or does not respond", w.rank, time.Since(began).Round(100*time.Millisecond), rank)
	}
	return w.failed
}

// SumGradients is that of train.Exchange.
func (w *World) SumGradients(v []float32) error { return sum(w, v, vek.Add) }

// SumStatistics is that of train.Exchange.
func (w *World) SumStatistics(v []float64) error {
	return sum(w, v, func(dst, a, b []float64) {
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	})
}

func sum[T float32 | float64](w *World, v []T, add func(dst, a, b []T)) error {
	size := int(unsafe.Sizeof(v[:1][0]))
	for len(v) > 0 {
		n := min(len(v), bufferBytes/size)
		own := v[:n]
		send, received := unsafe.Slice((*T)(w.send), n), unsafe.Slice((*T)(w.received), n)
		for distance := 1; distance < w.ranks; distance *= 2 {
			copy(send, own)
			if err := w.exchange(w.rank^distance, n*size, n*size); err != nil {
				return err
			}
			if w.rank&distance == 0 {
				add(own, own, received)
			} else {
				add(own, received, own)
			}
		}
		v = v[n:]
	}
	return nil
}

// Broadcast is that of train.Exchange.
func (w *World) Broadcast(data []byte) ([]byte, error) {
	header := make([]byte, 8)
	if w.rank == 0 {
		binary.LittleEndian.PutUint64(header, uint64(len(data)))
	}
	if err := w.spread(header); err != nil {
		return nil, err
	}
	if w.rank > 0 {
		data = make([]byte, binary.LittleEndian.Uint64(header))
	}
	for at := 0; at < len(data); at += bufferBytes {
		if err := w.spread(data[at:min(at+bufferBytes, len(data))]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// spread copies the data of rank 0 to all others. In each round the ranks that have the data send
// them to as many others.
func (w *World) spread(data []byte) error {
	for have := 1; have < w.ranks; have *= 2 {
		send, receive := 0, 0
		switch {
		case w.rank < have:
			send = copy(unsafe.Slice((*byte)(w.send), bufferBytes), data)
		case w.rank < 2*have:
			receive = len(data)
		default:
			continue
		}
		if err := w.exchange(w.rank^have, send, receive); err != nil {
			return err
		}
		if receive > 0 {
			copy(data, unsafe.Slice((*byte)(w.received), receive))
		}
	}
	return nil
}

// Finalize ends the use of MPI. All ranks must call it. After an error of another method it returns
// that error, and does not wait for other ranks.
func (w *World) Finalize() error {
	if w.failed != nil {
		return w.failed
	}
	return check("MPI_Finalize", C.s4d_finalize())
}

// Abort ends the processes of all ranks with an exit code. It may be called at any time, from any
// goroutine.
func Abort(code int) { C.s4d_abort(C.int(code)) }

// Processors returns the number of processors of this machine, of which a rank may be bound to a
// part.
func Processors() int { return int(C.sysconf(C._SC_NPROCESSORS_ONLN)) }
