package convmode

// A Shard is one of several equal parts of each training batch. A Net of its own computes it.
// Every value of a pass depends only on the sequences of the shard and, with BatchNorm, on sums
// over all shards. It therefore does not depend on where the other shards are computed
// (docs/maths.md §21).
type Shard struct {
	Index, Count int // 0 ≤ Index < Count

	// Sum replaces values by their sums over all shards, with the same bits for each of them.
	// ForwardTrain and Backward of networks with BatchNorm call it between parallel loops. The Nets
	// of all shards call it equally often, with equally many values. Required with BatchNorm if
	// Count is more than 1.
	Sum func(values []float64)
}
