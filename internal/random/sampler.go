package random

// Sampler draws the numbers of a stream in order.
type Sampler struct {
	Stream
	used uint64
}

// Uniform returns the next number, in [0, 1).
func (s *Sampler) Uniform() float64 {
	s.used++
	return s.Float64(s.used - 1)
}

// Below returns the next number as an integer from 0 to n−1.
func (s *Sampler) Below(n int) int { return int(float64(n) * s.Uniform()) }

// Bits returns the next number as 64 random bits.
func (s *Sampler) Bits() uint64 {
	s.used++
	return s.Uint64(s.used - 1)
}
