package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// scored returns bidirectional layers of S5 and the LRU.
func scored(h int) (list []Config) {
	for _, layer := range []Layer{LayerS5, LayerLRU} {
		cfg := scanConfig(layer, h, 16)
		cfg.Bidirectional, cfg.DtMin = true, 0.02
		if layer == LayerLRU {
			cfg.RMin, cfg.RMax = 0.5, 0.98
		}
		list = append(list, cfg)
	}
	bilinear := list[0]
	bilinear.Disc = Bilinear
	return append(list, bilinear)
}

// The scores of S5 and the LRU are computed from the norms of the columns of C and the rows of B̄.
func TestScanScores(t *testing.T) {
	const h = 3
	for _, cfg := range scored(h) {
		p, s := mustNew(t, cfg, 1, 0), NewScan(cfg)
		p.DiscretizeScan(s, 1, 0, cfg.Modes())
		g := p.ModeGains(1)
		hinf, last, modes := g.HInf(), g.LAST(), cfg.Modes()
		raw := make([]float64, modes)
		for n := range modes {
			var weights [2]float64
			for dir := range weights {
				b, c := 0.0, 0.0
				for i := range h {
					b += math.Pow(cmplx.Abs(s.BBar[n*h+i]), 2)
					c += math.Pow(s.Factor/2*cmplx.Abs(p.C[(dir*h+i)*modes+n]), 2)
				}
				weights[dir] = math.Sqrt(b * c)
				want := b * c / math.Pow(1-cmplx.Abs(s.Lambda[n]), 2)
				closeTo(t, fmt.Sprintf("%s %s: H∞ score of mode %d, direction %d", cfg.Layer, cfg.Disc, n, dir), hinf[dir*modes+n], want)
			}
			raw[n] = math.Pow((weights[0]+weights[1])/2, 2) / (math.Pow(1-cmplx.Abs(s.Lambda[n]), 2) + 1e-8)
		}
		for n, got := range last {
			sum := 0.0
			for _, r := range raw {
				if r >= raw[n] {
					sum += r
				}
			}
			closeTo(t, fmt.Sprintf("%s %s: LAST score of mode %d", cfg.Layer, cfg.Disc, n), got, raw[n]/sum)
		}
	}
}

func closeTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*want) {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

// The gain is the largest singular value of the transform of the impulse response, which a power
// iteration finds.
func TestScanGain(t *testing.T) {
	const h, length = 3, 4000
	for _, cfg := range scored(h) {
		p, s := mustNew(t, cfg, 2, 0), NewScan(cfg)
		modes := cfg.Modes()
		p.DiscretizeScan(s, 1, 0, modes)
		a := must.Get(p.Analyze(1))(t)
		for dir := range 2 {
			for _, theta := range []float64{0, 0.1, 1, 3} {
				var response [h][h]complex128
				for j := range h {
					state := make([]complex128, modes)
					for l := range length {
						for n := range state {
							state[n] *= s.Lambda[n]
							if l == 0 {
								state[n] = s.BBar[n*h+j]
							}
						}
						for i := range h {
							y := 0.0
							for n, x := range state {
								y += s.Factor * real(p.C[(dir*h+i)*modes+n]*x)
							}
							response[i][j] += complex(y, 0) * cmplx.Rect(1, -theta*float64(l))
						}
					}
				}
				closeTo(t, fmt.Sprintf("%s %s, direction %d: gain at %v", cfg.Layer, cfg.Disc, dir, theta), a.Gain(dir, theta), largestByPower(response[:]))
			}
		}
	}
}

// largestByPower returns the largest singular value of a matrix.
func largestByPower(m [][3]complex128) (size float64) {
	v := []complex128{1, 0.7, 0.4i}
	for range 2000 {
		image, back := make([]complex128, len(m)), make([]complex128, len(v))
		for i := range m {
			for j, x := range v {
				image[i] += m[i][j] * x
			}
			for j := range v {
				back[j] += cmplx.Conj(m[i][j]) * image[i]
			}
		}
		size = norm(image, 1) / norm(v, 1)
		length := norm(back, 1)
		for j := range v {
			v[j] = back[j] / complex(length, 0)
		}
	}
	return size
}

// A mode on the unit circle has an unbounded H∞ score, unless its weight is 0.
func TestScanScoresUnbounded(t *testing.T) {
	for _, disc := range []Disc{ZOH, Bilinear} {
		cfg := scanConfig(LayerS5, 2, 16)
		cfg.Disc = disc
		p := mustNew(t, cfg, 1, 0)
		p.Decay[3], p.Decay[4] = 0, 0
		p.B[2*4], p.B[2*4+1] = 0, 0
		g := p.ModeGains(1)
		scores, last := g.HInf(), g.LAST()
		if !math.IsInf(scores[3], 1) || scores[4] != 0 || last[3] != slices.Max(last) || last[4] != 0 {
			t.Errorf("%s: H∞ scores %v, LAST scores %v", disc, scores, last)
		}
	}
}

// At the angle of a pole on the unit circle the gain is infinite, unless the mode is silent. Λ = 0
// is such a pole.
func TestGainAtPole(t *testing.T) {
	for _, cfg := range scored(3) {
		if cfg.Layer != LayerS5 {
			continue
		}
		p := mustNew(t, cfg, 1, 0)
		p.ClipEigs = false
		p.Decay[2], p.Freq[2] = 0, 0
		a := must.Get(p.Analyze(1))(t)
		must.Equal(t, a.Gain(1, 0), math.Inf(1), "%s: gain at the pole", cfg.Disc)
		output := slices.Clone(p.C)
		for i := range len(p.C) / p.Modes() {
			p.C[i*p.Modes()+2] = 0
		}
		for _, without := range []string{"output", "input"} {
			a = must.Get(p.Analyze(1))(t)
			if gain := a.Gain(1, 0); !(gain < 1e6) {
				t.Errorf("%s: gain %v at the angle of a mode without %s", cfg.Disc, gain, without)
			}
			copy(p.C, output)
			clear(p.B[2*p.DModel : 3*p.DModel])
		}
	}
}
