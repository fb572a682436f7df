package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// bucketBatches is the number of batches whose examples are sorted by length together. A larger
// number needs less padding, a smaller one shuffles better.
const bucketBatches = 50

// Order returns the order of n examples in a pass.
func Order(n int, seed uint64, pass int) []int {
	return random.New(seed, random.Shuffle, pass, 0).Perm(n)
}

// Lengths returns the length of every example.
func Lengths(s Set) []int {
	lengths := make([]int, s.Len())
	for i := range lengths {
		lengths[i] = s.Length(i)
	}
	return lengths
}

// Buckets returns the batches of a pass, each of examples of similar length. It shuffles the
// examples, sorts groups of 50 batches by length, splits them into batches and shuffles the
// batches. Every example is in exactly one batch. With dropLast, the examples that do not fill a
// batch are dropped; the choice is random.
func Buckets(lengths []int, batch int, seed uint64, pass int, dropLast bool) [][]int {
	if batch < 1 {
		panic(fmt.Sprintf("dataset: batches of %d examples", batch))
	}
	order := Order(len(lengths), seed, pass)
	if dropLast {
		order = order[:len(order)-len(order)%batch]
	}
	for group := range slices.Chunk(order, bucketBatches*batch) {
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	}
	batches := slices.Collect(slices.Chunk(order, batch))
	shuffled := make([][]int, len(batches))
	for i, from := range random.New(seed, random.Shuffle, pass, 1).Perm(len(batches)) {
		shuffled[i] = batches[from]
	}
	return shuffled
}
