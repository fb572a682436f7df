package recurrent_test

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// bareConfig is one layer's SSM alone: identity encoder and decoder, an output per position.
func bareConfig(h int) model.Config {
	cfg := baseConfig()
	cfg.DInput, cfg.DOutput, cfg.DModel, cfg.SSM.DModel, cfg.NLayers = h, h, h, h, 1
	cfg.Mixing, cfg.Activation, cfg.Norm, cfg.Residual, cfg.Pool = model.MixingNone, model.ActivationNone, model.NormNone, false, model.PoolNone
	cfg.SSM.DState = 64
	return cfg
}

func bareModel(t testing.TB, cfg model.Config) *model.Model {
	t.Helper()
	m := newModel(t, cfg, 1)
	w := m.Weights
	for _, x := range [][]float32{w.EncoderWeight, w.DecoderWeight, w.EncoderBias, w.DecoderBias} {
		clear(x)
	}
	for h := range cfg.DModel {
		w.EncoderWeight[h*cfg.DModel+h], w.DecoderWeight[h*cfg.DModel+h] = 1, 1
	}
	return m
}

// One layer agrees with the float64 recursion over 16,384 samples, also at ξ = 1e-4 and on the unit
// circle, where rounding λ̄ to float32 would shift the phase by 1e-3 radians.
func TestLongStreams(t *testing.T) {
	tests := []struct {
		name      string
		change    func(*ssm.Config)
		stepScale float64
	}{
		{"dfout", func(c *ssm.Config) {}, 1},
		{"dfout ξ=1e-4", func(c *ssm.Config) { c.XiMin, c.XiMax = 1e-4, 1e-4 }, 1},
		{"dfout ξ=1e-4 step scale 2", func(c *ssm.Config) { c.XiMin, c.XiMax = 1e-4, 1e-4 }, 2},
		{"dfout Re λ=0", func(c *ssm.Config) { c.AReal = 0; c.XiMin, c.XiMax = 0.01, 0.01 }, 1},
		{"lin Δ=1e-4", func(c *ssm.Config) { c.Init = ssm.Lin; c.DtMin, c.DtMax = 1e-4, 1e-4 }, 1},
		{"lin Re λ=0", func(c *ssm.Config) { c.Init = ssm.Lin; c.AReal = 0; c.DtMin, c.DtMax = 0.002, 0.1 }, 1},
		{"lin bilinear Re λ=0", func(c *ssm.Config) { c.Init, c.Disc = ssm.Lin, ssm.Bilinear; c.AReal = 0 }, 1},
		{"inv", func(c *ssm.Config) { c.Init = ssm.Inv }, 1},
		{"legs", func(c *ssm.Config) { c.Init = ssm.LegS }, 0.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := bareConfig(4)
			test.change(&cfg.SSM)
			checkLayer(t, cfg, test.stepScale, 16384, 1e-5)
		})
	}
}

func checkLayer(t *testing.T, cfg model.Config, stepScale float64, length int, tolerance float64) {
	t.Helper()
	m := bareModel(t, cfg)
	x := signal(3, cfg.DModel, length)
	got := newNetwork(t, m, stepScale).NewStream().Process(x, length)
	p := m.SSMParams(0)
	d := p.Discretize(p.Disc, stepScale)
	var worst float64
	for h := range cfg.DModel {
		want := recursion(p, d, h, x[h*length:(h+1)*length])
		worst = max(worst, relativeError(got[h*length:(h+1)*length], want))
	}
	t.Logf("error over %d samples: %.1e of the largest output", length, worst)
	if worst > tolerance {
		t.Errorf("error %.1e of the largest output, expected ≤ %.0e", worst, tolerance)
	}
}

// The recurrence of S4 agrees with its kernel, applied in float64 (docs/maths.md §17.3).
func TestLongS4(t *testing.T) {
	const length = 16384
	for _, init := range []ssm.Init{ssm.LegS, ssm.FouT} {
		for _, stepScale := range []float64{1, 2} {
			cfg := bareConfig(4)
			setS4(&cfg.SSM, init, 1024)
			m := bareModel(t, cfg)
			x := signal(3, cfg.DModel, length)
			got := newNetwork(t, m, stepScale).NewStream().Process(x, length)
			p := m.SSMParams(0)
			must.Do(t, p.RecoverChannels(0, cfg.DModel))
			worst := 0.0
			for h := range cfg.DModel {
				worst = max(worst, relativeError(got[h*length:(h+1)*length], rankOneRecursion(p, h, stepScale, x[h*length:(h+1)*length])))
			}
			t.Logf("%s, step scale %v: error over %d samples: %.1e of the largest output", init, stepScale, length, worst)
			if worst > 1e-5 {
				t.Errorf("%s, step scale %v: error %.1e of the largest output", init, stepScale, worst)
			}
		}
	}
}

// rankOneRecursion is the recurrence of a channel of S4 in float64.
func rankOneRecursion(p *ssm.Params, h int, stepScale float64, x []float32) []float64 {
	m := p.Modes()
	r, state, y := ssm.NewRankOne(m), make([]complex128, m), make([]float64, len(x))
	p.RankOne(r, h, stepScale)
	for l, v := range x {
		w := 0.0
		for n, s := range state {
			w += 2 * real(r.U[n]*s)
		}
		y[l] = p.D[h] * float64(v)
		for n := range state {
			state[n] = r.E[n]*state[n] - r.P[n]*complex(w, 0) + r.B[n]*complex(float64(v), 0)
			y[l] += 2 * real(p.C[h*m+n]*state[n])
		}
	}
	return y
}

// recursion is h ← λ̄h + W x, y = 2·Re Σ h + D x in float64.
func recursion(p *ssm.Params, d *ssm.Discrete, channel int, x []float32) []float64 {
	y := make([]float64, len(x))
	for l := range x {
		y[l] = p.D[channel] * float64(x[l])
	}
	for n := range d.M {
		i := channel*d.M + n
		lambda, w := cmplx.Exp(d.LogLambda[i]), d.W[i]
		var h complex128
		for l := range x {
			h = lambda*h + complex(float64(x[l]), 0)
			y[l] += 2 * real(w*h)
		}
	}
	return y
}

// In silence a stream's state decays to exactly 0, not to denormal numbers, which would slow it
// down.
func TestSilence(t *testing.T) {
	cfg := bareConfig(2)
	cfg.SSM.XiMin, cfg.SSM.XiMax = 0.1, 0.1
	s := newNetwork(t, bareModel(t, cfg), 1).NewStream()
	s.Process(signal(1, 2, 100), 100)
	silence := make([]float32, 2*8000)
	s.Process(silence, 8000)
	for _, y := range s.Process(silence[:2*100], 100) {
		if y != 0 {
			t.Fatalf("output %g after 8,000 silent samples, expected 0", y)
		}
	}
}

// A stream that is 2^40 samples old, with sums as large, still adds every position to its mean;
// float32 sums would have stopped growing at 2^24.
func TestMeanOverDays(t *testing.T) {
	cfg := baseConfig()
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	x := signal(1, cfg.DInput, 64)
	const age = 1 << 40
	sums := func(snapshot []byte) (v []float64) {
		for b := snapshot[net.SnapshotBytes()-4-8*cfg.DModel : len(snapshot)-4]; len(b) > 0; b = b[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return v
	}

	young := net.NewStream()
	young.Process(x, 64)
	old := young.Snapshot(nil)
	before := sums(old)
	binary.LittleEndian.PutUint64(old[len(old)-4-net.StateBytes()-8:], 64+age) // the position precedes the state
	for h := range before {
		binary.LittleEndian.PutUint64(old[len(old)-4-8*(cfg.DModel-h):], math.Float64bits(before[h]+age))
	}
	aged := net.NewStream()
	must.Do(t, aged.Restore(signed(old)))

	young.Process(x, 64)
	aged.Process(x, 64)
	for h, want := range sums(young.Snapshot(nil)) { // within 128 roundings at 2^40
		if got := sums(aged.Snapshot(nil))[h] - age; math.Abs(got-want) > 0.02 {
			t.Errorf("channel %d: the old stream's sum grew to %g, expected %g", h, got, want)
		}
	}
}
