package vek

import "math"

// AdamWParams are one update's factors; Correction1 = 1 − β1ᵗ, Correction2 = 1 − β2ᵗ.
type AdamWParams struct {
	LR, WeightDecay, Beta1, Beta2, Eps, Correction1, Correction2 float32
}

// AdamW makes one update of p with gradient g and running moments m, v (spec §4.1):
//
//	m = β1·m + (1−β1)·g,  v = β2·v + (1−β2)·g²
//	p = p·(1 − lr·wd) − lr/c1 · m/(√v/√c2 + eps)
//
// An element that is −Inf with gradient 0 stays as it is.
func AdamW(p, m, v, g []float32, h AdamWParams) {
	sameLen("AdamW", len(p), m, v, g)
	adamWGeneric(p, m, v, g, h)
}

func adamWGeneric(p, m, v, g []float32, h AdamWParams) {
	m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
	keep := float32(1 - float64(float64(h.LR)*float64(h.WeightDecay)))
	step := float32(float64(h.LR) / float64(h.Correction1))
	root := float32(1 / math.Sqrt(float64(h.Correction2)))
	a1, a2 := 1-h.Beta1, 1-h.Beta2
	for i, d := range g {
		mi := float32(h.Beta1*m[i]) + float32(a1*d)
		vi := float32(h.Beta2*v[i]) + float32(float32(a2*d)*d)
		m[i], v[i] = mi, vi
		p[i] = float32(p[i]*keep) - step*mi/(float32(float32(math.Sqrt(float64(vi)))*root)+h.Eps)
	}
}
