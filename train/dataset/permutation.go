package dataset

import (
	"fmt"

	"gonum.org/v1/gonum/mathext/prng"
)

// RandPerm returns the same permutation of [0, n) as PyTorch does for torch.manual_seed(seed);
// torch.randperm(n) on the CPU, for n below 2³²/20 (docs/maths.md §5). It defines the splits of the
// image tasks and the pixel order of permuted images.
func RandPerm(n int, seed uint64) []int {
	if n < 0 || uint64(n) >= 1<<32/20 {
		panic(fmt.Sprintf("dataset: permutation of %d: expected 0 to 2^32/20", n))
	}
	mt := prng.NewMT19937()
	mt.Seed(seed)
	r := make([]int, n)
	for i := range r {
		r[i] = i
	}
	for i := 0; i < n-1; i++ {
		z := int(mt.Uint32() % uint32(n-i))
		r[i], r[i+z] = r[i+z], r[i]
	}
	return r
}

// RandomSplit splits RandPerm(sum of sizes, seed) into consecutive parts, as
// torch.utils.data.random_split does. It selects the validation set of a data set that is published
// without one (docs/maths.md §5).
func RandomSplit(seed uint64, sizes ...int) [][]int {
	total := 0
	for _, n := range sizes {
		total += n
	}
	r := RandPerm(total, seed)
	parts := make([][]int, len(sizes))
	for i, n := range sizes {
		parts[i], r = r[:n:n], r[n:]
	}
	return parts
}
