package vek_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// recorder stands in for a test that is expected to fail.
type recorder struct {
	testing.TB
	messages []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

// beyond returns the address of element i of x, inside x or not.
func beyond(x []float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), 4*i))
}

func double(out, in [][]float32) {
	for i, v := range in[0] {
		out[0][i] = 2 * v
	}
}

// TestPointwiseFinds runs kernels that are wrong in different ways.
func TestPointwiseFinds(t *testing.T) {
	guards := edge == 0
	for _, test := range []struct {
		name, want string
		skip       bool
		alias      [][]int
		run        func(out, in [][]float32)
	}{
		{name: "nothing wrong", run: double, alias: [][]int{{0}}},
		{name: "a wrong value", want: "expected", run: func(out, in [][]float32) {
			double(out, in)
			if len(in[0]) > 70 {
				out[0][70] *= 1 + 0x1p-22
			}
		}},
		{name: "a value that depends on the length", want: "in another call", run: func(out, in [][]float32) {
			double(out, in)
			if len(in[0]) == 5 {
				out[0][4] = math.Nextafter32(out[0][4], 9)
			}
		}},
		{name: "an element not written", want: "not written", run: func(out, in [][]float32) {
			double(out, heads(in, max(len(in[0])-1, 0)))
		}},
		{name: "an input written", want: "was changed", run: func(out, in [][]float32) {
			double(out, in)
			if len(in[0]) == 3 {
				in[0][1]++
			}
		}},
		{name: "a write before the output", want: "argument 1: element -1 of", run: func(out, in [][]float32) {
			double(out, in)
			if len(in[0]) == 3 && out[0][0] != 0 && onPage(out[0]) > 0 {
				*beyond(out[0], -1) = 1
			}
		}},
		{name: "a write after the output", want: "argument 1: element 3 of 3 was written", skip: guards, run: func(out, in [][]float32) {
			double(out, in)
			if len(in[0]) == 3 {
				*beyond(out[0], 3) = 1
			}
		}},
		{name: "a read past the end", want: "access outside", skip: !guards, run: func(out, in [][]float32) {
			double(out, in)
			sink = *beyond(in[0], len(in[0]))
		}},
		{name: "a read before the start", want: "access outside", skip: !guards, run: func(out, in [][]float32) {
			double(out, in)
			sink = *beyond(in[0], -1)
		}},
		{name: "a broken alias", want: "alias [0]", alias: [][]int{{0}}, run: func(out, in [][]float32) {
			clear(out[0])
			for i, v := range in[0] {
				out[0][i] += 2 * v
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.skip {
				t.Skip("applies to canaries, not to guard pages")
			}
			r := &recorder{TB: t}
			pointwise{Ins: 1, Run: test.run, Truth: func(out, in []float64) { out[0] = 2 * in[0] }, ULP: 1, Alias: test.alias}.check(r)
			got := strings.Join(r.messages, "\n")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q, expected %q", got, test.want)
			}
		})
	}
}

var sink float32

// onPage returns the offset of x in its page, in bytes.
func onPage(x []float32) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) % os.Getpagesize()
}

func TestReductionFinds(t *testing.T) {
	sum := func(in [][]float32) (s float32) {
		for _, v := range in[0] {
			s += v
		}
		return s
	}
	for _, test := range []struct {
		name, want string
		bound      float64
		run        func(in [][]float32) float32
	}{
		{"nothing wrong", "", 0, sum},
		{"a bound that plain summation misses", "expected", 3, sum},
		{"a lost element", "expected", 0, func(in [][]float32) float32 { return sum([][]float32{in[0][:max(len(in[0])-1, 0)]}) }},
		{"bits that depend on the address", "at another placement", 0, func(in [][]float32) float32 {
			s := sum(in)
			if onPage(in[0])%64 == 20 {
				s = math.Nextafter32(s, 1e9)
			}
			return s
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			reduction{Ins: 1, Run: test.run, Term: func(x []float64) float64 { return x[0] }, Error: test.bound}.check(r)
			got := strings.Join(r.messages, "\n")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q, expected %q", got, test.want)
			}
		})
	}
}

func TestCallMatrix(t *testing.T) {
	r := &recorder{TB: t}
	c := newCall(r)
	x := vek.Matrix{Data: []float32{1, 2, 3, 4, 5, 6}, Rows: 2, Cols: 3, Stride: 3}
	for _, test := range []struct {
		name, want string
		kernel     func(in, out vek.Matrix)
	}{
		{"nothing wrong", "", func(in, out vek.Matrix) {
			for i := range 2 {
				copy(out.Row(i), in.Row(i))
			}
		}},
		{"between the rows", "argument 1: element 3, between two rows", func(in, out vek.Matrix) { clear(out.Data[:4]) }},
		{"a row missing", "argument 1: element 5 of 8 was not written", func(in, out vek.Matrix) { copy(out.Row(0), in.Row(0)) }},
		{"a changed input", "argument 0: element 4 of an input was changed", func(in, out vek.Matrix) { in.Row(1)[0] = 0 }},
	} {
		for _, at := range allPlacements() {
			r.messages = nil
			c.Begin(at)
			in, out := c.InMatrix(x, 4), c.OutMatrix(2, 3, 5)
			ok := c.Do(func() { test.kernel(in, out) })
			got := strings.Join(r.messages, "\n")
			must.Equal(t, ok, test.want == "", "%s: placement %d: result of Do, which reported %q", test.name, at, got)
			if !strings.Contains(got, test.want) {
				t.Errorf("%s: placement %d: reported %q, expected %q", test.name, at, got, test.want)
			}
		}
	}
}
