package ssm

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// initAngles sets Freq, and with XiPer also Decay, for the schemes on the unit circle
// (docs/maths.md §2.5, §2.6, §2.7; paper, arXiv 2508.20441).
func (p *Params) initAngles(draw random.Stream) {
	m := p.Modes()
	for s := range p.Copies() {
		for n := range m {
			p.Freq[s*m+n] = p.angle(s, n, draw)
		}
	}
	if p.XiPer == XiPerMode || p.XiPer == XiPerBoth {
		p.spreadXi(draw)
	}
	switch {
	case p.MovesByWidth(): // u = 0
		copy(p.Omega, p.Freq)
		clear(p.Freq)
	case !p.Discrete(): // Im A = θ/ξ; copy s is channel s, since S = H
		for i := range p.Freq {
			p.Freq[i] /= math.Exp(p.Step[i/m])
		}
	}
}

// angle returns the initial angle of mode n of SSM h in radians.
func (p *Params) angle(h, n int, draw random.Stream) float64 {
	size, channels, modes := float64(p.DState), float64(p.DModel), float64(p.schemeModes())
	if n == p.schemeModes() {
		return 0
	}
	switch p.Init {
	case DFouTSingle:
		return 2 * math.Pi * float64(n) / size
	case Token:
		return 2 * math.Pi / float64(n+1)
	case RndImag:
		return 2 * math.Pi * draw.Float64(drawFreq+uint64(h*p.Modes()+n))
	case BatchedDFouT: // the upper half circle, as grid a: N/2 adjacent angles per SSM
		return math.Pi * (float64(h) + float64(n)/modes) / channels
	}
	fine := 2 * math.Pi / (size * channels)
	if p.grid() == GridD {
		fine /= 2
	}
	return fine * float64(n*p.DModel+h)
}

// spreadXi gives each mode its own damping: ρ is multiplied by its ratio to the SSM's ξ.
func (p *Params) spreadXi(draw random.Stream) {
	m := p.Modes()
	for i := range p.Decay {
		own := i
		if p.XiPer == XiPerMode {
			own = i % m
		}
		p.Decay[i] += p.logStep(draw.Float64(drawXi+uint64(own))) - p.Step[i/m]
	}
}
