package ssm

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// initAngles sets Freq, and of ParamWidth also Decay and Omega, for the schemes on the unit circle
// (docs/maths.md §2.3, §2.4; paper, arXiv 2508.20441).
func (p *Params) initAngles(draw random.Stream) {
	m := p.Modes()
	for i := range p.Freq {
		p.Freq[i] = p.angle(i/m, i%m)
	}
	switch {
	case p.MovesByWidth(): // u = 0, and ρ is multiplied by the ratio of the mode's own ξ to the SSM's
		copy(p.Omega, p.Freq)
		clear(p.Freq)
		for i := range p.Decay {
			p.Decay[i] += p.logStep(draw.Float64(drawXi+uint64(i))) - p.Step[i/m]
		}
	case !p.Discrete(): // Im A = θ/ξ; copy s is channel s, since S = H
		for i := range p.Freq {
			p.Freq[i] /= math.Exp(p.Step[i/m])
		}
	}
}

// angle returns the initial angle of mode n of SSM h in radians.
func (p *Params) angle(h, n int) float64 {
	size := float64(p.DState)
	if p.Init == DFouTSingle {
		return 2 * math.Pi * float64(n) / size
	}
	fine := 2 * math.Pi / (size * float64(p.DModel))
	return fine * float64(n*p.DModel+h)
}
