package dataset

import "github.com/s4d-fast/s4d-fast/internal/random"

// sampler draws the numbers of a random stream in order.
type sampler struct {
	stream random.Stream
	used   uint64
}

// uniform returns the next number, in [0, 1).
func (s *sampler) uniform() float64 {
	s.used++
	return s.stream.Float64(s.used - 1)
}

// below returns the next number as an integer from 0 to n−1.
func (s *sampler) below(n int) int { return int(float64(n) * s.uniform()) }
