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
// copies become one copy per SSM. The one SSM of an S5 layer or an LRU keeps keep·P modes. If the
// key blocks of S5 does not divide their number, it becomes 0; it affects only initial values.
func (m *Model) Prune(keep float64) (*Model, error) {
	if err := m.checkPrune(keep); err != nil {
		return nil, err
	}
	kept := max(1, int(math.Round(keep*float64(m.Config.SSM.Modes()))))
	return m.withModes(kept, m.gains(), 0), nil
}

// PruneGlobal returns a model in which the share keep of the modes of the whole network remains,
// and the number of modes that remain. They are those with the largest LAST scores, as Gwak et al.
// select them (arXiv 2411.02824; docs/maths.md §8). At least one mode of every layer remains, and
// modes with the same score as the last one.
//
// SSMs keep different numbers of modes. The model has as many modes per SSM as the SSM that keeps
// most, and C is 0 for the others. In all else it is like that of Prune.
func (m *Model) PruneGlobal(keep float64) (pruned *Model, remaining int, err error) {
	if err := m.checkPrune(keep); err != nil {
		return nil, 0, err
	}
	layers := m.gains()
	var scores []float64
	for _, g := range layers {
		scores = append(scores, g.LAST()...)
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	share := int(keep*float64(len(scores)) + 1e-9) // 0.29·100 is less than 29
	least := scores[max(share, 1)-1]
	most := 1
	for _, g := range layers {
		last := g.LAST()
		for h := range g.SSMs {
			n := 0
			for _, score := range last[h*g.M : (h+1)*g.M] {
				if score >= least {
					n++
				}
			}
			most, remaining = max(most, n), remaining+n
		}
	}
	return m.withModes(most, layers, least), remaining, nil
}

func (m *Model) checkPrune(keep float64) error {
	if err := m.Config.SSM.CheckScores(); err != nil {
		return fmt.Errorf("model: prune: %w", err)
	}
	if !(keep > 0 && keep <= 1) {
		return fmt.Errorf("model: prune: keep %v: expected a share of the modes, in (0, 1]", keep)
	}
	return nil
}

// gains returns what the scores of each layer depend on.
func (m *Model) gains() (layers []*ssm.ModeGains) {
	for i := range m.Config.CountSSM() {
		layers = append(layers, m.SSMParams(i).ModeGains())
	}
	return layers
}

// withModes returns a model whose SSMs have their best modes. C is 0 for modes whose LAST score is
// below least.
func (m *Model) withModes(kept int, layers []*ssm.ModeGains, least float64) *Model {
	c := m.Config
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
	for i, g := range layers {
		m.Weights.Layers[i].keepModes(&out.Weights.Layers[i], g, kept, least)
	}
	return out
}

// keepModes copies the best modes of each SSM, in their order, to a layer with that many modes. C
// is 0 for those whose score is below least. A layer with an SSM per channel has a row of C per SSM
// and direction. The one SSM of an S5 layer or an LRU has all rows, and a step per mode.
func (l *Layer) keepModes(to *Layer, g *ssm.ModeGains, kept int, least float64) {
	score, copies, rows := g.LAST(), len(l.Decay)/g.M, len(l.C)/(2*g.M)
	for h := range g.SSMs {
		for i, n := range highest(score[h*g.M:(h+1)*g.M], kept) {
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
			for row := h; row < rows; row += g.SSMs {
				c := to.C[2*(row*kept+i):][:2]
				copy(c, l.C[2*(row*g.M+n):])
				if score[h*g.M+n] < least {
					clear(c)
				}
			}
		}
	}
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
