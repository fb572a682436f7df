package ssm

import (
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

// discreteConfigs are configurations with discrete parameters, some with angles beyond π.
func discreteConfigs() map[string]Config {
	list := map[string]Config{}
	add := func(name string, init Init, change func(*Config)) {
		cfg := config(init, 3, 8)
		cfg.Param = ParamDiscrete
		change(&cfg)
		list[name] = cfg
	}
	add("dfout", DFouT, func(c *Config) {})
	add("half, bidirectional", DFouTHalf, func(c *Config) { c.Bidirectional = true })
	add("bilinear", DFouT, func(c *Config) { c.Disc = Bilinear })
	add("trained B", DFouTSingle, func(c *Config) { c.TrainB = true })
	return list
}

// lruConfigs are LRUs with angles on the full circle, and with slow poles at low angles.
func lruConfigs() map[string]Config {
	full, slow := scanConfig(LayerLRU, 3, 8), scanConfig(LayerLRU, 2, 5)
	full.RMin, full.RMax, full.Bidirectional = 0.5, 0.99, true
	slow.RMin, slow.RMax, slow.MaxPhase = 0.999, 0.9999, 0.314
	return map[string]Config{"LRU, full circle": full, "LRU, slow": slow}
}

// kernelsAt returns the taps of a layer's kernels at a step scale: [directions·H][taps], and
// [directions·H·H][taps] of an LRU.
func kernelsAt(p *Params, stepScale float64, taps int) (list [][]float64) {
	if !p.MIMO() {
		return p.Discretize(p.Disc, stepScale).Kernel(taps)
	}
	s, h := NewScan(p.Config), p.DModel
	p.DiscretizeScan(s, stepScale, 0, p.Modes())
	for i := range p.Directions() * h * h {
		k := make([]float64, taps)
		for n, lambda := range s.Lambda {
			w := p.C[i/h*p.Modes()+n] * s.BBar[n*h+i%h]
			for l := range k {
				k[l] += s.Factor * real(w)
				w *= lambda
			}
		}
		list = append(list, k)
	}
	return list
}

// Sums of q taps at step scale p/q are sums of p taps in training: the layer's
// output for an input whose samples are held (docs/maths.md §15).
func TestHeldKernel(t *testing.T) {
	const taps = 60
	configs := discreteConfigs()
	maps.Copy(configs, lruConfigs())
	for name, cfg := range configs {
		params := mustNew(t, cfg, 2, 1)
		perturb(params)
		trained := kernelsAt(params, 1, 6*taps)
		for _, ratio := range [][2]int{{2, 1}, {3, 1}, {5, 1}, {3, 2}, {1, 2}, {2, 3}, {1, 1}} {
			p, q := ratio[0], ratio[1]
			scale := float64(p) / float64(q)
			for row, k := range kernelsAt(params, scale, q*taps) {
				got, want := make([]float64, taps), make([]float64, taps)
				largest := 0.0
				for l := range taps {
					for s := range q {
						got[l] += k[q*l+s]
					}
					for s := range p {
						want[l] += trained[row][p*l+s]
					}
					largest = max(largest, math.Abs(want[l]))
				}
				compare(t, fmt.Sprintf("%s, step scale %d/%d, row %d", name, p, q, row), got, want, 1e-12*largest)
			}
		}
	}
}

// S4D's poles, and those of the continuous parametrisation, are discretised with the step rΔ.
func TestStepOfOtherRates(t *testing.T) {
	for _, cfg := range []Config{config(Lin, 2, 8), config(LegS, 2, 8), config(DFouT, 2, 8)} {
		p, scaled := mustNew(t, cfg, 2, 1), mustNew(t, cfg, 2, 1)
		for h := range scaled.Step {
			scaled.Step[h] += math.Log(2)
		}
		for _, disc := range []Disc{ZOH, Bilinear} {
			got, want := p.Discretize(disc, 2), scaled.Discretize(disc, 1)
			for i, a := range got.LogLambda {
				if cmplx.Abs(a-want.LogLambda[i]) > 1e-13 || cmplx.Abs(got.BBar[i]-want.BBar[i]) > 1e-14 {
					t.Errorf("%s, %s: mode %d is %g, %g, expected %g, %g", cfg.Init, disc, i, a, got.BBar[i], want.LogLambda[i], want.BBar[i])
				}
			}
		}
	}
}

// A band limit silences the modes at or beyond its share of the input's Nyquist frequency, and no
// others (docs/maths.md §15).
func TestBandlimit(t *testing.T) {
	folded := func(angle float64) float64 { return math.Abs(math.Remainder(angle, 2*math.Pi)) }
	dfout, half, dss := config(DFouT, 4, 16), config(DFouTHalf, 4, 16), config(Inv, 4, 16)
	dfout.Param, half.Param = ParamDiscrete, ParamDiscrete
	dss.Layer, dss.LKernel = LayerDSS, 64
	continuous := func(p *Params, h, i int) float64 { return p.Freq[i] * math.Exp(p.Step[h]) }
	for _, test := range []struct {
		cfg  Config
		turn func(p *Params, h, i int) float64 // the angle per sample in training
	}{
		{dfout, func(p *Params, h, i int) float64 { return p.Freq[i] }},
		{half, func(p *Params, h, i int) float64 { return folded(p.Freq[i]) }},
		{config(Inv, 4, 16), continuous},
		{dss, continuous},
	} {
		all := mustNew(t, test.cfg, 1, 0)
		for _, limit := range []float64{0.5, 1} {
			test.cfg.Bandlimit = limit
			p := mustNew(t, test.cfg, 1, 0)
			for _, scale := range []float64{1, 2, 1.7, 0.5} {
				d, full := p.Discretize(ZOH, scale), all.Discretize(ZOH, scale)
				silent := 0
				for i, w := range d.W {
					if want := test.turn(p, i/d.M, i)*scale >= limit*math.Pi; want != (w == 0) || !want && w != full.W[i] {
						t.Errorf("%s, bandlimit %g, step scale %g: weight %d is %g, expected silence %v", p.Init, limit, scale, i, w, want)
					}
					if w == 0 {
						silent++
					}
					if d.LogLambda[i] != full.LogLambda[i] && scale != 1 {
						t.Errorf("%s, bandlimit %g, step scale %g: pole %d moves", p.Init, limit, scale, i)
					}
				}
				if scale == 2 && silent == 0 {
					t.Errorf("%s, bandlimit %g: no mode is silent at half the rate", p.Init, limit)
				}
			}
		}
	}
}

// An LRU at λ̄ → 1 holds r samples: S = r (docs/maths.md §15).
func TestRateOfConstant(t *testing.T) {
	cfg := scanConfig(LayerLRU, 1, 1)
	p, s := mustNew(t, cfg, 1, 0), NewScan(cfg)
	p.Decay[0], p.Freq[0], p.Gamma[0], p.B[0] = math.Inf(-1), math.Inf(-1), 0, 1
	p.DiscretizeScan(s, 2.5, 0, 1)
	if s.Lambda[0] != 1 || s.BBar[0] != 2.5 {
		t.Errorf("λ̄ %v, B̄ %v at step scale 2.5, expected 1 and 2.5", s.Lambda[0], s.BBar[0])
	}
}

// The angle of an LRU's pole is folded before λ̄ is raised to a power r that is not a whole number:
// angles that differ by 2π are the same mode, and 5.5 stands for 5.5 − 2π.
func TestFoldedAngle(t *testing.T) {
	cfg := scanConfig(LayerLRU, 1, 2)
	p, s := mustNew(t, cfg, 1, 0), NewScan(cfg)
	p.Decay[1], p.Gamma[1], p.B[1] = p.Decay[0], p.Gamma[0], p.B[0]
	p.Freq[0], p.Freq[1] = math.Log(5.5), math.Log(5.5+2*math.Pi)
	for _, r := range []float64{1, 1.5, 0.7, 3} {
		p.DiscretizeScan(s, r, 0, 2)
		want := cmplx.Exp(complex(-r*math.Exp(p.Decay[0]), r*(5.5-2*math.Pi)))
		for n, lambda := range s.Lambda {
			if cmplx.Abs(lambda-want) > 1e-14 || cmplx.Abs(s.BBar[n]-s.BBar[0]) > 1e-14 {
				t.Errorf("step scale %v: mode %d is %v, %v; expected %v, %v", r, n, lambda, s.BBar[n], want, s.BBar[0])
			}
		}
	}
}

// A band limit of S5 or an LRU has the effect of columns of C that are 0: those of the modes that
// turn by its share of π or more per sample of the input. The poles do not move.
func TestScanBandlimit(t *testing.T) {
	lru, zoh, bilinear := scanConfig(LayerLRU, 2, 40), scanConfig(LayerS5, 2, 64), scanConfig(LayerS5, 2, 64)
	bilinear.Disc = Bilinear
	for _, test := range []struct {
		cfg  Config
		turn func(p *Params, n int, stepScale float64) float64
	}{
		{lru, func(p *Params, n int, r float64) float64 { return r * math.Remainder(math.Exp(p.Freq[n]), 2*math.Pi) }},
		{zoh, func(p *Params, n int, r float64) float64 { return r * p.Freq[n] * math.Exp(p.Step[n]) }},
		{bilinear, func(p *Params, n int, r float64) float64 {
			a := complex(p.Decay[n], p.Freq[n]) * complex(r*math.Exp(p.Step[n])/2, 0)
			return cmplx.Phase((1 + a) / (1 - a))
		}},
	} {
		all := mustNew(t, test.cfg, 1, 0)
		for _, limit := range []float64{0.3, 0.5, 1} {
			test.cfg.Bandlimit = limit
			p := mustNew(t, test.cfg, 1, 0)
			for _, scale := range []float64{1, 2, 1.7, 0.5} {
				name := fmt.Sprintf("%s, %s, bandlimit %g, step scale %g", p.Layer, p.Disc, limit, scale)
				want := *all
				want.C = slices.Clone(all.C)
				silent, modes := 0, p.Modes()
				for n := range modes {
					if math.Abs(test.turn(p, n, scale)) < limit*math.Pi {
						continue
					}
					silent++
					for row := range p.DModel {
						want.C[row*modes+n] = 0
					}
				}
				for i, k := range kernelsAt(p, scale, 30) {
					compare(t, fmt.Sprintf("%s, kernel %d", name, i), k, kernelsAt(&want, scale, 30)[i], 0)
				}
				if none := p.Disc == Bilinear && limit == 1; scale == 2 && (silent == 0) != none {
					t.Errorf("%s: %d of %d modes are silent", name, silent, modes)
				}
				got, full := NewScan(p.Config), NewScan(p.Config)
				p.DiscretizeScan(got, scale, 0, modes)
				all.DiscretizeScan(full, scale, 0, modes)
				if !slices.Equal(got.Lambda, full.Lambda) {
					t.Errorf("%s: poles move", name)
				}
			}
		}
	}
}
