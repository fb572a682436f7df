package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// bucketBatches is how many batches' examples are sorted by length together. More waste less padding, fewer
// mix the examples better.
const bucketBatches = 50

// Order returns the order in which an epoch visits n examples.
func Order(n int, seed uint64, epoch int) []int {
	return random.New(seed, random.Shuffle, epoch, 0).Perm(n)
}

// Lengths returns Len of every example, nil if the set does not know them in advance.
func Lengths(s Set) []int {
	sized, ok := s.(Sized)
	if !ok {
		return nil
	}
	lengths := make([]int, s.Len())
	for i := range lengths {
		lengths[i] = sized.Length(i)
	}
	return lengths
}

// Buckets returns an epoch's batches of examples of similar length: it shuffles the examples, sorts stretches
// of 50 batches by length, cuts them into batches and shuffles the batches. Every example is in exactly one
// batch; with dropLast those left over from the last whole batch, a random choice, are left out.
func Buckets(lengths []int, batch int, seed uint64, epoch int, dropLast bool) [][]int {
	if batch < 1 {
		panic(fmt.Sprintf("dataset: batches of %d examples", batch))
	}
	order := Order(len(lengths), seed, epoch)
	if dropLast {
		order = order[:len(order)-len(order)%batch]
	}
	for stretch := range slices.Chunk(order, bucketBatches*batch) {
		slices.SortStableFunc(stretch, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	}
	batches := slices.Collect(slices.Chunk(order, batch))
	shuffled := make([][]int, len(batches))
	for i, from := range random.New(seed, random.Shuffle, epoch, 1).Perm(len(batches)) {
		shuffled[i] = batches[from]
	}
	return shuffled
}
