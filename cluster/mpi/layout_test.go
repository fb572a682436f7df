package mpi

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// MPI counts elements in 32 bits. A sum of more is an error, the same on all ranks, and is not
// started.
func TestSizesOfSums(t *testing.T) {
	for _, c := range []struct {
		length, shards int
		want           string
	}{
		{1 << 29, 8, ""}, {1<<31 - 1024, 3, ""}, {1 << 31, 3, "values"}, {1 << 30, 8, "2147483648 values"}, {1 << 33, 16, "values"},
	} {
		for rank := range 3 {
			w := &World{rank: rank, ranks: 3, cache: map[[2]int]*layout{}}
			l := w.layout(c.length, c.shards)
			if c.want != "" {
				must.Fail(t, l.err, c.want, "at most 2147483647")
				continue
			}
			must.Do(t, l.err)
			for _, at := range append(l.receiveAt, l.sendAt...) {
				if at < 0 {
					t.Errorf("%d values in %d shards: an offset is %d", c.length, c.shards, at)
				}
			}
		}
	}
}
