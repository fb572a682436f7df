package vek_test

import (
	"fmt"
	"math"
	"os"
	"testing"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// placement is the position of an argument in its memory: atEnd, directly before a guard page, or n
// ≥ 0 floats after one.
type placement int

// atEnd ends an argument at a guard page.
const atEnd placement = -1

// allPlacements returns atEnd and the offsets 0 … 15 from a 64-byte boundary.
func allPlacements() []placement {
	p := []placement{atEnd}
	for o := range maxLanes {
		p = append(p, placement(o))
	}
	return p
}

// placements returns allPlacements, or atEnd and the offset 1 under emulation. No kernel branches
// on an alignment, and tests on a processor cover every offset.
func placements() []placement {
	if vektest.Emulated {
		return []placement{atEnd, 1}
	}
	return allPlacements()
}

// poison fills memory that a kernel must not read or write. It is a quiet NaN that arithmetic does
// not produce.
const poison = 0x7FEDBEEF

// margin is the number of poisoned floats kept on each side of an argument, up to the guard page.
const margin = 64

// memory holds one argument between two guard pages.
type memory struct {
	floats   []float32
	from, to int // the argument
}

// newMemory maps memory for capacity floats, rounded up to pages, so that placements are exact.
func newMemory(tb testing.TB, capacity int) *memory {
	page := os.Getpagesize()
	bytes := (4*(capacity+2*edge+maxLanes) + page - 1) / page * page
	mem := guarded(tb, bytes)
	return &memory{floats: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem))), bytes/4)}
}

// place returns n poisoned floats with poisoned surroundings.
func (m *memory) place(n int, at placement) []float32 {
	m.from = edge + int(at)
	if at == atEnd {
		m.from = len(m.floats) - edge - n
	}
	m.to = m.from + n
	for i := range m.around() {
		m.floats[i] = math.Float32frombits(poison)
	}
	return m.floats[m.from:m.to:m.to]
}

// around yields the argument's indices and those of its surroundings.
func (m *memory) around() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := max(0, m.from-margin); i < min(len(m.floats), m.to+margin); i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// intact reports a write outside the argument.
func (m *memory) intact() error {
	for i := range m.around() {
		if (i < m.from || i >= m.to) && !poisoned(m.floats[i]) {
			return fmt.Errorf("element %d of %d was written", i-m.from, m.to-m.from)
		}
	}
	return nil
}

func poisoned(v float32) bool { return math.Float32bits(v) == poison }
