package ssm

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
)

// ModeGains has what the scores of a layer's modes depend on (docs/maths.md §8). S4D and DSS have
// one SSM per channel with one input, S5 and the LRU one SSM for all channels.
type ModeGains struct {
	SSMs, M, Directions int

	Width     int          // inputs of an SSM
	LogLambda []complex128 // [SSMs][M] log λ̄
	Input     []complex128 // [SSMs][M][Width] B̄
	Weight    []float64    // [directions][SSMs][M] |C|·|B̄|; S5, LRU: ½κ·‖C‖·‖B̄‖, norms over channels
}

// ModeGains discretises a layer. It panics for layers for which CheckScores returns an
// error.
func (p *Params) ModeGains() *ModeGains {
	if !p.MIMO() {
		return p.Discretize(p.Disc, 1).Gains()
	}
	modes, h, dirs := p.Modes(), p.DModel, p.Directions()
	g := &ModeGains{SSMs: 1, M: modes, Directions: dirs, Width: h, LogLambda: make([]complex128, modes), Weight: make([]float64, dirs*modes)}
	for n := range modes {
		m := p.scanMode(n, 1)
		g.LogLambda[n] = m.poleLog()
		for _, b := range p.B[n*h : (n+1)*h] {
			g.Input = append(g.Input, m.gain.value*b)
		}
		input := p.factor() / 2 * norm(g.Input[n*h:], 1)
		for dir := range dirs {
			g.Weight[dir*modes+n] = input * norm(p.C[dir*h*modes+n:(dir+1)*h*modes], modes)
		}
	}
	return g
}

// Gains returns what the scores of the modes depend on.
func (d *Discrete) Gains() *ModeGains {
	g := &ModeGains{SSMs: d.H, M: d.M, Directions: d.Directions, Width: 1, LogLambda: d.LogLambda, Input: d.BBar, Weight: make([]float64, len(d.W))}
	for i, w := range d.W {
		g.Weight[i] = cmplx.Abs(w)
	}
	return g
}

// norm returns the Euclidean norm of every stride-th element of x.
func norm(x []complex128, stride int) float64 {
	sum := 0.0
	for i := 0; i < len(x); i += stride {
		sum += square(x[i])
	}
	return math.Sqrt(sum)
}

// HInf returns the H∞ score of every mode, |C|²·|B̄|²/(1 − |λ̄|)², as [SSMs][M], the larger one of
// its directions (paper; docs/maths.md §8). A mode of weight 0 scores 0, any other pole on or
// outside the unit circle +Inf.
func (g *ModeGains) HInf() []float64 {
	s := make([]float64, len(g.LogLambda))
	for i, w := range g.Weight {
		if w == 0 {
			continue
		}
		n := i % len(s)
		gain := w / max(-math.Expm1(real(g.LogLambda[n])), 0)
		s[n] = max(s[n], gain*gain)
	}
	return s
}

// Peak is the maximum of a frequency response.
type Peak struct {
	Theta float64 // radians per sample, in [0, π]
	Gain  float64 // |H(e^{iθ})|
}

// HInf returns the peak of a row's frequency response. Its squared gain is the paper's score of an
// SSM. The gain is +Inf if a pole of weight other than 0 lies on or outside the unit circle.
func (d *Discrete) HInf(row int) Peak {
	var near, weights []complex128
	var poles []pole
	for n, w := range d.W[row*d.M : (row+1)*d.M] {
		if w == 0 {
			continue
		}
		a := d.LogLambda[row%d.H*d.M+n]
		if real(a) >= 0 {
			return Peak{Theta: folded(a), Gain: math.Inf(1)}
		}
		near, weights, poles = append(near, a), append(weights, w), append(poles, poleOf(a))
	}
	return peakOf(near, func(theta float64) float64 {
		var sum complex128
		for i, w := range weights {
			sum += poles[i].contribution(w, theta)
		}
		return cmplx.Abs(sum)
	})
}

// peakOf returns the maximum of a gain for angles in [0, π], whose resonances are near the given
// log λ̄. Candidates are a grid of angles and, to find every narrow resonance, angles around each
// pole at distances on the scale of its decay. The best candidates are refined.
func peakOf(near []complex128, gain func(theta float64) float64) Peak {
	const grid, best = 512, 6
	thetas := make([]float64, 0, grid+1+9*len(near))
	for i := range grid + 1 {
		thetas = append(thetas, math.Pi*float64(i)/grid)
	}
	for _, a := range near {
		center, width := folded(a), -real(a)
		for _, k := range []float64{-4, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 4} {
			if theta := center + k*width; theta >= 0 && theta <= math.Pi {
				thetas = append(thetas, theta)
			}
		}
	}
	slices.Sort(thetas)
	thetas = slices.Compact(thetas)
	gains := make([]float64, len(thetas))
	for i, theta := range thetas {
		gains[i] = gain(theta)
	}
	var tops []int // local maxima
	for i := range gains {
		if (i == 0 || gains[i] >= gains[i-1]) && (i == len(gains)-1 || gains[i] >= gains[i+1]) {
			tops = append(tops, i)
		}
	}
	slices.SortFunc(tops, func(i, j int) int { return cmp.Compare(gains[j], gains[i]) })
	var peak Peak
	for _, i := range tops[:min(best, len(tops))] {
		p := refine(gain, thetas[max(i-1, 0)], Peak{thetas[i], gains[i]}, thetas[min(i+1, len(thetas)-1)])
		if p.Gain > peak.Gain {
			peak = p
		}
	}
	return peak
}

// refine finds the maximum between lo and hi by golden-section search. Near the maximum the gain is
// flat, so a moderate precision of the angle suffices.
func refine(gain func(theta float64) float64, lo float64, best Peak, hi float64) Peak {
	const golden, sections = 0.6180339887498949, 44
	at := func(theta float64) Peak {
		p := Peak{theta, gain(theta)}
		if p.Gain > best.Gain {
			best = p
		}
		return p
	}
	a, b := at(hi-golden*(hi-lo)), at(lo+golden*(hi-lo))
	for range sections {
		if a.Gain > b.Gain {
			hi = b.Theta
			a, b = at(hi-golden*(hi-lo)), a
		} else {
			lo = a.Theta
			a, b = b, at(lo+golden*(hi-lo))
		}
	}
	return best
}
