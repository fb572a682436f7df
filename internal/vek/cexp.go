package vek

import "math"

// CExp sets d = exp(re + i·im), im in radians, with errors below 2 ulp of the larger component for
// |im| ≤ 10⁴. For larger |im| the error of the angle is about 10⁻¹⁶·|im| radians. Above 4·10⁶,
// where neighbouring floats are half a radian apart, the angle is arbitrary. A modulus
// below 2⁻¹²⁶ is 0. d may be re + i·im.
func CExp(dRe, dIm, re, im []float32) {
	sameLen("CExp", len(dRe), dIm, re, im)
	cexp(dRe, dIm, re, im)
}

func cexpGeneric(dRe, dIm, re, im []float32) {
	n := len(dRe)
	dIm, re, im = dIm[:n], re[:n], im[:n]
	for i, x := range re {
		quarters := float64(im[i]) * (2 / math.Pi)
		dRe[i], dIm[i] = expRotated(x, quarters)
	}
}

// expRotated returns exp(x)·e^{i·angle}·i^quarter.
func expRotated(x float32, quarters float64) (re, im float32) {
	n := quarters + magic
	angle := (quarters - (n - magic)) * (math.Pi / 2)
	s := angle * angle
	cos, sin := 1+float64(s*(-0.5+float64(s*cosPoly(s)))), angle+float64(angle*float64(s*sinPoly(s)))
	// No branches on the quarter, which would be mispredicted: the lowest bit exchanges the parts,
	// the next is a sign.
	quarter, c, d := math.Float64bits(n), math.Float64bits(cos), math.Float64bits(sin)
	exchanged := (c ^ d) & -(quarter & 1)
	cos = math.Float64frombits(c ^ exchanged ^ (quarter+1)&2<<62)
	sin = math.Float64frombits(d ^ exchanged ^ quarter&2<<62)
	if !(x >= expMin && x <= expMax) {
		size := expBeyond(x)
		return size * float32(cos), size * float32(sin)
	}
	m, f := exp2Split(float64(x) * log2e)
	size := exp2Join(m, exp2Poly(f))
	return float32(size * cos), float32(size * sin)
}

// sinPoly is (sin θ/θ − 1)/θ² and cosPoly (cos θ − 1 + θ²/2)/θ⁴ of s = θ², θ up to π/4, with errors
// of sine and cosine below 4e-9 and 1e-10.
func sinPoly(s float64) float64 { return sinC0 + float64(s*(sinC1+float64(s*sinC2))) }

func cosPoly(s float64) float64 { return cosC0 + float64(s*(cosC1+float64(s*cosC2))) }
