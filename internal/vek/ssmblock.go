package vek

import "math"

// tiny is the modulus below which a state counts as 0: kept above float32's denormals, which would slow down a
// stream that fell silent.
const tiny = 1e-30

// tinyBits is tiny without its sign bit: one comparison that is nearly always false, whatever a state's sign.
var tinyBits = math.Float32bits(tiny) << 1

// SSMBlock advances one channel of a diagonal SSM over a block of samples. For every t in turn
//
//	h_n = λ_n·h_n + x[t],  y[t] = 2·Re Σ_n c_n·h_n + d·x[t]
//
// with modes split in (re, im) slices of M elements; h is the state before and after. Parts of the state below
// 1e-30 become 0. Any split of a block into smaller ones gives the same bits. y may be x.
func SSMBlock(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32, d float32) {
	sameLen("SSMBlock", len(y), x)
	sameLen("SSMBlock", len(hRe), hIm, lamRe, lamIm, cRe, cIm)
	ssmBlockGeneric(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm, d)
}

// blockStep is how many samples pass over one mode at a time; their partial sums stay in a small buffer.
const blockStep = 64

func ssmBlockGeneric(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32, d float32) {
	var sums [blockStep]float32
	m := len(hRe)
	hIm, lamRe, lamIm, cRe, cIm = hIm[:m], lamRe[:m], lamIm[:m], cRe[:m], cIm[:m]
	for len(x) > 0 {
		in := x[:min(len(x), blockStep)]
		s := sums[:len(in)]
		clear(s)
		n := 0
		for ; n+2 <= m; n += 2 { // two modes at once hide each other's latency
			hRe[n], hIm[n], hRe[n+1], hIm[n+1] = twoModes(s, in,
				hRe[n], hIm[n], lamRe[n], lamIm[n], cRe[n], cIm[n],
				hRe[n+1], hIm[n+1], lamRe[n+1], lamIm[n+1], cRe[n+1], cIm[n+1])
		}
		if n < m {
			hRe[n], hIm[n], _, _ = twoModes(s, in, hRe[n], hIm[n], lamRe[n], lamIm[n], cRe[n], cIm[n], 0, 0, 0, 0, 0, 0)
		}
		out := y[:len(in)]
		for t, u := range in {
			out[t] = 2*s[t] + float32(d*u)
		}
		x, y = x[len(in):], y[len(in):]
	}
}

// twoModes runs modes a and b over a block and adds Re(c·h) to s.
func twoModes(s, x []float32, ar, ai, alr, ali, acr, aci, br, bi, blr, bli, bcr, bci float32) (float32, float32, float32, float32) {
	s = s[:len(x)]
	for t, u := range x {
		ar, ai = float32(alr*ar)-float32(ali*ai)+u, float32(alr*ai)+float32(ali*ar)
		br, bi = float32(blr*br)-float32(bli*bi)+u, float32(blr*bi)+float32(bli*br)
		if math.Float32bits(ar)<<1 < tinyBits {
			ar = 0
		}
		if math.Float32bits(ai)<<1 < tinyBits {
			ai = 0
		}
		if math.Float32bits(br)<<1 < tinyBits {
			br = 0
		}
		if math.Float32bits(bi)<<1 < tinyBits {
			bi = 0
		}
		s[t] += (float32(acr*ar) - float32(aci*ai)) + (float32(bcr*br) - float32(bci*bi))
	}
	return ar, ai, br, bi
}
