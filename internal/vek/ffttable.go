package vek

import "math"

// FFTTwiddles fills the table of one pass with w = exp(−2πi/(radix·q)): for each j < q the radix−1
// numbers w^{jk}, k ≥ 1, as (re, im) pairs. These are 2·(radix−1)·q floats, each rounded once.
func FFTTwiddles(tw []float32, radix, q int) {
	n := radix * q
	for j := range q {
		row := tw[2*(radix-1)*j:][:2*(radix-1)]
		for k := 1; k < radix; k++ {
			c, s := unitRoot(j*k%n, n)
			row[2*k-2], row[2*k-1] = float32(c), float32(-s)
		}
	}
}

// FFTLaneTable is the number of floats per vector in the table of the stage over the lanes.
const FFTLaneTable = 72

// FFTLaneTwiddles fills the table of the stage over the lanes. Vector g has frequency f = order[g]
// of the transform over m = len(order) vectors. With n = 16·m, its twiddles are
//
//	step 0:  w_n^{4if},          the same for j < 4
//	step 1:  w_n^{i(f + m·j)},   j < 4
//
// for i = 1, 2, 3. The table has three parts of each twiddle w: the tangent Im w/Re w, Re w and Im
// w. A group of t ≤ 4 vectors has 18 rows of 4t floats, one float for every vector and every j.
// First come, for each step, three rows of tangents (i = 1, 2, 3) and three of real parts. Then
// come, for each step, three rows of imaginary parts. No processor reads all rows.
func FFTLaneTwiddles(tw []float32, order []int) {
	m := len(order)
	n := FFTLanes * m
	for len(order) > 0 {
		t := min(len(order), FFTGroup)
		for g, f := range order[:t] {
			for i := 1; i < 4; i++ {
				for j := range 4 {
					for step, angle := range [2]int{4 * i * f % n, i * (f + m*j) % n} {
						cos, sin := unitRoot(angle, n)
						if cos == 0 {
							cos = quarterTurn
						}
						c := float32(cos)
						tw[laneTwiddle(step, 0, i, g, t)+j] = float32(-sin / float64(c))
						tw[laneTwiddle(step, 1, i, g, t)+j] = c
						tw[laneTwiddle(step, 2, i, g, t)+j] = float32(-sin)
					}
				}
			}
		}
		order, tw = order[t:], tw[FFTLaneTable*t:]
	}
}

// quarterTurn replaces the real part, 0, of the twiddles ±i, whose tangent would be infinite. It is
// much smaller than the rounding error of 1. On amd64 products with its tangent overflow if an
// input exceeds 2^97.
const quarterTurn = 0x1p-30

// laneTwiddle returns the index in a group's table at which part 0 (tangent), 1 (real) or 2
// (imaginary) of twiddle i of a step begins, for vector g of a group of t vectors.
func laneTwiddle(step, part, i, g, t int) int {
	row := 6*step + 3*part + i - 1
	if part == 2 {
		row = 12 + 3*step + i - 1
	}
	return 4 * (t*row + g)
}

// unitRoot returns cos and sin of 2π·j/n, 0 ≤ j < n, from an angle reduced exactly to [0, π/4].
func unitRoot(j, n int) (cos, sin float64) {
	switch {
	case 2*j > n:
		c, s := unitRoot(n-j, n)
		return c, -s
	case 4*j > n:
		c, s := unitRoot(n-2*j, 2*n)
		return -c, s
	case 8*j > n:
		c, s := unitRoot(n-4*j, 4*n)
		return s, c
	}
	sin, cos = math.Sincos(2 * math.Pi * float64(j) / float64(n))
	return cos, sin
}
