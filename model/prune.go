package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// Prune returns a model in which every SSM keeps keep·M of its modes, rounded and at least one:
// those with the largest LAST scores (Gwak et al., arXiv 2411.02824). Their C is fitted so that the
// impulse responses change least (docs/maths.md §8); lost is the energy of the change, as a
// fraction of that of all responses. Nothing is fitted where a mode does not decay, and lost is
// NaN. The model is not retrained. It keeps its operating point, but not the error rates that were
// measured there (Detection.Measured).
//
// All SSMs keep the same number of modes, so that both modes of running get faster. Shared pole
// copies become one copy per SSM. The one SSM of an S5 layer or an LRU keeps keep·P modes. If the
// key blocks of S5 does not divide their number, it becomes 0; it affects only initial values.
func (m *Model) Prune(keep float64) (pruned *Model, lost float64, err error) {
	c := m.Config
	if err := c.SSM.CheckScores(); err != nil {
		return nil, 0, fmt.Errorf("model: prune: %w", err)
	}
	if !(keep > 0 && keep <= 1) {
		return nil, 0, fmt.Errorf("model: prune: keep %v: expected a share of the modes, in (0, 1]", keep)
	}
	kept := max(1, int(math.Round(keep*float64(c.SSM.Modes()))))
	c.SSM.DState, c.SSM.NSSM = 2*kept, 0
	if c.SSM.Init == ssm.DFouTHalf { // this scheme implies M = N/2 + 1
		c.SSM.Init = ssm.DFouT
	}
	if c.SSM.Layer == ssm.LayerLRU {
		c.SSM.DState = kept
	}
	if kept%max(c.SSM.Blocks, 1) != 0 {
		c.SSM.Blocks = 0
	}
	out := &Model{Config: c, Meta: m.Meta, Weights: NewWeights(c)}
	out.Meta.Detection = m.Meta.Detection.unmeasured()
	out.Weights.copyShared(m.Weights)
	energy := 0.0
	for i := range c.CountSSM() {
		whole, change := m.Weights.Layers[i].keepModes(&out.Weights.Layers[i], m.SSMParams(i), kept)
		energy, lost = energy+whole, lost+change
	}
	if lost == 0 { // all modes are kept, or C is 0
		return out, 0, nil
	}
	return out, lost / energy, nil
}

// keepModes copies the best modes of each SSM, in their order, to a layer with that many modes, and
// fits their C. It returns the energy of the responses, and of their change.
func (l *Layer) keepModes(to *Layer, p *ssm.Params, kept int) (energy, lost float64) {
	g := p.ModeGains()
	score, copies := g.LAST(), len(l.Decay)/g.M
	for h := range g.SSMs {
		best := highest(score[h*g.M:(h+1)*g.M], kept)
		for i, n := range best {
			from, at := h%copies*g.M+n, h*kept+i
			move := func(to, l []float32) { // from a tensor of all modes
				width := len(l) / (copies * g.M)
				copy(to[at*width:(at+1)*width], l[from*width:])
			}
			move(to.Decay, l.Decay)
			move(to.Freq, l.Freq)
			move(to.Gamma, l.Gamma)
			move(to.B, l.B)
			if g.SSMs == 1 {
				move(to.Step, l.Step)
			}
		}
		whole, change := to.fitC(p, g, h, best)
		energy, lost = energy+whole, lost+change
	}
	return energy, lost
}

// fitC sets C of SSM h, which keeps the given modes of p, and returns the energy of its responses
// and of their change, NaN if a mode does not decay. A layer with an SSM per channel has a row of C
// per SSM and direction. The one SSM of an S5 layer or an LRU has all rows.
func (l *Layer) fitC(p *ssm.Params, g *ssm.ModeGains, h int, kept []int) (energy, lost float64) {
	var fit *ssm.Fit
	if len(kept) < g.M {
		if fit = g.Fit(h, kept); fit == nil {
			lost = math.NaN()
		}
	}
	for row := h; row < len(p.C)/g.M; row += g.SSMs {
		c := p.C[row*g.M : (row+1)*g.M]
		fitted := make([]complex128, len(kept))
		for i, n := range kept {
			fitted[i] = c[n]
		}
		if fit != nil {
			var whole, change float64
			fitted, whole, change = fit.Solve(c)
			energy, lost = energy+whole, lost+change
		}
		for i, z := range fitted {
			copy(l.C[2*(row*len(kept)+i):], []float32{float32(real(z)), float32(imag(z))})
		}
	}
	return energy, lost
}

// highest returns the indices of the highest scores, in ascending order.
func highest(score []float64, kept int) []int {
	order := make([]int, len(score))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return slices.Sorted(slices.Values(order[:kept]))
}
