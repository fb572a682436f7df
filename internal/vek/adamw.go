package vek

import "math"

// AdamWParams are one update's factors; Correction1 = 1 − β1ᵗ, Correction2 = 1 − β2ᵗ. They are float64 since what a
// moment gains a step, 1 − β2 = 10⁻³, would carry the rounding of 0.999 to float32 as 1.3·10⁻⁵ of itself.
type AdamWParams struct {
	LR, WeightDecay, Beta1, Beta2, Eps, Correction1, Correction2 float64
}

// AdamW makes one update of p with gradient g and running moments m, v (docs/maths.md §4.1):
//
//	m = β1·m + (1−β1)·g,  v = β2·v + (1−β2)·g²
//	p = p·(1 − lr·wd) − lr/c1 · m/(√v/√c2 + eps)
//
// An element that is −Inf with gradient 0 stays as it is.
func AdamW(p, m, v, g []float32, h AdamWParams) {
	sameLen("AdamW", len(p), m, v, g)
	adamW(p, m, v, g, float32(1-h.Beta1), float32(1-h.Beta2), float32(1-h.LR*h.WeightDecay),
		float32(h.LR/h.Correction1), float32(1/math.Sqrt(h.Correction2)), float32(h.Eps))
}

// new1 and new2 are what the gradient and its square weigh in the moments: β·m = m − (1−β)·m needs no second constant,
// whose rounding would not match. keep = 1 − lr·wd, step = lr/c1, root = 1/√c2.
func adamWGeneric(p, m, v, g []float32, new1, new2, keep, step, root, eps float32) {
	m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
	for i, d := range g {
		mi := m[i] - float32(new1*m[i]) + float32(new1*d)
		vi := v[i] - float32(new2*v[i]) + float32(float32(new2*d)*d)
		m[i], v[i] = mi, vi
		p[i] = float32(p[i]*keep) - float32(step*(mi/(float32(float32(math.Sqrt(float64(vi)))*root)+eps)))
	}
}
