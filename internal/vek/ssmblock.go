package vek

import "math"

// tinyBits is the bit pattern of 1e-30. Plain Go sets parts of a state below it to 0, because
// denormal numbers (below 1e-38) would slow down a stream after it falls silent. Assembly makes the
// processor flush denormal numbers.
const tinyBits = 0x0DA24260

// SSM is a set of diagonal systems, H channels of M modes.
type SSM struct {
	LambdaRe, LambdaIm []float32 // [H][M] poles λ
	CRe, CIm           []float32 // [H][M] weights c
	D                  []float32 // [H] weight of the input itself
}

// SSMScratch is the least length of the scratch of SSMBlock and SSMStep.
const SSMScratch = ssmRows*16 + ssmRows

// ssmRows is the number of sums over the modes that are completed at a time, one per channel and
// sample. Their vectors of partial sums stay in the L1 cache.
const ssmRows = 128

// SSMBlock advances every channel of s over a block of samples, y and x [H][samples]. For each t in
// order it computes (docs/maths.md §6)
//
//	h_n = λ_n·h_n + x[t],  y[t] = 2·Re Σ_n c_n·h_n + D·x[t]
//
// where hRe and hIm, [H][M], are the state, which is updated. Parts of the state never become
// denormal numbers: small ones are set to 0. Any split of a block gives the same bits. y may be x.
func SSMBlock(y, x Matrix, hRe, hIm []float32, s *SSM, scratch []float32) {
	y.check("SSMBlock")
	x.check("SSMBlock")
	channels := len(s.D)
	require("SSMBlock", y.Rows == channels && x.Rows == channels && y.Cols == x.Cols && len(scratch) >= SSMScratch)
	sameLen("SSMBlock", len(hRe), hIm, s.LambdaRe, s.LambdaIm, s.CRe, s.CIm)
	if channels == 0 || y.Cols == 0 {
		return
	}
	require("SSMBlock", len(hRe)%channels == 0)
	ssmBlock(y, x, hRe, hIm, s, scratch)
}

func ssmBlockGeneric(y, x Matrix, hRe, hIm []float32, s *SSM) {
	modes := len(hRe) / len(s.D)
	for h, d := range s.D {
		i, j := h*modes, (h+1)*modes
		channel := SSM{s.LambdaRe[i:j], s.LambdaIm[i:j], s.CRe[i:j], s.CIm[i:j], nil}
		ssmChannel(y.Row(h), x.Row(h), hRe[i:j], hIm[i:j], &channel, d)
	}
}

// blockStep is the number of samples for which four modes are advanced at a time. Their partial
// sums stay in a small buffer.
const blockStep = 64

// quad is one part (re or im) of four modes' states, poles or weights.
type quad = [4]float32

func ssmChannel(y, x, hRe, hIm []float32, c *SSM, d float32) {
	var sums [blockStep]float32
	for len(x) > 0 {
		in := x[:min(len(x), blockStep)]
		s := sums[:len(in)]
		clear(s)
		n := len(hRe) &^ 3
		quads(s, in, hRe[:n], hIm, c)
		if n < len(hRe) { // the last modes, padded with zeros
			var hr, hi, lr, li, cr, ci quad
			copy(hr[:], hRe[n:])
			copy(hi[:], hIm[n:])
			copy(lr[:], c.LambdaRe[n:])
			copy(li[:], c.LambdaIm[n:])
			copy(cr[:], c.CRe[n:])
			copy(ci[:], c.CIm[n:])
			quads(s, in, hr[:], hi[:], &SSM{lr[:], li[:], cr[:], ci[:], nil})
			copy(hRe[n:], hr[:])
			copy(hIm[n:], hi[:])
		}
		out := y[:len(in)]
		for t, u := range in {
			out[t] = 2*s[t] + float32(d*u)
		}
		x, y = x[len(in):], y[len(in):]
	}
}

// quads advances modes over a block, four at a time, and adds Re(c·h) to s. Eight states stay in
// registers, which hides latency.
func quads(s, x, hRe, hIm []float32, c *SSM) {
	s = s[:len(x)]
	for n := 0; n < len(hRe); n += 4 {
		hr, hi := (*quad)(hRe[n:]), (*quad)(hIm[n:])
		lr, li := (*quad)(c.LambdaRe[n:]), (*quad)(c.LambdaIm[n:])
		cr, ci := (*quad)(c.CRe[n:]), (*quad)(c.CIm[n:])
		r0, r1, r2, r3 := hr[0], hr[1], hr[2], hr[3]
		i0, i1, i2, i3 := hi[0], hi[1], hi[2], hi[3]
		for t, u := range x {
			r0, i0 = float32(lr[0]*r0)-float32(li[0]*i0)+u, float32(lr[0]*i0)+float32(li[0]*r0)
			r1, i1 = float32(lr[1]*r1)-float32(li[1]*i1)+u, float32(lr[1]*i1)+float32(li[1]*r1)
			r2, i2 = float32(lr[2]*r2)-float32(li[2]*i2)+u, float32(lr[2]*i2)+float32(li[2]*r2)
			r3, i3 = float32(lr[3]*r3)-float32(li[3]*i3)+u, float32(lr[3]*i3)+float32(li[3]*r3)
			if tiny(r0) {
				r0 = 0
			}
			if tiny(i0) {
				i0 = 0
			}
			if tiny(r1) {
				r1 = 0
			}
			if tiny(i1) {
				i1 = 0
			}
			if tiny(r2) {
				r2 = 0
			}
			if tiny(i2) {
				i2 = 0
			}
			if tiny(r3) {
				r3 = 0
			}
			if tiny(i3) {
				i3 = 0
			}
			s[t] += ((float32(cr[0]*r0) - float32(ci[0]*i0)) + (float32(cr[1]*r1) - float32(ci[1]*i1))) +
				((float32(cr[2]*r2) - float32(ci[2]*i2)) + (float32(cr[3]*r3) - float32(ci[3]*i3)))
		}
		hr[0], hr[1], hr[2], hr[3] = r0, r1, r2, r3
		hi[0], hi[1], hi[2], hi[3] = i0, i1, i2, i3
	}
}

// tiny reports whether |x| is below 1e-30. It compares bits, because a branch on the sign would be
// mispredicted.
func tiny(x float32) bool { return math.Float32bits(x)<<1 < tinyBits<<1 }
