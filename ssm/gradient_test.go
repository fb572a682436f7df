package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

func power(logLambda complex128, l int) complex128 {
	return cmplx.Exp(complex(float64(l), 0) * logLambda)
}

const gradTaps = 12

// kernelLoss is Σ dk·K for fixed random dk.
func kernelLoss(p *Params, dk [][]float64) (loss float64) {
	for row, k := range p.Discretize(p.Disc, 1).Kernel(gradTaps) {
		for l := range k {
			loss += dk[row][l] * k[l]
		}
	}
	return loss
}

func backward(p *Params, dk [][]float64) *Params {
	grad := zeroParams(p.Config)
	d := withModes(p)
	g, m := sums(d, dk)
	p.BackwardChannels(grad, d, g, m, 0, p.DModel)
	return grad
}

// withModes is Discretize with what BackwardChannels needs.
func withModes(p *Params) *Discrete {
	d := NewDiscrete(p.Config, 1)
	d.KeepModes()
	p.DiscretizeChannels(d, p.Disc, 1, 0, p.DModel)
	return d
}

func randomTaps(rows int) [][]float64 {
	s := random.New(5, random.Signal, 0, 0)
	dk := make([][]float64, rows)
	for row := range dk {
		dk[row] = make([]float64, gradTaps)
		for l := range dk[row] {
			dk[row][l] = s.Normal(uint64(row*gradTaps + l))
		}
	}
	return dk
}

// TestGradients compares every gradient with central differences, in every parametrisation.
func TestGradients(t *testing.T) {
	for _, cfg := range []Config{
		{Init: Lin, Disc: ZOH}, {Init: Lin, Disc: Bilinear}, {Init: DFouT, Disc: ZOH}, {Init: LegS, Disc: ZOH, TrainB: true},
		{Init: Inv, Disc: Bilinear, NSSM: 2, Bidirectional: true}, {Init: Lin, Disc: ZOH, NSSM: 1, Bidirectional: true},
		{Init: DFouT, Disc: ZOH, Param: ParamDiscrete, Bidirectional: true}, {Init: DFouT, Disc: Bilinear, Param: ParamDiscrete},
		{Init: DFouTHalf, Disc: ZOH, Param: ParamDiscrete, TrainB: true},
		{Init: Lin, Disc: Bilinear, Bandlimit: 0.2}, {Init: DFouTHalf, Disc: ZOH, Param: ParamDiscrete, Bandlimit: 0.7},
	} {
		t.Run(fmt.Sprintf("%s/%s/param=%s/n_ssm=%d/bidirectional=%v", cfg.Init, cfg.Disc, cfg.Param, cfg.NSSM, cfg.Bidirectional), func(t *testing.T) {
			full := config(cfg.Init, 4, 8)
			full.Param, full.Bandlimit = cfg.Param, cfg.Bandlimit
			full.Disc, full.NSSM, full.Bidirectional, full.TrainB = cfg.Disc, cfg.NSSM, cfg.Bidirectional, cfg.TrainB
			full.DtMin, full.XiMin = 0.02, 0.02
			p := mustNew(t, full, 3, 0)
			perturb(p)
			checkGradients(t, p)
		})
	}
}

// perturb moves every parameter away from its regular initial value.
func perturb(p *Params) {
	s := random.New(6, random.Noise, 0, 0)
	for i := range p.Freq {
		p.Freq[i] += 0.1 * s.Normal(uint64(i))
		p.Decay[i] += 0.3 * s.Normal(uint64(1000+i))
		p.B[i] *= complex(1+0.2*s.Normal(uint64(2000+i)), 0.2*s.Normal(uint64(3000+i)))
	}
}

// difference returns the fourth-order central difference of a loss. move adds to a parameter.
func difference(loss func() float64, move func(float64)) float64 {
	const eps = 1e-4
	at := func(x float64) float64 {
		move(x)
		defer move(-x)
		return loss()
	}
	return (8*(at(eps)-at(-eps)) - (at(2*eps) - at(-2*eps))) / (12 * eps)
}

func checkGradients(t *testing.T, p *Params) {
	t.Helper()
	dk := randomTaps(p.Directions() * p.DModel)
	grad := backward(p, dk)
	check := func(name string, i int, got float64, move func(float64)) {
		t.Helper()
		want := difference(func() float64 { return kernelLoss(p, dk) }, move)
		if !(math.Abs(got-want) <= 2e-9+1e-7*math.Abs(want)) {
			t.Errorf("%s[%d]: gradient %.12g, central difference %.12g", name, i, got, want)
		}
	}
	for name, pair := range map[string][2][]float64{
		"Step": {p.Step, grad.Step}, "Decay": {p.Decay, grad.Decay}, "Freq": {p.Freq, grad.Freq},
	} {
		for i := range pair[0] {
			check(name, i, pair[1][i], func(e float64) { pair[0][i] += e })
		}
	}
	for name, pair := range map[string][2][]complex128{"B": {p.B, grad.B}, "C": {p.C, grad.C}} {
		for i := range pair[0] {
			check("Re "+name, i, real(pair[1][i]), func(e float64) { pair[0][i] += complex(e, 0) })
			check("Im "+name, i, imag(pair[1][i]), func(e float64) { pair[0][i] += complex(0, e) })
		}
	}
}

// TestGradientsAtZero tests a pole at A = 0 exactly, one on the unit circle, and a bilinear pole at
// λ̄ = 0.
func TestGradientsAtZero(t *testing.T) {
	for _, tests := range []struct {
		name string
		init Init
		disc Disc
	}{{"zoh", Lin, ZOH}, {"bilinear", Lin, Bilinear}, {"dfout", DFouT, ZOH}} {
		t.Run(tests.name, func(t *testing.T) {
			cfg := config(tests.init, 1, 4)
			cfg.Disc = tests.disc
			p := mustNew(t, cfg, 3, 0)
			p.Decay[0], p.Decay[1] = math.Inf(-1), math.Inf(-1)
			p.Freq[0], p.Freq[1] = 0, 0.7
			grad := backward(p, randomTaps(1))
			if grad.Decay[0] != 0 || grad.Decay[1] != 0 {
				t.Errorf("gradient of log decay on the unit circle = %v, expected 0", grad.Decay)
			}
			checkGradients(t, p) // would report NaN
		})
	}
	t.Run("bilinear λ=0", func(t *testing.T) {
		cfg := config(Lin, 1, 2)
		cfg.Disc = Bilinear
		p := mustNew(t, cfg, 3, 0)
		p.Step[0], p.Decay[0] = math.Log(0.1), math.Log(20) // a = −2
		checkGradients(t, p)
	})
}
