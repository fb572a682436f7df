// Package handles holds the objects of the C library, models and streams. A handle is an integer
// that identifies an object; it is not a pointer. The package is plain Go, so that its tests do not
// need a C compiler.
//
// A process never reuses a handle. A call returns an error if its handle does not exist, was
// destroyed, or belongs to the other kind of object, and if another thread is using the stream. A
// panic in a stream is returned as an error.
package handles

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Code is the kind of an error, a status of s4d.h.
type Code int32

// The codes, with the values of s4d.h.
const (
	Argument Code = 1 + iota // an argument is out of range
	Invalid                  // the handle does not exist
	Busy                     // another thread uses the stream
	Unusable                 // the model file is damaged, or not that of a detector
	Mismatch                 // the snapshot is damaged, or of another model
	Space                    // the buffer is too small
	Pending                  // events wait to be fetched
	Output                   // the network's output is not finite
	Internal                 // a defect of the library
)

// Error is the error of every method of a Table.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error with a code.
func Errorf(code Code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// CodeOf returns the code of an error of this package, and Internal for others.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Table holds objects by their handles. The zero value is an empty table.
type Table struct {
	mu      sync.RWMutex
	last    uint64
	objects map[uint64]any // *Model or *Stream
}

// add returns the handle of a new object.
func (t *Table) add(object any) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.objects == nil {
		t.objects = map[uint64]any{}
	}
	t.last++
	t.objects[t.last] = object
	return t.last
}

// find returns the object of a handle, which must be a T.
func find[T any](t *Table, handle uint64, what string) (object T, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	object, ok := t.objects[handle].(T)
	if !ok {
		err = Errorf(Invalid, "handle %d is not that of a %s, or the %[2]s has been destroyed", handle, what)
	}
	return object, err
}

func (t *Table) remove(handle uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.objects, handle)
}

// Recover stores a panic as an error in *err. It also catches a fault of a memory access, if the
// goroutine has called debug.SetPanicOnFault. Use it with defer.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = Errorf(Internal, "panic: %v; a stream that was in use must be reset\n%s", v, debug.Stack())
	}
}
