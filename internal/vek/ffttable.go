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

// FFTLaneTwiddles fills the table of the stage over the lanes. Vector g has frequency order[g] of
// the transform over m = len(order) vectors. Its twiddles are w_n^{r·order[g]} for r < 16, n =
// 16·m. The table has 32·m floats, each rounded once. Groups of t ≤ 4 vectors have 32·t floats: for
// each s < 4 the real parts of r = 4s … 4s+3 of each vector, then the imaginary ones.
func FFTLaneTwiddles(tw []float32, order []int) {
	n := FFTLanes * len(order)
	for len(order) > 0 {
		t := min(len(order), FFTGroup)
		for g, k := range order[:t] {
			for r := range FFTLanes {
				c, s := unitRoot(r*k%n, n)
				at := laneTwiddle(r, g, t)
				tw[at], tw[at+4*t] = float32(c), float32(-s)
			}
		}
		order, tw = order[t:], tw[2*t*FFTLanes:]
	}
}

// laneTwiddle returns where the real part of lane r of vector g of a group of t stands in the
// table. The imaginary part is 4t floats later.
func laneTwiddle(r, g, t int) int { return 8*t*(r/4) + 4*g + r%4 }

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
