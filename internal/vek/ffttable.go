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

// FFTLaneTwiddles fills the table of the stage over the lanes. Vector g has frequency f = order[g]
// of the transform over m = len(order) vectors. With n = 16·m, its twiddles are
//
//	step 0:  w_n^{4if},          the same for j < 4
//	step 1:  w_n^{i(f + m·j)},   j < 4
//
// for i = 1, 2, 3. The table has two parts of each twiddle w: the tangent Im w/Re w and Re w. A
// group of four vectors has 12 rows of 16 floats, one float for every vector and every j: for each
// step, three rows of tangents (i = 1, 2, 3) and three of real parts.
func FFTLaneTwiddles(tw []float32, order []int) {
	m := len(order)
	n := FFTLanes * m
	for v, f := range order {
		for i := 1; i < 4; i++ {
			for j := range 4 {
				for step, angle := range [2]int{4 * i * f % n, i * (f + m*j) % n} {
					cos, sin := unitRoot(angle, n)
					if cos == 0 {
						cos = quarterTurn
					}
					c := float32(cos)
					group := tw[v/FFTGroup*FFTGroup*FFTLaneTable:]
					group[laneTwiddle(step, 0, i, v%FFTGroup)+j] = float32(-sin / float64(c))
					group[laneTwiddle(step, 1, i, v%FFTGroup)+j] = c
				}
			}
		}
	}
}

// quarterTurn replaces the real part, 0, of the twiddles ±i, whose tangent would be infinite. It is
// much smaller than the rounding error of 1. Products with its tangent overflow if an input exceeds
// 2^97.
const quarterTurn = 0x1p-30

// laneTwiddle returns the index in a group's table at which part 0 (tangent) or 1 (real) of twiddle
// i of a step begins, for vector g of the group.
func laneTwiddle(step, part, i, g int) int { return 4 * (FFTGroup*(6*step+3*part+i-1) + g) }

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
