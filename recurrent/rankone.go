package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rankOne is the recurrence of S4 (docs/maths.md §17.3). The state is h, [re,
// im][groups][M][vek.RankOneLanes].
type rankOne struct {
	system                     vek.RankOne
	channels                   int
	correctionRe, correctionIm []float32 // as the state: phase correction at the end of a block
}

// newRankOne recovers C from C̃ and rounds the constants to float32. It changes p.
func newRankOne(p *ssm.Params, stepScale float64) (*rankOne, error) {
	if err := p.RecoverChannels(0, p.DModel); err != nil {
		return nil, err
	}
	const lanes = vek.RankOneLanes
	m, width := p.Modes(), vek.RankOneGroups(p.DModel)*lanes
	l := &rankOne{
		system:   vek.RankOne{Terms: make([]float32, vek.RankOneTerms*m*width), D: make([]float32, width)},
		channels: p.DModel, correctionRe: make([]float32, m*width), correctionIm: make([]float32, m*width),
	}
	r := ssm.NewRankOne(m)
	for h := range p.DModel {
		p.RankOne(r, h, stepScale)
		l.system.D[h] = float32(p.D[h])
		for n := range m {
			mode := h/lanes*m + n
			at, lane := mode*vek.RankOneTerms*lanes, h%lanes
			// ⟨u,h⟩ and ⟨C,h⟩ are twice a real part.
			e, twice := r.E[n], complex(2, 0)
			re, im := ssm.RoundPole(e)
			for i, v := range [vek.RankOneTerms / 2]complex128{complex(float64(re), float64(im)), r.P[n], twice * r.U[n], r.B[n], twice * p.C[h*m+n]} {
				l.system.Terms[at+2*i*lanes+lane] = float32(real(v))
				l.system.Terms[at+(2*i+1)*lanes+lane] = float32(imag(v))
			}
			k := mode*lanes + lane
			l.correctionRe[k], l.correctionIm[k] = phaseCorrection(e, complex(float64(re), float64(im)))
		}
	}
	return l, nil
}

func (l *rankOne) run(y, x vek.Matrix, states [][]float32, t int, scratch []float32) {
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		vek.RankOneBlock(y.Columns(i*t, (i+1)*t), x.Columns(i*t, (i+1)*t), re, im, &l.system, scratch)
	}
}

func (l *rankOne) stateLen() int { return 2 * len(l.correctionRe) }

func (l *rankOne) scratchLen() int { return vek.RankOneScratch(l.channels, block) }

// correct applies h ← h + δh, as for diagonal systems.
func (l *rankOne) correct(state []float32) {
	re, im := state[:len(state)/2], state[len(state)/2:]
	vek.CMulConjAdd(re, im, l.correctionRe, l.correctionIm, re, im)
}
