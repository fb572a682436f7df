package ssm

import (
	"math"
	"math/cmplx"
	"reflect"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func config(init Init, h, n int) Config {
	return Config{DModel: h, DState: n, Init: init, Disc: ZOH, DtMin: 1e-3, DtMax: 0.1, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5}
}

func mustNew(t *testing.T, cfg Config, seed uint64, layer int) *Params {
	t.Helper()
	return must.Get(New(cfg, seed, layer))(t)
}

// The check values of docs/maths.md §2.1 for N = 64.
func TestFrequencies(t *testing.T) {
	tests := []struct {
		init Init
		want map[int]float64
		tol  float64
	}{
		{Lin, map[int]float64{0: 0, 1: math.Pi, 31: 97.38937}, 5e-6},
		{Inv, map[int]float64{0: 1283.42546, 1: 414.22726, 2: 240.38762, 29: 1.7264265, 30: 1.0018922, 31: 0.3233636}, 1e-5},
		{Inv2, map[int]float64{0: 1283.42546, 1: 631.5268, 2: 414.22726, 31: 20.371832}, 1e-4},
		{Quad, map[int]float64{0: 0.31831, 1: 2.86479, 2: 7.95775, 31: 1263.372}, 5e-4},
		{Real, map[int]float64{0: 0, 31: 0}, 0},
		{LegS, map[int]float64{0: 1303.2738, 1: 433.03076, 2: 258.15222, 29: 1.7029691, 30: 0.9058589, 31: 0.26385742}, 5e-5},
	}
	for _, test := range tests {
		t.Run(string(test.init), func(t *testing.T) {
			p := mustNew(t, config(test.init, 2, 64), 1, 0)
			for n, want := range test.want {
				for c := range 2 {
					if got := p.Freq[32*c+n]; math.Abs(got-want) > test.tol {
						t.Errorf("copy %d: Im A[%d] = %.9g, expected %.9g", c, n, got, want)
					}
				}
			}
			if test.init == Lin && p.Freq[0] != 0 {
				t.Errorf("Im A[0] = %g, expected 0 exactly", p.Freq[0])
			}
			decay := 0.5
			if test.init == Real {
				decay = 6 // Re A_n = −(n+1)
			}
			must.Equal(t, p.Decay[5], math.Log(decay), "log(−Re A)")
		})
	}
}

// The check values of docs/maths.md §2.2. They are for the eigenvectors of −w; ours belong to +w,
// so B is conjugate.
func TestLegS(t *testing.T) {
	tests := []struct {
		dState int
		freq   map[int]float64
		b      map[int]complex128 // Im before the clip
		tol    float64
	}{
		{8, map[int]float64{0: 19.857410371, 1: 5.354208515, 2: 1.9577941509, 3: 0.4274887123},
			map[int]complex128{0: 0.1297751 + 5.1539920i, 1: 0.1714430 + 1.8358812i, 2: 0.2907406 + 1.1384203i, 3: 0.6076476 + 0.5195251i}, 6e-10},
		{64, nil, map[int]complex128{0: 0.0156345 + 40.7518i, 1: 0.0157094 + 13.6056i, 2: 0.0158602 + 8.1890i,
			29: 0.2087523 + 0.7109971i, 30: 0.3287116 + 0.5955323i, 31: 0.5257909 + 0.2774676i}, 0},
	}
	for _, test := range tests {
		freq, b, err := legS(test.dState)
		must.Do(t, err)
		for n, want := range test.freq {
			if math.Abs(freq[n]-want) > test.tol {
				t.Errorf("N=%d: w[%d] = %.12g, expected %.12g", test.dState, n, freq[n], want)
			}
		}
		for n, want := range test.b {
			// The listed B are rounded to float32.
			if want = cmplx.Conj(clipIm(want)); cmplx.Abs(clipIm(b[n])-want) > 1e-6 {
				t.Errorf("N=%d: B[%d] = %.8g, expected %.8g", test.dState, n, b[n], want)
			}
		}
	}
}

// The kernel is the same whether B is a tensor of its own or folded into C.
func TestLegSFold(t *testing.T) {
	cfg := config(LegS, 3, 16)
	cfg.Bidirectional = true
	folded := mustNew(t, cfg, 4, 2)
	cfg.TrainB = true
	stored := mustNew(t, cfg, 4, 2)
	if folded.B[1] != 1 || stored.B[1] == 1 {
		t.Errorf("B[1]: folded %v, stored %v", folded.B[1], stored.B[1])
	}
	a, b := folded.Discretize(ZOH, 1).Kernel(20), stored.Discretize(ZOH, 1).Kernel(20)
	for row := range a {
		compare(t, "K", a[row], b[row], 1e-13)
	}
}

func TestUnitCircle(t *testing.T) {
	for _, init := range []Init{Lin, DFouT} {
		cfg := config(init, 2, 8)
		cfg.AReal = 0
		for i, a := range mustNew(t, cfg, 1, 0).Discretize(ZOH, 1).LogLambda {
			if real(a) != 0 || math.Signbit(real(a)) {
				t.Errorf("%s: Re log λ̄[%d] = %g, expected 0", init, i, real(a))
			}
		}
	}
}

// RMS of the output at initialisation for white input over 1024 taps (docs/maths.md §2.4 item 2):
// with E|C|² = 1 it is √(2 Σ_l Σ_n |B̄_n λ̄_n^l|²).
func TestInitialScale(t *testing.T) {
	tests := []struct {
		init Init
		step float64
		want float64
		tol  float64
	}{
		{Lin, 0.001, 0.2025, 5e-5}, {Lin, 0.01, 0.789, 5e-4}, {Lin, 0.1, 1.405, 5e-4},
		{Inv, 0.001, 0.202, 5e-4}, {Inv, 0.01, 0.764, 5e-4}, {Inv, 0.1, 1.877, 5e-4},
		{DFouT, 0.001, 0.1792, 5e-5}, {DFouT, 0.01, 0.708, 5e-4}, {DFouT, 0.1, 2.238, 5e-4},
	}
	for _, test := range tests {
		cfg := config(test.init, 1, 64)
		cfg.DtMin, cfg.DtMax, cfg.XiMin, cfg.XiMax = test.step, test.step, test.step, test.step
		d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
		var power float64
		for i, b := range d.BBar {
			r := math.Exp(2 * real(d.LogLambda[i]))
			power += 2 * (real(b)*real(b) + imag(b)*imag(b)) * (1 - math.Pow(r, 1024)) / (1 - r)
		}
		if rms := math.Sqrt(power / float64(d.H)); math.Abs(rms-test.want) > test.tol {
			t.Errorf("%s, step %g: RMS %.5f, expected %.4f", test.init, test.step, rms, test.want)
		}
	}
}

// Moments of the draws: 200,000 of them put the mean within 4 standard errors.
func TestDistributions(t *testing.T) {
	cfg := config(Lin, 2000, 200)
	p := mustNew(t, cfg, 9, 3)
	var square, re2, step float64
	for _, c := range p.C {
		square += real(c)*real(c) + imag(c)*imag(c)
		re2 += real(c) * real(c)
	}
	n := float64(len(p.C))
	if got := square / n; math.Abs(got-1) > 0.01 {
		t.Errorf("E|C|² = %.4f, expected 1", got)
	}
	if got := re2 / n; math.Abs(got-0.5) > 0.007 {
		t.Errorf("E(Re C)² = %.4f, expected ½", got)
	}
	for _, s := range p.Step {
		if s < math.Log(1e-3) || s > math.Log(0.1) {
			t.Fatalf("Δ = %g outside [1e-3, 0.1]", math.Exp(s))
		}
		step += s
	}
	var together float64 // quantities that shared draws would move together
	for h, d := range p.D {
		together += (d*d - 1) * (p.Step[h] - math.Log(0.01)) / 2000
	}
	if math.Abs(together) > 0.17 {
		t.Errorf("D² and log Δ have covariance %.3f, expected 0", together)
	}
	if got, want := step/2000, math.Log(0.01); math.Abs(got-want) > 0.12 {
		t.Errorf("mean log Δ = %.3f, expected %.3f", got, want)
	}
}

func TestDraws(t *testing.T) {
	cfg := config(DFouT, 8, 16)
	a := mustNew(t, cfg, 1, 0)
	tests := []struct {
		name  string
		seed  uint64
		layer int
		same  bool
	}{{"again", 1, 0, true}, {"other seed", 2, 0, false}, {"other layer", 1, 1, false}}
	for _, test := range tests {
		b := mustNew(t, cfg, test.seed, test.layer)
		must.Equal(t, slices.Equal(a.C, b.C), test.same, "%s: C equal", test.name)
		must.Equal(t, slices.Equal(a.Step, b.Step), test.same, "%s: steps equal", test.name)
		must.Equal(t, slices.Equal(a.D, b.D), test.same, "%s: D equal", test.name)
	}
	// Step sizes and D of a channel do not depend on the number of modes or channels.
	wide := mustNew(t, config(Lin, 16, 32), 1, 0)
	if got := wide.D[:8]; !slices.Equal(got, a.D) {
		t.Errorf("D of a wider layer's first channels %v, expected %v", got, a.D)
	}
	if got := wide.Step[:8]; !slices.Equal(got, a.Step) {
		t.Errorf("log Δ of a wider layer's first channels %v, expected %v", got, a.Step)
	}
}

// The keys that docs/configuration.md lists as without effect do not change the initial parameters,
// nor what is computed from them.
func TestKeysWithoutEffect(t *testing.T) {
	aReal := func(c *Config) { c.AReal = 0.25 }
	trainB := func(c *Config) { c.TrainB = true }
	dt := func(c *Config) { c.DtMin, c.DtMax = 0.003, 0.2 }
	xi := func(c *Config) { c.XiMin, c.XiMax = 0.003, 0.2 }
	of := func(layer Layer, init Init, disc Disc) Config {
		c := config(init, 2, 8)
		c.Layer, c.Disc = layer, disc
		if c.FixedLength() {
			c.LKernel = 16
		}
		return c
	}
	for _, test := range []struct {
		cfg     Config
		without []func(*Config)
		with    []func(*Config) // the others of these keys
	}{
		{of(LayerS4D, DFouT, ZOH), []func(*Config){dt}, []func(*Config){xi, aReal}},
		{of(LayerS4D, Lin, ZOH), []func(*Config){xi}, []func(*Config){dt, aReal}},
		{of(LayerS4D, Real, ZOH), []func(*Config){xi, aReal}, []func(*Config){dt}},
		{of(LayerDSS, LegS, ZOH), []func(*Config){xi}, []func(*Config){dt, aReal}},
		{of(LayerDSS, Real, ZOH), []func(*Config){xi, aReal}, []func(*Config){dt}},
		{of(LayerS4, LegS, Bilinear), []func(*Config){xi, aReal, trainB}, []func(*Config){dt}},
		{of(LayerS5, LegS, ZOH), []func(*Config){xi, aReal, trainB}, []func(*Config){dt}},
		{of(LayerLRU, Ring, ZOH), []func(*Config){dt, xi, aReal, trainB}, nil},
	} {
		same := func(change func(*Config)) bool {
			cfg := test.cfg
			change(&cfg)
			a, b := *mustNew(t, test.cfg, 1, 0), *mustNew(t, cfg, 1, 0)
			a.Config, b.Config = Config{}, Config{}
			return reflect.DeepEqual(a, b)
		}
		for i, change := range test.without {
			must.Equal(t, same(change), true, "%s, %s: key %d without effect has none", test.cfg.layer(), test.cfg.Init, i)
		}
		for i, change := range test.with {
			must.Equal(t, same(change), false, "%s, %s: other key %d has no effect", test.cfg.layer(), test.cfg.Init, i)
		}
	}
}
