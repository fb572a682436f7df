package ssm

import (
	"cmp"
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// CInit selects the initial C of S5 (docs/maths.md §19.4).
type CInit string

// The choices. The first two are in the basis of the HiPPO state, which the eigenvectors transform.
const (
	CTruncStandardNormal CInit = "trunc_standard_normal" // variance 1/(2P) per part (default)
	CLecunNormal         CInit = "lecun_normal"          // variance 1/(2PH)
	CComplexNormal       CInit = "complex_normal"        // variance ½, in the basis of the modes
)

// defaultMaxPhase is that of the LRU's key.
const defaultMaxPhase = 6.28

// ring returns the largest initial |λ̄| and angle of an LRU.
func (c Config) ring() (rMax, maxPhase float64) {
	return cmp.Or(c.RMax, 1), cmp.Or(c.MaxPhase, defaultMaxPhase)
}

// initLRU draws poles in a ring, and B and C (LRU, arXiv 2303.06349, §3.2 and Lemma 3.2).
func (p *Params) initLRU(draw random.Stream) {
	rMax, phase := p.ring()
	for n := range p.Decay {
		square := inside(draw, drawRadius+uint64(n))*(rMax*rMax-p.RMin*p.RMin) + p.RMin*p.RMin // |λ̄|²
		p.Decay[n] = math.Log(-0.5 * math.Log(square))
		p.Freq[n] = math.Log(phase * inside(draw, drawFreq+uint64(n)))
		p.Gamma[n] = 0.5 * math.Log1p(-square)
	}
	drawComplex(p.B, draw, drawB, math.Sqrt(1/float64(2*p.DModel)))
	drawComplex(p.C, draw, drawC, math.Sqrt(1/float64(p.Modes())))
}

// inside returns draw i, uniform in (0, 1).
func inside(draw random.Stream, i uint64) float64 {
	return (float64(draw.Uint64(i)>>11) + 0.5) * 0x1p-53
}

// drawComplex fills x with numbers whose parts are normal with the given standard deviation.
func drawComplex(x []complex128, draw random.Stream, at uint64, deviation float64) {
	for i := range x {
		re, im := draw.NormalPair(at + 2*uint64(i))
		x[i] = complex(deviation*re, deviation*im)
	}
}

// initS5 sets Λ to the eigenvalues of Blocks copies of HiPPO-LegS with Im Λ < 0, and draws B =
// V*·B₀ and C = C₀·V, where V are the unit eigenvectors (S5, arXiv 2208.04933, §3.3 and appendix
// B.1).
func (p *Params) initS5(draw random.Stream) error {
	blocks, h := max(p.Blocks, 1), p.DModel
	size := p.DState / blocks
	freq, vectors, err := legSEigenvectors(size)
	if err != nil {
		return err
	}
	deviation := truncatedUnit / math.Sqrt(float64(p.DState))
	modes := len(freq)
	for n := range p.Freq {
		block, k := n/modes, n%modes
		p.Decay[n], p.Freq[n] = -0.5, -freq[k]
		for c := range h {
			var sum complex128
			for i, v := range vectors[k] {
				b := truncatedNormal(draw, drawB+uint64((block*size+i)*h+c))
				sum += cmplx.Conj(v) * complex(deviation*b, 0)
			}
			p.B[n*h+c] = sum
		}
	}
	if p.CInit == CComplexNormal {
		drawComplex(p.C, draw, drawC, math.Sqrt(0.5))
		return nil
	}
	if p.CInit == CLecunNormal {
		deviation /= math.Sqrt(float64(h))
	}
	for row := range p.Directions() * h {
		for n := range p.Freq {
			block, k := n/modes, n%modes
			var sum complex128
			for i, v := range vectors[k] {
				at := drawC + 2*uint64(row*p.DState+block*size+i)
				sum += complex(deviation*truncatedNormal(draw, at), deviation*truncatedNormal(draw, at+1)) * v
			}
			p.C[row*len(p.Freq)+n] = sum
		}
	}
	return nil
}

// truncatedUnit is the reciprocal of the standard deviation of truncatedNormal.
const truncatedUnit = 1 / 0.87962566103423978

// truncatedNormal returns draw i of a standard normal distribution on [−2, 2].
func truncatedNormal(draw random.Stream, i uint64) float64 {
	return math.Sqrt2 * math.Erfinv((2*inside(draw, i)-1)*math.Erf(math.Sqrt2))
}
