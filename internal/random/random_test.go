package random_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Test vectors that the authors of Philox publish with their code (Random123, kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	const all = math.MaxUint32
	tests := []struct {
		key       [2]uint32
		ctr, want [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[2]uint32{all, all}, [4]uint32{all, all, all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	}
	for _, test := range tests {
		must.Equal(t, random.Philox(test.key, test.ctr), test.want, "Philox(%x, %x)", test.key, test.ctr)
	}
}

const draws = 200_000

// checkMean fails if the mean of draws values of variance v is more than five standard errors from
// want.
func checkMean(t *testing.T, what string, sum, want, v float64) {
	t.Helper()
	mean := sum / draws
	if tol := 5 * math.Sqrt(v/draws); math.Abs(mean-want) > tol {
		t.Errorf("%s: mean %.5f, expected %.5f ± %.5f", what, mean, want, tol)
	}
}

func TestFloat64Moments(t *testing.T) {
	s := random.New(1, random.Signal, 2, 3)
	var sum, squares, lagged float64
	for i := range uint64(draws) {
		u := s.Float64(i)
		if u < 0 || u >= 1 {
			t.Fatalf("Float64(%d) = %v", i, u)
		}
		sum += u
		squares += u * u
		lagged += (u - 0.5) * (s.Float64(i+1) - 0.5)
	}
	checkMean(t, "u", sum, 1./2, 1./12)
	checkMean(t, "u²", squares, 1./3, 4./45)
	checkMean(t, "u·next u", lagged, 0, 1./144)
}

func TestNormalMoments(t *testing.T) {
	s := random.New(4, random.Weights, 0, 1)
	var sum, squares, cubes, fourth, lagged, inside float64
	for i := range uint64(draws) {
		x := s.Normal(i)
		sum += x
		squares += x * x
		cubes += x * x * x
		fourth += x * x * x * x
		lagged += x * s.Normal(i^1) // the two of one block
		if math.Abs(x) < 1 {
			inside++
		}
	}
	p := math.Erf(1 / math.Sqrt2)
	checkMean(t, "x", sum, 0, 1)
	checkMean(t, "x²", squares, 1, 2)
	checkMean(t, "x³", cubes, 0, 15)
	checkMean(t, "x⁴", fourth, 3, 96)
	checkMean(t, "x·its pair", lagged, 0, 2)
	checkMean(t, "P(|x| < 1)", inside, p, p*(1-p))
}

func TestNormalPair(t *testing.T) {
	s := random.New(5, random.Signal, 3, 2)
	for i := uint64(0); i < 100; i += 2 {
		if even, odd := s.NormalPair(i); even != s.Normal(i) || odd != s.Normal(i+1) {
			t.Errorf("pair %d is %v, %v, expected %v, %v", i, even, odd, s.Normal(i), s.Normal(i+1))
		}
	}
}

// Streams that differ in seed, purpose, step or layer agree no more often than by chance.
func TestStreamsDiffer(t *testing.T) {
	base := random.New(1, random.Weights, 2, 3)
	others := map[string]random.Stream{
		"seed":           random.New(2, random.Weights, 2, 3),
		"seed's top":     random.New(1|1<<40, random.Weights, 2, 3),
		"purpose":        random.New(1, random.Poles, 2, 3),
		"step":           random.New(1, random.Weights, 3, 3),
		"layer":          random.New(1, random.Weights, 2, 4),
		"step for layer": random.New(1, random.Weights, 3, 2),
	}
	for name, s := range others {
		bits, n := 0, uint64(1000)
		for i := range n {
			a, b := base.Uint64(i), s.Uint64(i)
			if a == b {
				t.Errorf("%s: draw %d is the same", name, i)
			}
			for d := a ^ b; d != 0; d &= d - 1 {
				bits++
			}
		}
		// 64000 fair coins: a standard deviation of 126.
		if math.Abs(float64(bits)-64000/2) > 5*126.5 {
			t.Errorf("%s: %d of 64000 bits differ, expected half", name, bits)
		}
	}
}

// A draw is a function of its index: order and repetition do not matter, and no two indices share a
// draw.
func TestDrawsAreAddressed(t *testing.T) {
	s := random.New(5, random.Dropout, 6, 7)
	seen := map[uint64]uint64{}
	for i := range uint64(1000) {
		seen[s.Uint64(i)] = i
	}
	must.Equal(t, len(seen), 1000, "different draws of 1000")
	for v, i := range seen { // in the map's order
		must.Equal(t, s.Uint64(i), v, "draw %d again", i)
	}
	for _, i := range []uint64{1 << 33, 1 << 40} {
		if got := s.Uint64(i); got == s.Uint64(0) {
			t.Errorf("draw %d is %d, expected another than draw 0", i, got)
		}
	}
}

func TestPermIsAPermutation(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 100, 4097} {
		seen := make([]bool, n)
		p := random.New(1, random.Shuffle, n, 0).Perm(n)
		if len(p) != n {
			t.Fatalf("Perm(%d) has %d elements", n, len(p))
		}
		for _, v := range p {
			if v < 0 || v >= n || seen[v] {
				t.Fatalf("Perm(%d): %d is out of range or twice there", n, v)
			}
			seen[v] = true
		}
	}
}

// All 24 orders of four elements are equally frequent: χ² with 23 degrees of freedom stays below
// its 1 − 10⁻⁶ quantile.
func TestPermIsUnbiased(t *testing.T) {
	const trials = 24_000
	counts := map[[4]int]float64{}
	for step := range trials {
		counts[[4]int(random.New(9, random.Shuffle, step, 0).Perm(4))]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - trials/24) * (n - trials/24) / (trials / 24)
	}
	if len(counts) != 24 || chi > 71 {
		t.Errorf("%d orders of 24, χ² = %.1f, expected 24 and less than 71", len(counts), chi)
	}
}
