// Package random gives the project's random numbers: a pure function of a key and an index.
//
// A draw is a function of a Stream (seed, purpose, step, layer) and an element's index. There is no
// state that advances, so the number of threads, the order of work and a resume never change a
// draw. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011; docs/maths.md §9.7).
package random

import (
	"math"
	"math/bits"
)

// Purpose separates the uses of random numbers, so that no two share a draw.
type Purpose uint32

// The purposes. The values are part of every recorded run: never renumber them.
const (
	Weights Purpose = 1 // initial weights
	Poles   Purpose = 2 // step sizes, poles, B and C of the SSMs
	Dropout Purpose = 3
	Shuffle Purpose = 4
	Signal  Purpose = 5 // synthetic data
	Noise   Purpose = 6 // augmentation
)

// Stream is a sequence of draws addressed by index. It is a value and may be copied.
type Stream struct {
	key   [2]uint32 // the seed, its top byte combined with the purpose
	step  uint32
	layer uint32
}

// New returns the stream of a seed, a purpose, a step (a training step, epoch or example below
// 2^32) and a layer (or tensor number).
func New(seed uint64, purpose Purpose, step, layer int) Stream {
	return Stream{
		key:   [2]uint32{uint32(seed), uint32(seed>>32) ^ uint32(purpose)<<24},
		step:  uint32(step),
		layer: uint32(layer),
	}
}

// block returns the four words at counter position i (i below 2^64).
func (s Stream) block(i uint64) [4]uint32 {
	return Philox(s.key, [4]uint32{uint32(i), uint32(i >> 32), s.step, s.layer})
}

// Uint64 returns draw i, uniform over 64 bits.
func (s Stream) Uint64(i uint64) uint64 {
	b := s.block(i >> 1)
	j := (i & 1) * 2
	return uint64(b[j]) | uint64(b[j+1])<<32
}

// Float64 returns draw i, uniform in [0, 1) with 53 bits.
func (s Stream) Float64(i uint64) float64 {
	return float64(s.Uint64(i)>>11) * 0x1p-53
}

// Normal returns draw i of a standard normal distribution.
func (s Stream) Normal(i uint64) float64 {
	even, odd := s.NormalPair(i &^ 1)
	if i&1 == 0 {
		return even
	}
	return odd
}

// NormalPair returns Normal(i) and Normal(i+1) for an even i, in the time of one: Box–Muller on the
// two halves of one block.
func (s Stream) NormalPair(i uint64) (even, odd float64) {
	b := s.block(i >> 1)
	u := (float64(uint64(b[0])|uint64(b[1])<<32)*0x1p-64 + 0x1p-65)
	v := float64(uint64(b[2])|uint64(b[3])<<32) * 0x1p-64
	r := math.Sqrt(-2 * math.Log(u))
	sin, cos := math.Sincos(2 * math.Pi * v)
	return r * cos, r * sin
}

// Perm returns a permutation of [0, n) (Fisher–Yates on the stream's first n draws).
func (s Stream) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		hi, _ := bits.Mul64(s.Uint64(uint64(i)), uint64(i+1))
		p[i], p[hi] = p[hi], p[i]
	}
	return p
}

// Philox is the Philox4x32 bijection with ten rounds.
func Philox(key [2]uint32, ctr [4]uint32) [4]uint32 {
	const (
		mul0, mul1   = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85
	)
	for range 10 {
		hi0, lo0 := bits.Mul32(mul0, ctr[0])
		hi1, lo1 := bits.Mul32(mul1, ctr[2])
		ctr = [4]uint32{hi1 ^ ctr[1] ^ key[0], lo1, hi0 ^ ctr[3] ^ key[1], lo0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return ctr
}
