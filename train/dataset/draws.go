package dataset

import "github.com/s4d-fast/s4d-fast/internal/random"

// draws takes a stream's numbers one after the other.
type draws struct {
	stream random.Stream
	used   uint64
}

// uniform returns the next number, in [0, 1).
func (d *draws) uniform() float64 {
	d.used++
	return d.stream.Float64(d.used - 1)
}

// below returns the next number as one of 0 … n−1.
func (d *draws) below(n int) int { return int(float64(n) * d.uniform()) }
