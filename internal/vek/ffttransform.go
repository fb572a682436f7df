package vek

// FFTPass is a pass with its twiddles.
type FFTPass struct {
	radix, q, count int // the pass runs count of each block's q butterflies
	tw              []float32
	turn            *[2 * FFTLanes]float32 // nil: none
}

// Radix returns the pass's radix.
func (p FFTPass) Radix() int { return p.radix }

// Q returns the distance between the vectors of a butterfly, as a number of vectors.
func (p FFTPass) Q() int { return p.q }

// NewFFTPass returns a pass of radix 3, 4, 5 or 8 over every block of radix·q vectors. A forward
// pass transforms the radix vectors j, j+q, … for each j < q, and multiplies output k by w^{jk},
// where w = exp(−2πi/(radix·q)). FFTTwiddles fills tw; for q = 1 all twiddles are 1.
func NewFFTPass(radix, q int, tw []float32) FFTPass {
	require("NewFFTPass", radix >= 3 && radix <= 8 && radix != 6 && radix != 7 && q >= 1 && len(tw) >= 2*(radix-1)*q)
	return FFTPass{radix: radix, q: q, count: q, tw: tw}
}

// Turned returns the pass, of radix 4 or 8, with another product: lane r of every input is
// multiplied by exp(−2πi·rk/n) = exp(−iθ). The inverse pass multiplies its results by the
// conjugates. The table has tan(θ/2), then −sin θ: three multiply-adds compute a product with few
// rounding errors if θ is small.
func (p FFTPass) Turned(k, n int) FFTPass {
	require("Turned", p.radix == 4 || p.radix == 8)
	p.turn = nil
	if k == 0 {
		return p
	}
	p.turn = new([2 * FFTLanes]float32)
	for r := range FFTLanes {
		half, s := unitRoot(r*k%n, 2*n)
		_, whole := unitRoot(r*k%n, n)
		p.turn[r], p.turn[FFTLanes+r] = float32(s/half), float32(-whole)
	}
	return p
}

// FFTForward runs passes of a forward transform, then the stage over the lanes. If last is 2 or 4,
// the stage begins with a pass of radix last and q = 1. If last is 1, it has no such pass. If last
// is 0, FFTForward runs the passes only. The stage multiplies by tw (FFTLaneTwiddles) and computes
// a 16-point transform over the lanes of every vector. Output k + 4h (k, h < 4) of vector g of a
// group of t ≤ 4 vectors becomes element (h·t + g)·4 + k of the group.
func FFTForward(re, im []float32, passes []FFTPass, last int, tw []float32) {
	for i := range passes {
		checkBlocks("FFTForward", re, im, passes[i].radix*passes[i].q)
	}
	if last != 0 {
		checkFFTLanes("FFTForward", last, re, im, tw)
	}
	fftForward(re, im, passes, last, tw)
}

// FFTInverse multiplies re + i·im by k = kRe + i·kIm, or by k's conjugate, unless kRe is
// nil. Then it undoes FFTForward with the same passes, last and tw. It does not divide by n: after
// FFTForward over n points, without a product, the result is n times the input.
func FFTInverse(re, im, kRe, kIm []float32, how Factor, passes []FFTPass, last int, tw []float32) {
	for i := range passes {
		checkBlocks("FFTInverse", re, im, passes[i].radix*passes[i].q)
	}
	if last != 0 {
		checkFFTLanes("FFTInverse", last, re, im, tw)
	}
	require("FFTInverse", kRe == nil || len(kRe) == len(re) && len(kIm) == len(re) && last > 0)
	product := 0
	if kRe != nil {
		product = 1
		if how == Conjugated {
			product = 2
		}
	}
	fftInverse(re, im, kRe, kIm, product, passes, last, tw)
}

func checkBlocks(name string, re, im []float32, vectors int) {
	require(name, len(re) == len(im) && len(re)%(vectors*FFTLanes) == 0 && len(re) <= longestRun)
}

// runs the passes in order, then, unless last is 0, the pass of radix last and the stage over the
// lanes
func fftForwardGeneric(re, im []float32, passes []FFTPass, last int, tw []float32) {
	for _, p := range passes {
		if p.turn != nil {
			fftTurn(re, im, p.turn, 1)
		}
		switch p.radix {
		case 3:
			fftForward3(re, im, p.tw, p.q, p.count)
		case 4:
			fftForward4(re, im, p.tw, p.q, p.count)
		case 5:
			fftForward5(re, im, p.tw, p.q, p.count)
		case 8:
			fftForward8(re, im, p.tw, p.q, p.count)
		}
	}
	switch last {
	case 0:
		return
	case 2:
		fft2(re, im)
	case 4:
		fftForward4(re, im, ones4, 1, 1)
	}
	fftForwardLanes(re, im, tw)
}

// multiplies by k unless product is 0, then undoes the stage over the lanes and the pass of radix
// last unless last is 0, then undoes the passes from the last to the first
func fftInverseGeneric(re, im, kRe, kIm []float32, product int, passes []FFTPass, last int, tw []float32) {
	switch product {
	case 1:
		cmulGeneric(re, im, re, im, kRe, kIm)
	case 2:
		cmulConjGeneric(re, im, re, im, kRe, kIm)
	}
	if last != 0 {
		fftInverseLanes(re, im, tw)
	}
	switch last {
	case 2:
		fft2(re, im)
	case 4:
		fftInverse4(re, im, ones4, 1, 1)
	}
	for i := len(passes) - 1; i >= 0; i-- {
		p := &passes[i]
		switch p.radix {
		case 3:
			fftInverse3(re, im, p.tw, p.q, p.count)
		case 4:
			fftInverse4(re, im, p.tw, p.q, p.count)
		case 5:
			fftInverse5(re, im, p.tw, p.q, p.count)
		case 8:
			fftInverse8(re, im, p.tw, p.q, p.count)
		}
		if p.turn != nil {
			fftTurn(re, im, p.turn, -1)
		}
	}
}
