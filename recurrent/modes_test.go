package recurrent_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// convolve returns convolution mode's output for one sequence.
func convolve(t *testing.T, m *model.Model, x []float32, ids []int32, length int, stepScale float64) []float64 {
	t.Helper()
	net := must.Get(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: length, Workers: 1, StepScale: stepScale}))(t)
	defer net.Close()
	var out []float64
	for _, y := range net.Forward(convmode.Batch{Size: 1, Len: length, X: x, Tokens: ids}) {
		out = append(out, float64(y))
	}
	return out
}

// stream runs the signal in random chunks. In the middle a new stream continues from a snapshot.
func stream(t *testing.T, net *recurrent.Network, cfg model.Config, x []float32, ids []int32, length int, seed uint64) []float32 {
	t.Helper()
	draw := random.New(seed, random.Shuffle, 0, 0)
	s := net.NewStream()
	var out, last []float32
	if cfg.Pool == model.PoolNone {
		out = make([]float32, cfg.DOutput*length)
	}
	moved := false
	for at, i := 0, uint64(0); at < length; i++ {
		n, u, v := 1, draw.Float64(2*i), draw.Float64(2*i+1) // a third of the chunks is single samples
		switch {
		case u > 0.97: // rarely, up to all that is left
			n = 1 + int(v*float64(length-at))
		case u > 1.0/3:
			n = 1 + int(1000*v*v*v)
		}
		n = min(n, length-at)
		if ids != nil {
			last = output(s.ProcessTokens(ids[at : at+n]))
		} else {
			last = s.Process(columns(x, cfg.DInput, length, at, n), n)
		}
		for c := range len(out) / length {
			copy(out[c*length+at:], last[c*n:(c+1)*n])
		}
		at += n
		if !moved && at >= length/2 {
			moved = true
			next := net.NewStream()
			must.Do(t, next.Restore(s.Snapshot(nil)))
			s = next
		}
	}
	if out == nil {
		return last
	}
	return out
}

// Stream and convolution agree for every kind of network that a stream can run.
func TestTwoModes(t *testing.T) {
	for name, cfg := range variants() {
		for seed, length := range []int{1, 100, 1500, 1500} {
			t.Run(fmt.Sprintf("%s/%d", name, length), func(t *testing.T) {
				m := newModel(t, cfg, uint64(seed)+1)
				x, ids := input(cfg, uint64(length), length)
				want := convolve(t, m, x, ids, length, 1)
				got := stream(t, newNetwork(t, m, 1), cfg, x, ids, length, uint64(seed)+7)
				if e := relativeError(got, want); e > 2e-5 {
					t.Errorf("the modes differ by %.1e of the largest output", e)
				}
			})
		}
	}
}

func discrete(c *ssm.Config) { c.Init, c.Param = ssm.DFouT, ssm.ParamDiscrete }

// They agree after 16,384 samples, with the slowest poles, with undamped ones, and at another step
// scale. Under emulation, layers other than S4D run for 1,024 samples.
func TestTwoModesLong(t *testing.T) {
	length := 16384
	other := length
	if vektest.Emulated {
		other = 1024
	}
	tests := []struct {
		name      string
		change    func(*ssm.Config)
		stepScale float64
	}{
		{"dfout", func(c *ssm.Config) {}, 1},
		{"discrete", discrete, 1},
		{"discrete step scale 2", discrete, 2},
		{"dfout ξ=1e-4", func(c *ssm.Config) { c.XiMin, c.XiMax = 1e-4, 1e-4 }, 1},
		{"dfout Re λ=0", func(c *ssm.Config) { c.AReal = 0 }, 1},
		{"lin Δ=1e-4 step scale 2", func(c *ssm.Config) { c.Init = ssm.Lin; c.DtMin, c.DtMax = 1e-4, 1e-4 }, 2},
		{"lin Re λ=0", func(c *ssm.Config) { c.Init = ssm.Lin; c.AReal = 0 }, 1},
		{"DSS", func(c *ssm.Config) { setDSS(c, other) }, 1},
		{"DSS longer than its kernel", func(c *ssm.Config) { setDSS(c, other/16) }, 1},
		{"S4-LegS", func(c *ssm.Config) { setS4(c, ssm.LegS, other) }, 1},
		{"S4-FouT", func(c *ssm.Config) { setS4(c, ssm.FouT, other) }, 1},
		{"S4-LegS, C̃ doubled", func(c *ssm.Config) { setS4(c, ssm.LegS, other/16) }, 1},
		{"S4-LegS step scale 2", func(c *ssm.Config) { setS4(c, ssm.LegS, other) }, 2},
		{"S4-FouT step scale 0.5", func(c *ssm.Config) { setS4(c, ssm.FouT, other) }, 0.5},
		{"S5 step scale 2", func(c *ssm.Config) { *c = s5(128) }, 2},
		{"S5 Δ=1e-4", func(c *ssm.Config) { *c = s5(64); c.DtMin, c.DtMax = 1e-4, 1e-4 }, 1},
		{"S5 band limit, step scale 2", func(c *ssm.Config) { *c = s5(128); c.Bandlimit = 0.5 }, 2},
		{"LRU", func(c *ssm.Config) { *c = slowLRU(64) }, 1},
		{"LRU step scale 2", func(c *ssm.Config) { *c = slowLRU(64) }, 2},
		{"LRU, band limit, step scale 1.5", func(c *ssm.Config) {
			*c = lru(64)
			c.RMin, c.Bandlimit = 0.9, 1
		}, 1.5},
	}
	for _, test := range tests {
		for _, pool := range []model.Pool{model.PoolMean, model.PoolNone} {
			cfg, length := baseConfig(), length
			cfg.Pool = pool
			test.change(&cfg.SSM)
			if cfg.SSM.Layer != "" {
				if pool == model.PoolMean {
					continue // it takes the outputs of any layer
				}
				length = other
			}
			t.Run(test.name+"/"+string(pool), func(t *testing.T) {
				m := newModel(t, cfg, 4)
				x, _ := input(cfg, 5, length)
				want := convolve(t, m, x, nil, length, test.stepScale)
				got := stream(t, newNetwork(t, m, test.stepScale), cfg, x, nil, length, 8)
				e := relativeError(got, want)
				t.Logf("the modes differ by %.1e of the largest output", e)
				if e > 1e-4 {
					t.Errorf("the modes differ by %.1e of the largest output, expected ≤ 1e-4", e)
				}
			})
		}
	}
}

// setDSS makes layers of DSS whose weights are normalised over so many taps.
func setDSS(c *ssm.Config, taps int) {
	c.Layer, c.Init, c.TrainB, c.LKernel = ssm.LayerDSS, ssm.LegS, true, taps
}

// setS4 makes layers of S4 with kernels of so many taps.
func setS4(c *ssm.Config, init ssm.Init, taps int) {
	*c = ssm.Config{Layer: ssm.LayerS4, DModel: 8, DState: 64, Init: init, Disc: ssm.Bilinear, DtMin: 1e-3, DtMax: 0.1, LKernel: taps}
}

// A stream of a regression gives outputs in the target's unit; those of convolution mode are
// standardised.
func TestTargetUnit(t *testing.T) {
	const length = 300
	cfg := baseConfig()
	cfg.Pool = model.PoolMean
	m := newModel(t, cfg, 6)
	for o := range cfg.DOutput {
		m.Meta.TargetMean = append(m.Meta.TargetMean, float32(100*o-50))
		m.Meta.TargetStd = append(m.Meta.TargetStd, float32(o+2))
	}
	x, _ := input(cfg, 5, length)
	want := convolve(t, m, x, nil, length, 1)
	for o := range want {
		scale, shift := m.Meta.OutputScale(o)
		want[o] = want[o]*float64(scale) + float64(shift)
	}
	got := stream(t, newNetwork(t, m, 1), cfg, x, nil, length, 8)
	if e := relativeError(got, want); e > 2e-5 {
		t.Errorf("the modes differ by %.1e of the largest output", e)
	}
}
