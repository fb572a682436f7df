package vek

import "math"

// cmulTwiddle stores (xr + i·xi)·w^{±1}; the sign of wi chooses.
func rotate(xr, xi, wr, wi float32) (float32, float32) {
	return float32(xr*wr) - float32(xi*wi), float32(xr*wi) + float32(xi*wr)
}

func fftForward2Generic(re, im, tw []float32, q int) {
	for at := 0; at < len(re); at += 2 * q {
		ar, br := re[at:at+q:at+q], re[at+q:at+2*q]
		ai, bi := im[at:at+q:at+q], im[at+q:at+2*q]
		if q == 1 {
			ar[0], br[0] = ar[0]+br[0], ar[0]-br[0]
			ai[0], bi[0] = ai[0]+bi[0], ai[0]-bi[0]
			continue
		}
		wr, wi := twiddleRow(tw, 1, q)
		for j := range wr {
			xr, xi := ar[j]-br[j], ai[j]-bi[j]
			ar[j], ai[j] = ar[j]+br[j], ai[j]+bi[j]
			br[j], bi[j] = rotate(xr, xi, wr[j], wi[j])
		}
	}
}

// The same with x_1 = 0.
func fftForward2HalfGeneric(re, im, tw []float32, q int) {
	if q == 1 {
		re[1], im[1] = re[0], im[0]
		return
	}
	wr, wi := twiddleRow(tw, 1, q)
	ar, br := re[:q:q], re[q:2*q]
	ai, bi := im[:q:q], im[q:2*q]
	for j := range wr {
		br[j], bi[j] = rotate(ar[j], ai[j], wr[j], wi[j])
	}
}

func fftInverse2Generic(re, im, tw []float32, q int) {
	for at := 0; at < len(re); at += 2 * q {
		ar, br := re[at:at+q:at+q], re[at+q:at+2*q]
		ai, bi := im[at:at+q:at+q], im[at+q:at+2*q]
		if q == 1 {
			ar[0], br[0] = ar[0]+br[0], ar[0]-br[0]
			ai[0], bi[0] = ai[0]+bi[0], ai[0]-bi[0]
			continue
		}
		wr, wi := twiddleRow(tw, 1, q)
		for j := range wr {
			xr, xi := rotate(br[j], bi[j], wr[j], -wi[j])
			br[j], bi[j] = ar[j]-xr, ai[j]-xi
			ar[j], ai[j] = ar[j]+xr, ai[j]+xi
		}
	}
}

// The same, writing only y_0.
func fftInverse2HalfGeneric(re, im, tw []float32, q int) {
	if q == 1 {
		re[0], im[0] = re[0]+re[1], im[0]+im[1]
		return
	}
	wr, wi := twiddleRow(tw, 1, q)
	ar, br := re[:q:q], re[q:2*q]
	ai, bi := im[:q:q], im[q:2*q]
	for j := range wr {
		xr, xi := rotate(br[j], bi[j], wr[j], -wi[j])
		ar[j], ai[j] = ar[j]+xr, ai[j]+xi
	}
}

const (
	sin3  = 0.866025403784438646763723170752936183 // sin 2π/3
	cos5a = 0.309016994374947424102293417182819059 // cos 2π/5
	cos5b = -0.80901699437494742410229341718281906 // cos 4π/5
	sin5a = 0.951056516295153572116439333379382143 // sin 2π/5
	sin5b = 0.587785252292473129168705954639072769 // sin 4π/5
)

// dft3 is the 3-point transform; s = +1 forward (exponent −2πi/3), −1 inverse.
func dft3(xr, xi *[3]float32, s float32) {
	tr, ti := xr[1]+xr[2], xi[1]+xi[2]
	ur, ui := float32(sin3*s)*(xr[1]-xr[2]), float32(sin3*s)*(xi[1]-xi[2])
	mr, mi := xr[0]-float32(0.5*tr), xi[0]-float32(0.5*ti)
	xr[0], xi[0] = xr[0]+tr, xi[0]+ti
	xr[1], xi[1] = mr+ui, mi-ur
	xr[2], xi[2] = mr-ui, mi+ur
}

// dft5 is the 5-point transform; s as in dft3.
func dft5(xr, xi *[5]float32, s float32) {
	ar, ai, br, bi := xr[1]+xr[4], xi[1]+xi[4], xr[2]+xr[3], xi[2]+xi[3]
	cr, ci, dr, di := xr[1]-xr[4], xi[1]-xi[4], xr[2]-xr[3], xi[2]-xi[3]
	mr, mi := xr[0]+(float32(cos5a*ar)+float32(cos5b*br)), xi[0]+(float32(cos5a*ai)+float32(cos5b*bi))
	nr, ni := xr[0]+(float32(cos5b*ar)+float32(cos5a*br)), xi[0]+(float32(cos5b*ai)+float32(cos5a*bi))
	ur, ui := s*(float32(sin5a*cr)+float32(sin5b*dr)), s*(float32(sin5a*ci)+float32(sin5b*di))
	vr, vi := s*(float32(sin5b*cr)-float32(sin5a*dr)), s*(float32(sin5b*ci)-float32(sin5a*di))
	xr[0], xi[0] = xr[0]+(ar+br), xi[0]+(ai+bi)
	xr[1], xi[1] = mr+ui, mi-ur
	xr[4], xi[4] = mr-ui, mi+ur
	xr[2], xi[2] = nr+vi, ni-vr
	xr[3], xi[3] = nr-vi, ni+vr
}

func fftForward3Generic(re, im, tw []float32, q int) {
	var xr, xi [3]float32
	for at := 0; at < len(re); at += 3 * q {
		for j := at; j < at+q; j++ {
			for k := range xr {
				xr[k], xi[k] = re[j+k*q], im[j+k*q]
			}
			dft3(&xr, &xi, 1)
			storeTwiddled(re, im, tw, xr[:], xi[:], j, j-at, q)
		}
	}
}

func fftForward5Generic(re, im, tw []float32, q int) {
	var xr, xi [5]float32
	for at := 0; at < len(re); at += 5 * q {
		for j := at; j < at+q; j++ {
			for k := range xr {
				xr[k], xi[k] = re[j+k*q], im[j+k*q]
			}
			dft5(&xr, &xi, 1)
			storeTwiddled(re, im, tw, xr[:], xi[:], j, j-at, q)
		}
	}
}

// storeTwiddled writes x_k·w^{jk} to element at+k·q.
func storeTwiddled(re, im, tw, xr, xi []float32, at, j, q int) {
	re[at], im[at] = xr[0], xi[0]
	for k := 1; k < len(xr); k++ {
		if q > 1 {
			wr, wi := twiddleRow(tw, k, q)
			xr[k], xi[k] = rotate(xr[k], xi[k], wr[j], wi[j])
		}
		re[at+k*q], im[at+k*q] = xr[k], xi[k]
	}
}

// loadTwiddled reads x_k·conj(w^{jk}) from element at+k·q.
func loadTwiddled(re, im, tw, xr, xi []float32, at, j, q int) {
	for k := range xr {
		xr[k], xi[k] = re[at+k*q], im[at+k*q]
		if k > 0 && q > 1 {
			wr, wi := twiddleRow(tw, k, q)
			xr[k], xi[k] = rotate(xr[k], xi[k], wr[j], -wi[j])
		}
	}
}

func fftInverse3Generic(re, im, tw []float32, q int) {
	var xr, xi [3]float32
	for at := 0; at < len(re); at += 3 * q {
		for j := at; j < at+q; j++ {
			loadTwiddled(re, im, tw, xr[:], xi[:], j, j-at, q)
			dft3(&xr, &xi, -1)
			for k := range xr {
				re[j+k*q], im[j+k*q] = xr[k], xi[k]
			}
		}
	}
}

func fftInverse5Generic(re, im, tw []float32, q int) {
	var xr, xi [5]float32
	for at := 0; at < len(re); at += 5 * q {
		for j := at; j < at+q; j++ {
			loadTwiddled(re, im, tw, xr[:], xi[:], j, j-at, q)
			dft5(&xr, &xi, -1)
			for k := range xr {
				re[j+k*q], im[j+k*q] = xr[k], xi[k]
			}
		}
	}
}

// FFTTwiddles fills the table of one pass: w^{jk} = exp(−2πi·jk/(radix·q)), each rounded once from float64
// with the octant's symmetry exact.
func FFTTwiddles(tw []float32, radix, q int) {
	n := radix * q
	for k := 1; k < radix; k++ {
		wr, wi := twiddleRow(tw, k, q)
		for j := range q {
			c, s := unitRoot(j*k%n, n)
			wr[j], wi[j] = float32(c), float32(-s)
		}
	}
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
