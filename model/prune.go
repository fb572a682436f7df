package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// Prune returns a model in which every SSM keeps keep·M of its modes, rounded and at least one:
// those with the largest H∞ scores (docs/maths.md §8). Gwak et al. (arXiv 2411.02824) order the
// states of a layer by the same scores. The model is not retrained. It keeps its operating point,
// but not the error rates that were measured there (Detection.Measured).
//
// All SSMs keep the same number of modes, so that both modes of running get faster. Shared pole
// copies become one copy per SSM.
func (m *Model) Prune(keep float64) (*Model, error) {
	if !(keep > 0 && keep <= 1) {
		return nil, fmt.Errorf("model: prune: keep %v: expected a share of the modes, in (0, 1]", keep)
	}
	c := m.Config
	modes := c.SSM.Modes()
	kept := max(1, int(math.Round(keep*float64(modes))))
	c.SSM.DState, c.SSM.NSSM, c.SSM.Grid, c.SSM.ZeroPole = 2*kept, 0, "", false
	if c.SSM.Init == ssm.DFouTHalf { // this scheme implies M = N/2 + 1
		c.SSM.Init = ssm.DFouT
	}
	out := &Model{Config: c, Meta: m.Meta, Weights: NewWeights(c)}
	out.Meta.Detection = m.Meta.Detection.unmeasured()
	old := map[string]Tensor{}
	for _, t := range m.Weights.Tensors() {
		old[t.Name] = t
	}
	for _, t := range out.Weights.Tensors() {
		if from := old[t.Name]; slices.Equal(from.Shape, t.Shape) {
			copy(t.Data, from.Data)
		}
	}
	size := 1.0 // of C: with a unit gain, B̄ depends on the number of modes
	if c.SSM.Discrete() && c.SSM.BScale == ssm.ScaleUnit {
		size = math.Sqrt(float64(kept) / float64(modes))
	}
	for i := range c.CountSSM() {
		d := m.SSMParams(i).Discretize(c.SSM.Disc, 1)
		m.Weights.Layers[i].keepModes(&out.Weights.Layers[i], d, kept, m.Config.ssmConfig().Copies())
		for k := range out.Weights.Layers[i].C {
			out.Weights.Layers[i].C[k] *= float32(size)
		}
	}
	return out, nil
}

// keepModes copies each channel's best modes, in their order, to a layer with that many modes.
func (l *Layer) keepModes(to *Layer, d *ssm.Discrete, kept, copies int) {
	score := d.LAST()
	order := make([]int, d.M)
	for h := range d.H {
		for n := range order {
			order[n] = n
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[h*d.M+b], score[h*d.M+a]) })
		best := slices.Sorted(slices.Values(order[:kept]))
		for i, n := range best {
			from, at := h%copies*d.M+n, h*kept+i
			to.LogDecay[at], to.Freq[at] = l.LogDecay[from], l.Freq[from]
			if l.Omega != nil {
				to.Omega[at] = l.Omega[from]
			}
			if l.B != nil {
				copy(to.B[2*at:2*at+2], l.B[2*from:])
			}
			for dir := range d.Directions {
				copy(to.C[2*(dir*d.H*kept+at):][:2], l.C[2*(dir*d.H*d.M+h*d.M+n):])
			}
		}
	}
}
