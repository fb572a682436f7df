// Command capi is the C library:
//
//	go build -buildmode=c-shared -o libs4d.so ./capi
//
// s4d.h describes the functions, and docs/embedding.md describes how to use them. s4d.c checks
// pointers and lengths, and calls the functions of this file. The package requires cgo.
package main

// #cgo CFLAGS: -std=gnu11
// #include "fail.h"
import "C"

import (
	"runtime/debug"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/capi/internal/handles"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
)

var table handles.Table

func main() {} // required by -buildmode=c-shared, and not called

// status calls f, stores the text of its error, and returns its code. A panic is an error, and so
// is a pointer of the caller to memory that does not exist.
func status(f func() error) C.int32_t {
	err := func() (err error) {
		defer handles.Recover(&err)
		debug.SetPanicOnFault(true) // of this goroutine, which is that of the C thread
		return f()
	}()
	if err == nil {
		return C.S4D_OK
	}
	text := err.Error()
	return C.s4d_fail(C.s4d_status(handles.CodeOf(err)), (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}

// create stores the handle that f returns.
func create(handle *C.uint64_t, f func() (uint64, error)) C.int32_t {
	return status(func() error {
		h, err := f()
		if err == nil {
			*handle = C.uint64_t(h)
		}
		return err
	})
}

// count stores the number that f returns, also after an error, unless n is nil.
func count(n *C.size_t, f func() (int, error)) C.int32_t {
	return status(func() error {
		got, err := f()
		if n != nil {
			*n = C.size_t(got)
		}
		return err
	})
}

// use is count for a call that uses a stream.
func use(stream C.uint64_t, n *C.size_t, f func(*handles.Stream) (int, error)) C.int32_t {
	return count(n, func() (int, error) { return table.Use(uint64(stream), f) })
}

func text(p *C.char, n C.size_t) string { return C.GoStringN(p, C.int(n)) }

func slice[T, P any](p *P, n C.size_t) []T { return unsafe.Slice((*T)(unsafe.Pointer(p)), int(n)) }

func bytesAt(p unsafe.Pointer, n C.size_t) []byte { return unsafe.Slice((*byte)(p), int(n)) }

// These arrays have the size 0 if and only if events have the same size and fields at the same
// places in C and in Go.
var (
	_ [unsafe.Sizeof(C.s4d_event{}) - unsafe.Sizeof(handles.Event{})]struct{}
	_ [unsafe.Sizeof(handles.Event{}) - unsafe.Sizeof(C.s4d_event{})]struct{}
	_ [unsafe.Offsetof(C.s4d_event{}.label) - unsafe.Offsetof(handles.Event{}.Label)]struct{}
	_ [unsafe.Offsetof(C.s4d_event{}.confidence) - unsafe.Offsetof(handles.Event{}.Confidence)]struct{}
)

// terminated copies a text with a terminating 0 to C, truncated to the capacity.
func terminated(p *C.char, capacity C.size_t, s string) {
	dst := slice[byte](p, capacity)
	dst[copy(dst[:len(dst)-1], s)] = 0
}

//export s4dVersion
func s4dVersion(p *C.char, capacity C.size_t) {
	terminated(p, capacity, program.Version())
}

//export s4dLevel
func s4dLevel(p *C.char, capacity C.size_t) { terminated(p, capacity, level.Current()) }

//export s4dModelBuiltin
func s4dModelBuiltin(name *C.char, n C.size_t, model *C.uint64_t) C.int32_t {
	return create(model, func() (uint64, error) { return table.Builtin(text(name, n)) })
}

//export s4dModelLoad
func s4dModelLoad(path *C.char, n C.size_t, model *C.uint64_t) C.int32_t {
	return create(model, func() (uint64, error) { return table.Load(text(path, n)) })
}

//export s4dModelRead
func s4dModelRead(p unsafe.Pointer, n C.size_t, model *C.uint64_t) C.int32_t {
	return create(model, func() (uint64, error) { return table.Read(bytesAt(p, n)) })
}

//export s4dModelGetOptions
func s4dModelGetOptions(model C.uint64_t, options *C.s4d_options) C.int32_t {
	return status(func() error {
		m, err := table.Model(uint64(model))
		if err != nil {
			return err
		}
		o := m.Options
		*options = C.s4d_options{
			threshold: C.double(o.Threshold), off_threshold: C.double(o.OffThreshold), refractory: C.double(o.Refractory),
			smoothing: C.double(o.Smoothing), confirm: C.int32_t(o.Confirm),
		}
		return nil
	})
}

//export s4dModelWithOptions
func s4dModelWithOptions(model C.uint64_t, o *C.s4d_options, changed *C.uint64_t) C.int32_t {
	return create(changed, func() (uint64, error) {
		return table.WithOptions(uint64(model), events.Options{
			Threshold: float64(o.threshold), OffThreshold: float64(o.off_threshold), Refractory: float64(o.refractory),
			Smoothing: float64(o.smoothing), Confirm: int(o.confirm),
		})
	})
}

//export s4dModelGetInfo
func s4dModelGetInfo(model C.uint64_t, info *C.s4d_model_info) C.int32_t {
	return status(func() error {
		m, err := table.Model(uint64(model))
		if err != nil {
			return err
		}
		*info = C.s4d_model_info{
			sample_rate: C.double(m.SampleRate()), stream_bytes: C.int64_t(m.StateBytes()),
			labels: C.int32_t(len(m.Labels)), frame: C.int32_t(m.Frame()),
		}
		return nil
	})
}

//export s4dModelLabel
func s4dModelLabel(model C.uint64_t, label C.int32_t, p *C.char, capacity C.size_t, length *C.size_t) C.int32_t {
	return count(length, func() (int, error) {
		m, err := table.Model(uint64(model))
		if err != nil {
			return 0, err
		}
		if label < 0 || int(label) >= len(m.Labels) {
			return 0, handles.Errorf(handles.Argument, "label %d, expected 0 … %d", label, len(m.Labels)-1)
		}
		s := m.Labels[label]
		if len(s) >= int(capacity) {
			return len(s), handles.Errorf(handles.Space, "room for %d bytes of a label, expected %d", capacity, len(s)+1)
		}
		terminated(p, capacity, s)
		return len(s), nil
	})
}

//export s4dModelDestroy
func s4dModelDestroy(model C.uint64_t) C.int32_t {
	return status(func() error { return table.DestroyModel(uint64(model)) })
}

//export s4dStreamCreate
func s4dStreamCreate(model C.uint64_t, stream *C.uint64_t) C.int32_t {
	return create(stream, func() (uint64, error) { return table.NewStream(uint64(model)) })
}

//export s4dStreamProcess
func s4dStreamProcess(stream C.uint64_t, x *C.float, n C.size_t, list *C.s4d_event, capacity C.size_t, found *C.size_t) C.int32_t {
	return use(stream, found, func(s *handles.Stream) (int, error) {
		return s.Process(slice[float32](x, n), slice[handles.Event](list, capacity))
	})
}

//export s4dStreamFlush
func s4dStreamFlush(stream C.uint64_t, list *C.s4d_event, capacity C.size_t, found *C.size_t) C.int32_t {
	return use(stream, found, func(s *handles.Stream) (int, error) { return s.Flush(slice[handles.Event](list, capacity)) })
}

//export s4dStreamSkip
func s4dStreamSkip(stream C.uint64_t, lost C.int64_t, list *C.s4d_event, capacity C.size_t, found *C.size_t) C.int32_t {
	return use(stream, found, func(s *handles.Stream) (int, error) { return s.Skip(int64(lost), slice[handles.Event](list, capacity)) })
}

//export s4dStreamPending
func s4dStreamPending(stream C.uint64_t, n *C.size_t) C.int32_t {
	return use(stream, n, (*handles.Stream).Waiting)
}

//export s4dStreamPosition
func s4dStreamPosition(stream C.uint64_t, position *C.int64_t) C.int32_t {
	return use(stream, nil, func(s *handles.Stream) (int, error) {
		*position = C.int64_t(s.Position())
		return 0, nil
	})
}

//export s4dStreamPosterior
func s4dStreamPosterior(stream C.uint64_t, p *C.float, capacity C.size_t, n *C.size_t) C.int32_t {
	return use(stream, n, func(s *handles.Stream) (int, error) { return s.Posterior(slice[float32](p, capacity)) })
}

//export s4dStreamReset
func s4dStreamReset(stream C.uint64_t) C.int32_t { return use(stream, nil, (*handles.Stream).Reset) }

//export s4dStreamSnapshot
func s4dStreamSnapshot(stream C.uint64_t, p unsafe.Pointer, capacity C.size_t, n *C.size_t) C.int32_t {
	return use(stream, n, func(s *handles.Stream) (int, error) { return s.Snapshot(bytesAt(p, capacity)) })
}

//export s4dStreamRestore
func s4dStreamRestore(stream C.uint64_t, p unsafe.Pointer, n C.size_t) C.int32_t {
	return use(stream, nil, func(s *handles.Stream) (int, error) { return 0, s.Restore(bytesAt(p, n)) })
}

//export s4dStreamDestroy
func s4dStreamDestroy(stream C.uint64_t) C.int32_t {
	return status(func() error { return table.DestroyStream(uint64(stream)) })
}
