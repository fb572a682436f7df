package task

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// endless is a reader that repeats a text forever.
type endless string

func repeat(text string) endless { return endless(strings.Repeat(text, 1<<12)) }

func (e endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// Lines without an end, rows with as many fields as a line can hold, and sizes that a header
// announces cost no more memory than docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	listOps := func(r io.Reader) error { _, _, err := parseListOps(r); return err }
	retrieval := func(r io.Reader) error {
		_, err := (&paperSet{index: map[string]int{}}).parse(t.Context(), r)
		return err
	}
	pathfinder := func(r io.Reader) error { return (&rawImages{}).parsePathfinder("level", r) }
	idx := func(r io.Reader) error { _, err := parseIDX(r, 3); return err }
	lines := func(head string, row endless, n int64) io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(row, n), strings.NewReader("\n"))
	}
	for _, c := range []struct {
		name string
		read func(io.Reader) error
		in   io.Reader
		most int
		want string // part of the error; "": none
	}{
		{"a ListOps line without an end", listOps, repeat("1 "), 4 * listOpsLine, "line 1: longer than 1048576 bytes"},
		{"a ListOps line of 2¹⁹ symbols", listOps, lines("Source\tTarget\n", repeat("1 "), listOpsLine-100), 16 * listOpsLine, "line 2: expected an expression"},
		{"a ListOps row of 2¹⁸ symbols", listOps, io.MultiReader(lines("Source\tTarget\n", repeat("1 "), listOpsLine/2), strings.NewReader("\t1\n")), 16 * listOpsLine, "line 2: expected an expression"},
		{"a pair of papers without an end", retrieval, repeat("a"), 4 * longestPair, "line 1: longer than 16777216 bytes"},
		{"2²⁴ tabs for a pair of papers", retrieval, lines("", repeat("\t"), longestPair-100), 5 * longestPair, "line 1: 16777117 fields"},
		{"papers of 2²² bytes", retrieval, lines("0\ta\tb\tx\t", repeat("a"), longestPair/4), 2 * longestPair, ""},
		{"a Pathfinder line without an end", pathfinder, repeat("a "), 1 << 19, "line 1: longer than 65536 bytes"},
		{"2¹⁵ columns of Pathfinder", pathfinder, lines("", repeat("a "), 1<<16-100), 1 << 20, `line 1: label "a"`},
		{"2⁹⁶ pixels of an IDX file", idx, bytes.NewReader(idxFile([]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, nil)), 1 << 16, "sizes [4294967295], expected 1 to 268435456 bytes"},
		{"2²⁸ pixels that an IDX file lacks", idx, bytes.NewReader(idxFile([]uint32{1 << 8, 1 << 10, 1 << 10}, make([]byte, 100))), 1 << 16, "sizes [256 1024 1024]: the file does not have 268435456 bytes of data"},
		{"an IDX file without an end", idx, io.MultiReader(bytes.NewReader(idxFile([]uint32{9, 28, 28}, nil)), repeat("a")), 1 << 16, "sizes [9 28 28]: the file does not have 7056 bytes of data"},
	} {
		var err error
		must.Allocates(t, c.most, func() { err = c.read(c.in) }, "%s", c.name)
		if c.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, c.want)
		}
	}
}
