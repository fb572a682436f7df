package vek_test

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// kernelCall places the arguments of calls between guard pages (canaries on systems without them)
// and checks what the calls do to them. Scratch and outputs start dirty. Begin starts the arguments
// of a call, In, InOut, Out, Scratch and their matrix forms each add one, and Do makes the call.
type kernelCall struct {
	tb     testing.TB
	memory []*memory
	args   []arg
	at     placement
}

// half is a factor that is not known to the compiler.
var half float32 = 0.5

// arg is one argument of the current call.
type arg struct {
	kind   kind
	view   vek.Matrix
	before []float32 // an input's data
}

type kind int

const (
	input kind = iota
	inOut
	output
	scratch
)

// newCall returns a kernelCall that reports to tb.
func newCall(tb testing.TB) *kernelCall { return &kernelCall{tb: tb} }

// eachCall runs f at every level and placement.
func eachCall(t *testing.T, f func(t *testing.T, c *kernelCall)) {
	t.Helper()
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c := newCall(t)
		for _, at := range placements() {
			c.Begin(at)
			f(t, c)
		}
	})
}

// Begin drops the arguments of the last call and sets the placement of the next ones. Except for
// atEnd, their alignments differ.
func (c *kernelCall) Begin(at placement) {
	c.args, c.at = c.args[:0], at
}

// Again drops the arguments of the last call and keeps the placement.
func (c *kernelCall) Again() { c.Begin(c.at) }

// In returns a copy of x that the call must not change.
func (c *kernelCall) In(x []float32) []float32 { return c.InMatrix(row(x), len(x)).Data }

// InOut returns a copy of x that the call may change.
func (c *kernelCall) InOut(x []float32) []float32 { return c.InOutMatrix(row(x), len(x)).Data }

// Out returns n dirty floats, all of which the call must write.
func (c *kernelCall) Out(n int) []float32 { return c.OutMatrix(1, n, n).Data }

// Scratch returns n dirty floats.
func (c *kernelCall) Scratch(n int) []float32 {
	return c.add(scratch, vek.Matrix{Rows: 1, Cols: n, Stride: n}, 1).Data
}

// InDoubles returns a copy of x, at an even placement, that the call must not change.
func (c *kernelCall) InDoubles(x []float64) []float64 { return c.copiedDoubles(input, x) }

// InOutDoubles returns a copy of x, at an even placement, that the call may change.
func (c *kernelCall) InOutDoubles(x []float64) []float64 { return c.copiedDoubles(inOut, x) }

// OutDoubles returns n dirty float64s, all of which the call must write.
func (c *kernelCall) OutDoubles(n int) []float64 {
	m := c.add(output, vek.Matrix{Rows: n, Cols: 2, Stride: 2}, 2)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(m.Data))), n)
}

func (c *kernelCall) copiedDoubles(k kind, x []float64) []float64 {
	y := c.OutDoubles(len(x))
	copy(y, x)
	c.args[len(c.args)-1].start(k)
	return y
}

// InMatrix returns a copy of x with another stride that the call must not change.
func (c *kernelCall) InMatrix(x vek.Matrix, stride int) vek.Matrix { return c.copied(input, x, stride) }

// InOutMatrix returns a copy of x with another stride. The call may change it, except between its
// rows.
func (c *kernelCall) InOutMatrix(x vek.Matrix, stride int) vek.Matrix {
	return c.copied(inOut, x, stride)
}

// OutMatrix returns a dirty matrix. The call must write every element, and nothing between its
// rows.
func (c *kernelCall) OutMatrix(rows, cols, stride int) vek.Matrix {
	return c.add(output, vek.Matrix{Rows: rows, Cols: cols, Stride: stride}, 1)
}

func row(x []float32) vek.Matrix { return vek.MatrixOf(x, 1, len(x)) }

func (c *kernelCall) copied(k kind, x vek.Matrix, stride int) vek.Matrix {
	m := c.OutMatrix(x.Rows, x.Cols, stride)
	for i := range m.Rows {
		copy(m.Row(i), x.Row(i))
	}
	c.args[len(c.args)-1].start(k)
	return m
}

// start sets the kind of an argument that has its data.
func (a *arg) start(k kind) {
	a.kind = k
	if k == input {
		a.before = slices.Clone(a.view.Data)
	}
}

// add places the next argument, at a multiple of unit floats.
func (c *kernelCall) add(k kind, m vek.Matrix, unit placement) vek.Matrix {
	n, i := 0, len(c.args)
	if m.Rows > 0 {
		n = (m.Rows-1)*m.Stride + m.Cols
	}
	if i == len(c.memory) {
		c.memory = append(c.memory, newMemory(c.tb, max(n, largestSize)))
	}
	if need := n + 2*edge + maxLanes; need > len(c.memory[i].floats) {
		c.memory[i] = newMemory(c.tb, need)
	}
	at := c.at
	if at != atEnd {
		at = (at + placement(5*i)) % maxLanes
		at = at / unit * unit
	}
	m.Data = c.memory[i].place(n, at)
	c.args = append(c.args, arg{kind: k, view: m})
	return m
}

// Do makes the call. It fails the test if the call reads or writes outside its arguments, changes
// an input, leaves part of an output unwritten, or leaves the processor in a mode that flushes
// denormal numbers. It reports success.
func (c *kernelCall) Do(kernel func()) bool {
	c.tb.Helper()
	err := fault(kernel)
	if tiny := float32(0x1p-148); err == nil && tiny*half == 0 {
		err = errors.New("the processor still flushes denormal numbers")
	}
	for i := 0; err == nil && i < len(c.args); i++ {
		if err = c.memory[i].intact(); err == nil {
			err = c.args[i].check()
		}
		if err != nil {
			err = fmt.Errorf("argument %d: %w", i, err)
		}
	}
	if err != nil {
		c.tb.Errorf("placement %d: %v", c.at, err)
	}
	return err == nil
}

func (a *arg) check() error {
	for i, v := range a.view.Data {
		between := i%max(a.view.Stride, 1) >= a.view.Cols
		switch {
		case between && !poisoned(v):
			return fmt.Errorf("element %d, between two rows, was written", i)
		case a.kind == output && !between && poisoned(v):
			return fmt.Errorf("element %d of %d was not written", i, len(a.view.Data))
		case a.kind == input && math.Float32bits(v) != math.Float32bits(a.before[i]):
			return fmt.Errorf("element %d of an input was changed from %v to %v", i, a.before[i], v)
		}
	}
	return nil
}

// fault runs kernel and returns an access to a guard page as an error. It passes on any other
// panic.
func fault(kernel func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			f, ok := v.(interface{ Addr() uintptr })
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("access outside the arguments at address %#x", f.Addr())
		}
	}()
	kernel()
	return nil
}
