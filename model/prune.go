package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// Prune returns a model in which every SSM keeps keep·M of its modes, rounded and at least one.
// Modes are removed one after the other, each time the one without which the SSM's output changes
// least, and C of the others is fitted anew (ssm.ModeGains.Reduce). lost is the energy of the
// change of the outputs of all SSMs, as a fraction of the energy of the outputs, for inputs as
// docs/maths.md §8 assumes. The model is not retrained. It keeps its operating point, but not the
// error rates that were measured there (Detection.Measured).
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
	if d := m.Meta.Detection; d != nil { // without the measurement
		out.Meta.Detection = &Detection{Threshold: d.Threshold, OffThreshold: d.OffThreshold, Confirm: d.Confirm,
			Refractory: d.Refractory, Smoothing: d.Smoothing, Offsets: d.Offsets}
	}
	out.Weights.copyShared(m.Weights)
	energy := 0.0
	for i := range c.CountSSM() {
		p := m.SSMParams(i)
		g := p.ModeGains()
		if slices.ContainsFunc(g.LogLambda, func(a complex128) bool { return real(a) > 0 }) {
			return nil, 0, fmt.Errorf("model: prune: layer %d has modes that grow, whose outputs have no finite energy", i)
		}
		whole, change := m.Weights.Layers[i].keepModes(&out.Weights.Layers[i], p, g, kept)
		energy, lost = energy+whole, lost+change
	}
	return out, lost / max(energy, 1e-300), nil
}

// keepModes copies the modes of each SSM that are kept, in their order, to a layer with that many
// modes. It returns the energy of the outputs, and of their change. A layer with an SSM per channel
// has a row of C per SSM and direction. The one SSM of an S5 layer or an LRU has all rows, and a
// step per mode.
func (l *Layer) keepModes(to *Layer, p *ssm.Params, g *ssm.ModeGains, keep int) (energy, lost float64) {
	copies, rows := len(l.Decay)/g.M, len(p.C)/g.M
	for h := range g.SSMs {
		var c [][]complex128
		for row := h; row < rows; row += g.SSMs {
			c = append(c, p.C[row*g.M:(row+1)*g.M])
		}
		kept, whole, change := g.Reduce(h, keep, c)
		energy, lost = energy+whole, lost+change
		for i, n := range kept {
			from, at := h%copies*g.M+n, h*keep+i
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
			for r, row := range c {
				copy(to.C[2*((h+r*g.SSMs)*keep+i):], []float32{float32(real(row[n])), float32(imag(row[n]))})
			}
		}
	}
	return energy, lost
}
