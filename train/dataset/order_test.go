package dataset

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestOrder(t *testing.T) {
	a := Order(100, 1, 2)
	checkOnce(t, 100, a)
	if !slices.Equal(a, Order(100, 1, 2)) {
		t.Error("the same seed and epoch give two orders")
	}
	if slices.Equal(a, Order(100, 1, 3)) {
		t.Error("another epoch gives the same order")
	}
	if slices.Equal(a, Order(100, 2, 2)) {
		t.Error("another seed gives the same order")
	}
}

func TestBuckets(t *testing.T) {
	const n, batch = 2731, 8
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = 1 + i*7919%5000
	}
	kept := Buckets(lengths, batch, 1, 2, false)
	checkOnce(t, n, slices.Concat(kept...))
	small := 0
	for _, b := range kept {
		if len(b) != batch {
			small++
		}
	}
	if len(kept) != (n+batch-1)/batch || small != 1 {
		t.Errorf("%d batches, %d of them small; expected %d and 1", len(kept), small, (n+batch-1)/batch)
	}

	dropped := Buckets(lengths, batch, 1, 2, true)
	visited := slices.Sorted(slices.Values(slices.Concat(dropped...)))
	if len(dropped) != n/batch || len(visited) != n/batch*batch {
		t.Errorf("dropping the last batch: %d batches with %d examples, expected %d with %d", len(dropped), len(visited), n/batch, n/batch*batch)
	}
	must.Equal(t, len(slices.Compact(visited)), len(visited), "different examples without the last batch")

	if padded, plain := padding(lengths, kept), padding(lengths, slices.Collect(slices.Chunk(Order(n, 1, 2), batch))); padded > plain/5 {
		t.Errorf("buckets leave %d positions of padding, plain batches %d", padded, plain)
	}
	if slices.IsSortedFunc(kept, func(a, b []int) int { return lengths[a[0]] - lengths[b[0]] }) {
		t.Error("the batches come in the order of their lengths")
	}

	same := slices.EqualFunc(kept, Buckets(lengths, batch, 1, 2, false), slices.Equal)
	if other := slices.EqualFunc(kept, Buckets(lengths, batch, 1, 3, false), slices.Equal); !same || other {
		t.Errorf("the same seed and epoch give the same batches: %t; another epoch: %t", same, other)
	}
}

func padding(lengths []int, batches [][]int) int {
	waste := 0
	for _, b := range batches {
		longest := 0
		for _, i := range b {
			longest = max(longest, lengths[i])
		}
		for _, i := range b {
			waste += longest - lengths[i]
		}
	}
	return waste
}
