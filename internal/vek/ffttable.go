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

// FFTLaneTwiddles fills the table of the stage over the lanes, 48·m floats. Vector g has frequency
// order[g] = f of the transform over m = len(order) vectors. With n = 16·m, its twiddles are
//
//	step 0:  w_n^{4if},          the same for j < 4
//	step 1:  w_n^{i(f + m·j)},   j < 4
//
// for i = 1, 2, 3. A twiddle is c·(1 + i·t), so c is its real part. Groups of t ≤ 4 vectors have
// 48·t floats: for each step the tangents t of i = 1, 2, 3, then the factors c, each of them for
// every vector and every j.
func FFTLaneTwiddles(tw []float32, order []int) {
	m := len(order)
	n := FFTLanes * m
	for len(order) > 0 {
		t := min(len(order), FFTGroup)
		for g, f := range order[:t] {
			for i := 1; i < 4; i++ {
				for j := range 4 {
					tw[laneTwiddle(0, 0, i, g, t)+j], tw[laneTwiddle(0, 1, i, g, t)+j] = tangent(4*i*f%n, n)
					tw[laneTwiddle(1, 0, i, g, t)+j], tw[laneTwiddle(1, 1, i, g, t)+j] = tangent(i*(f+m*j)%n, n)
				}
			}
		}
		order, tw = order[t:], tw[3*t*FFTLanes:]
	}
}

// laneTwiddle returns where twiddle i of vector g of a group of t begins in a step's tangents (part
// 0) or factors (part 1).
func laneTwiddle(step, part, i, g, t int) int { return 4 * (t*(6*step+3*part+i-1) + g) }

// tangent returns t and c with w_n^j = c·(1 + i·t). A quarter turn, c = 0, has no tangent. There c
// is much smaller than float32's rounding.
func tangent(j, n int) (t, c float32) {
	cos, sin := unitRoot(j, n)
	if cos == 0 {
		cos = 0x1p-30
	}
	c = float32(cos)
	return float32(-sin / float64(c)), c
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
