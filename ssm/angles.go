package ssm

import "math"

// initAngles sets Freq for the schemes on the unit circle (docs/maths.md §2.3, §2.4; paper, arXiv
// 2508.20441).
func (p *Params) initAngles() {
	m, size := p.Modes(), float64(p.DState)
	for i := range p.Freq { // copy h is channel h, since S = H
		h, n := i/m, i%m
		if p.Init == DFouTSingle {
			p.Freq[i] = 2 * math.Pi * float64(n) / size
		} else {
			p.Freq[i] = 2 * math.Pi / (size * float64(p.DModel)) * float64(n*p.DModel+h)
		}
		if !p.Discrete() { // Im A = θ/ξ
			p.Freq[i] /= math.Exp(p.Step[h])
		}
	}
}
