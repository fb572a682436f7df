package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rankOne is the recurrence of S4 (docs/maths.md §17.3). The state is h, [re,
// im][groups][M][vek.GroupChannels].
type rankOne struct {
	correction
	system   vek.RankOne
	channels int
}

// newRankOne recovers C from C̃ and rounds the constants to float32. It changes p.
func newRankOne(p *ssm.Params, stepScale float64) (*rankOne, error) {
	if err := p.RecoverChannels(0, p.DModel); err != nil {
		return nil, err
	}
	m, width := p.Modes(), vek.ChannelGroups(p.DModel)*vek.GroupChannels
	l := &rankOne{correction: newCorrection(m * width), system: vek.NewRankOne(p.DModel, m), channels: p.DModel}
	r := ssm.NewRankOne(m)
	for h := range p.DModel {
		p.RankOne(r, h, stepScale)
		l.system.D[h] = float32(p.D[h])
		for n := range m {
			// ⟨u,h⟩ and ⟨C,h⟩ are twice a real part.
			l.system.SetMode(h, n, l.setPole(h, n, m, r.E[n], blockSamples), r.P[n], 2*r.U[n], r.B[n], 2*p.C[h*m+n])
		}
	}
	return l, nil
}

func (l *rankOne) run(y, x vek.Matrix, states [][]float32, _ []int64, t int, scratch []float32) {
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		vek.RankOneBlock(y.Columns(i*t, (i+1)*t), x.Columns(i*t, (i+1)*t), re, im, &l.system, scratch)
	}
}

func (l *rankOne) scratchLen() int { return vek.RankOneScratch(l.channels, blockSamples) }
