package vek

// FFTPass is a pass with its twiddles.
type FFTPass struct {
	radix, q, count int // count of a block's q butterflies
	tw              []float32
}

// NewFFTPass returns a pass of radix 3, 4, 5 or 8 over every block of radix·q vectors. A forward
// pass transforms the radix vectors j, j+q, … for each j < q, and multiplies output k by w^{jk}, w =
// exp(−2πi/(radix·q)). FFTTwiddles fills tw; for q = 1 all twiddles are 1.
func NewFFTPass(radix, q int, tw []float32) FFTPass {
	switch {
	case radix < 3 || radix > 8 || radix == 6 || radix == 7:
		panic("vek: NewFFTPass: radix must be 3, 4, 5 or 8")
	case q < 1:
		panic("vek: NewFFTPass: q must be at least 1")
	case len(tw) < 2*(radix-1)*q:
		panic("vek: NewFFTPass: twiddles too short")
	}
	return FFTPass{radix, q, q, tw}
}

// FFTForward runs passes of a forward transform, then the stage over the lanes, which begins with a
// pass of radix last and q = 1 if last is 2 or 4. If last is 0, it runs the passes only. The stage
// multiplies by tw (FFTLaneTwiddles) and computes a 16-point transform over the lanes of every
// vector. Output k + 4h (k, h < 4) of vector g of a group of t ≤ 4 vectors becomes element
// (h·t + g)·4 + k of the group.
func FFTForward(re, im []float32, passes []FFTPass, last int, tw []float32) {
	for i := range passes {
		checkBlocks("FFTForward", re, im, passes[i].radix*passes[i].q)
	}
	if last != 0 {
		checkFFTLanes("FFTForward", last, re, im, tw)
	}
	if len(re) <= longestRun {
		fftForward(re, im, passes, last, tw)
		return
	}
	for i := range passes {
		forwardPass(re, im, passes[i])
	}
	for last != 0 && len(re) > 0 {
		n := min(len(re), longestRun)
		fftForward(re[:n], im[:n], nil, last, tw[:laneTable(n)])
		re, im, tw = re[n:], im[n:], tw[laneTable(n):]
	}
}

// forwardPass runs a long pass: in each call whole blocks, or a part of one block.
func forwardPass(re, im []float32, p FFTPass) {
	for len(re) > 0 {
		run, count := fftRun(p.radix, len(re), p.q)
		for from := 0; from < p.q; from += count {
			part := [1]FFTPass{{p.radix, p.q, min(count, p.q-from), p.tw[2*(p.radix-1)*from:]}}
			fftForward(re[from*FFTLanes:run], im[from*FFTLanes:run], part[:], 0, nil)
		}
		re, im = re[run:], im[run:]
	}
}

func checkBlocks(name string, re, im []float32, vectors int) {
	if n := vectors * FFTLanes; len(re) != len(im) || len(re) != n && len(re)%n != 0 {
		panic("vek: " + name + ": data is not a whole number of blocks")
	}
}

// the passes in order, then, unless last is 0, the pass of radix last and the stage over the lanes
func fftForwardGeneric(re, im []float32, passes []FFTPass, last int, tw []float32) {
	for _, p := range passes {
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
		fft4(re, im)
	}
	fftForwardLanes(re, im, tw)
}
