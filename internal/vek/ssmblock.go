package vek

import "math"

// tinyBits is the bit pattern of 1e-30, below which a part of a state counts as 0: kept above float32's denormals,
// which would slow down a stream that fell silent.
const tinyBits = 0x0DA24260

// SSMBlock advances one channel of a diagonal SSM over a block of samples. For every t in turn
//
//	h_n = λ_n·h_n + x[t],  y[t] = 2·Re Σ_n c_n·h_n + d·x[t]
//
// with modes split in (re, im) slices of M elements; h is the state before and after. Parts of the state below
// 1e-30 become 0, sample by sample. Any split of a block into smaller ones gives the same bits. y may be x.
func SSMBlock(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32, d float32) {
	sameLen("SSMBlock", len(y), x)
	sameLen("SSMBlock", len(hRe), hIm, lamRe, lamIm, cRe, cIm)
	ssmBlockGeneric(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm, d)
}

// blockStep is how many samples pass over four modes at a time; their partial sums stay in a small buffer.
const blockStep = 64

// quad is one part (re or im) of four modes' states, poles or weights.
type quad = [4]float32

func ssmBlockGeneric(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32, d float32) {
	var sums [blockStep]float32
	for len(x) > 0 {
		in := x[:min(len(x), blockStep)]
		s := sums[:len(in)]
		clear(s)
		n := len(hRe) &^ 3
		quads(s, in, hRe[:n], hIm, lamRe, lamIm, cRe, cIm)
		if n < len(hRe) { // the last modes, with zeros for the missing ones
			var hr, hi, lr, li, cr, ci quad
			copy(hr[:], hRe[n:])
			copy(hi[:], hIm[n:])
			copy(lr[:], lamRe[n:])
			copy(li[:], lamIm[n:])
			copy(cr[:], cRe[n:])
			copy(ci[:], cIm[n:])
			quads(s, in, hr[:], hi[:], lr[:], li[:], cr[:], ci[:])
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

// quads runs modes over a block, four at a time, and adds Re(c·h) to s: eight states stay in registers and hide each
// other's latency.
func quads(s, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32) {
	s = s[:len(x)]
	for n := 0; n < len(hRe); n += 4 {
		hr, hi := (*quad)(hRe[n:]), (*quad)(hIm[n:])
		lr, li := (*quad)(lamRe[n:]), (*quad)(lamIm[n:])
		cr, ci := (*quad)(cRe[n:]), (*quad)(cIm[n:])
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

// tiny compares bits: a branch on the number's sign would be mispredicted at every other sample.
func tiny(x float32) bool { return math.Float32bits(x)<<1 < tinyBits<<1 }
