package ssm

import (
	"math"
	"math/cmplx"
	"testing"
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
		g := p.ModeGains()
		hinf, modes := g.HInf(), cfg.Modes()
		for n := range modes {
			largest := 0.0
			for dir := range 2 {
				b, c := 0.0, 0.0
				for i := range h {
					b += math.Pow(cmplx.Abs(s.BBar[n*h+i]), 2)
					c += math.Pow(s.Factor/2*cmplx.Abs(p.C[(dir*h+i)*modes+n]), 2)
				}
				largest = max(largest, b*c)
			}
			want := largest / math.Pow(1-cmplx.Abs(s.Lambda[n]), 2)
			near(t, hinf[n], want, 1e-9*want, "%s %s: H∞ score of mode %d", cfg.Layer, cfg.Disc, n)
		}
	}
}
