package ssm

import "math"

// minDecay is the lower bound of −Re Λ and Im Λ at the start of S4. The official code's inverse
// transforms clamp to it.
const minDecay = 1e-4

// legSCopies returns the number of pole copies, the first ones, that S4 starts as HiPPO-LegS.
func (c Config) legSCopies() int {
	switch c.Init {
	case LegS:
		return c.Copies()
	case Hippo:
		return c.Copies() / 2
	}
	return 0
}

// initHippo sets Λ, P and B of S4 (docs/maths.md §17.1): those of HiPPO-LegS, those of HiPPO-FouT,
// or each of them for half of the copies.
func (p *Params) initHippo() error {
	m, first := p.Modes(), p.legSCopies()
	var freq []float64
	var b []complex128
	if first > 0 {
		var err error
		if freq, b, err = legS(p.DState); err != nil {
			return err
		}
	}
	for i := range p.Freq {
		n := i % m
		if i/m < first {
			p.Decay[i], p.Freq[i] = math.Log(0.5), freq[n]
			p.B[i], p.P[i] = clipIm(b[n]), b[n]*complex(math.Sqrt(0.5), 0)
			continue
		}
		// FouT: P = B = 1, but 2^−½ for the pole at 0, which stands for two poles. Their phases
		// have no effect, since C's is random.
		p.Decay[i], p.Freq[i] = math.Log(minDecay), math.Pi*float64(m-1-n)
		p.B[i] = 1
		if n == m-1 {
			p.Freq[i], p.B[i] = minDecay, complex(math.Sqrt(0.5), 0)
		}
		p.P[i] = p.B[i]
	}
	return nil
}
