package vek

import "math"

// AdamWParams are the factors of one update. Correction1 = 1 − β1ᵗ and Correction2 = 1 − β2ᵗ. They
// are float64: rounding β2 = 0.999 to float32 would change 1 − β2 by 1.3·10⁻⁵ of itself.
type AdamWParams struct {
	LR, WeightDecay, Beta1, Beta2, Eps, Correction1, Correction2 float64
}

// AdamW updates p with gradient g and moments m, v (docs/maths.md §4.1; Loshchilov and Hutter,
// arXiv 1711.05101):
//
//	m = β1·m + (1−β1)·g,  v = β2·v + (1−β2)·g²
//	p = p·(1 − lr·wd) − lr/c1 · m/(√v/√c2 + eps)
//
// An element that is −Inf with gradient 0 does not change.
func AdamW(p, m, v, g []float32, h AdamWParams) {
	sameLen("AdamW", len(p), m, v, g)
	adamW(p, m, v, g, float32(1-h.Beta1), float32(1-h.Beta2), float32(1-h.LR*h.WeightDecay),
		float32(h.LR/h.Correction1), float32(1/math.Sqrt(h.Correction2)), float32(h.Eps))
}

// m = m − new1·m + new1·g, v = v − new2·v + new2·g² and p = keep·p − step·m/(root·√v + eps). new1 =
// 1 − β1 and new2 = 1 − β2 are the weights of the gradient and of its square. β·m is computed as
// m − (1−β)·m, since a second constant β would be rounded differently. keep = 1 − lr·wd, step =
// lr/c1, root = 1/√c2.
func adamWGeneric(p, m, v, g []float32, new1, new2, keep, step, root, eps float32) {
	m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
	for i, d := range g {
		mi := m[i] - float32(new1*m[i]) + float32(new1*d)
		vi := v[i] - float32(new2*v[i]) + float32(float32(new2*d)*d)
		m[i], v[i] = mi, vi
		p[i] = float32(p[i]*keep) - float32(step*(mi/(float32(float32(math.Sqrt(float64(vi)))*root)+eps)))
	}
}
