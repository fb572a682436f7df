package recurrent_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// How a signal is cut changes no bit of outputs and state.
func TestChunks(t *testing.T) {
	const length = 300
	ways := [][]int{{1}, {7}, {64}, {63, 2}, {100, 1, 5}, {65}, {128, 3}, {299}}
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			net := newNetwork(t, newModel(t, cfg, 1), 1)
			x, ids := input(cfg, 2, length)
			whole := net.NewStream()
			want := feed(whole, cfg, x, ids, length, []int{length})
			for _, chunks := range ways {
				s := net.NewStream()
				if got := feed(s, cfg, x, ids, length, chunks); !slices.Equal(got, want) {
					t.Errorf("chunks %v: outputs differ", chunks)
				}
				must.Equal(t, string(s.Snapshot(nil)), string(whole.Snapshot(nil)), "chunks %v: state", chunks)
				must.Equal(t, s.Position(), length, "position")
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	for _, name := range []string{"pre-norm", "no norm", "batch norm", "tokens"} {
		cfg := variants()[name]
		s := newNetwork(t, newModel(t, cfg, 1), 1).NewStream()
		x, ids := input(cfg, 2, 100)
		if n := testing.AllocsPerRun(10, func() {
			if ids != nil {
				output(s.ProcessTokens(ids))
			} else {
				s.Step(x[:cfg.DInput])
				s.Process(x, 100)
			}
			s.Reset()
		}); n != 0 {
			t.Errorf("%s: %v allocations, expected 0", name, n)
		}
	}
}

// A stream takes the memory that StreamBytes returns, and at most an eighth more, since the runtime
// rounds sizes up.
func TestStreamBytes(t *testing.T) {
	for name, change := range map[string]func(*model.Config, *recurrent.Options){
		"mean":   func(*model.Config, *recurrent.Options) {},
		"window": func(_ *model.Config, o *recurrent.Options) { o.Window = 1000 },
		"last":   func(c *model.Config, _ *recurrent.Options) { c.Pool = model.PoolLast },
		"max":    func(c *model.Config, _ *recurrent.Options) { c.Pool = model.PoolMeanMax },
		"larger": func(c *model.Config, _ *recurrent.Options) { c.DModel, c.SSM.DModel, c.SSM.DState = 64, 64, 64 },
	} {
		cfg, opt := baseConfig(), recurrent.Options{}
		change(&cfg, &opt)
		n := must.Get(recurrent.New(newModel(t, cfg, 1), opt))(t)
		streams := make([]*recurrent.Stream, 100)
		got := float64(must.Allocated(func() {
			for i := range streams {
				streams[i] = n.NewStream()
			}
		})) / 100
		want := float64(n.StreamBytes())
		if got < want || got > 1.125*want {
			t.Errorf("%s: a stream takes %.0f bytes, StreamBytes says %.0f", name, got, want)
		}
	}
}

// A step scale far from 1 makes constants of a recurrence overflow, so it is an error. At the
// largest and the least one, outputs are finite.
func TestStepScaleIsBounded(t *testing.T) {
	discrete := baseConfig()
	discrete.SSM.Param = ssm.ParamDiscrete
	coupled := baseConfig()
	coupled.SSM.Layer, coupled.SSM.Init, coupled.SSM.Disc, coupled.SSM.LKernel = ssm.LayerS4, ssm.LegS, ssm.Bilinear, 16
	for _, cfg := range []model.Config{discrete, coupled} {
		m, x := newModel(t, cfg, 1), signal(1, cfg.DInput, 8)
		for _, scale := range []float64{5e-324, 1.0 / 1024, 1024, 1e300} {
			n, err := recurrent.New(m, recurrent.Options{StepScale: scale})
			if wild := scale < 1e-6 || scale > 1e6; wild {
				must.Fail(t, err, "expected 1/1024 to 1024")
				continue
			}
			must.Do(t, err)
			for _, v := range n.NewStream().Process(x, 8) {
				must.Equal(t, v-v, 0, "layer %q, step scale %v: difference of the output %v and itself", cfg.SSM.Layer, scale, v)
			}
		}
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		change    func(*model.Config)
		stepScale float64
		want      string
	}{
		{func(c *model.Config) { c.SSM.Bidirectional = true }, 1,
			"recurrent: a bidirectional network reads future samples, which a stream does not have; train with ssm.bidirectional = false, or use package convmode"},
		{func(c *model.Config) { c.SSM.LMax = 32 }, 1,
			"recurrent: the network truncates its kernels (ssm.l_max = 32), but a recurrence computes the whole kernel; train with ssm.l_max = 0, or convert a PyTorch checkpoint with --length 0, or use package convmode"},
		{func(c *model.Config) {}, -1, "recurrent: step scale -1: expected 1/1024 to 1024"},
		{func(c *model.Config) {}, math.NaN(), "recurrent: step scale NaN: expected 1/1024 to 1024"},
		{func(c *model.Config) {}, math.Inf(1), "recurrent: step scale +Inf: expected 1/1024 to 1024"},
	}
	for _, test := range tests {
		cfg := baseConfig()
		test.change(&cfg)
		must.Reject(recurrent.New(newModel(t, cfg, 1), recurrent.Options{StepScale: test.stepScale}))(t, test.want)
	}
}

func TestMisuse(t *testing.T) {
	samples := newNetwork(t, newModel(t, baseConfig(), 1), 1).NewStream()
	tokens := newNetwork(t, newModel(t, variants()["tokens"], 1), 1).NewStream()
	tests := []struct {
		name string
		call func()
		want string
	}{
		{"short sample", func() { samples.Step(make([]float32, 1)) }, "recurrent: x has 1 values, expected 2: 2 channels of 1 streams with 1 samples"},
		{"nothing", func() { samples.Process(nil, 0) }, "recurrent: 0 samples, expected at least 1"},
		{"token", func() { _, _ = samples.ProcessTokens([]int32{1}) }, "recurrent: tokens for a network that reads samples"},
		{"sample", func() { tokens.Step(make([]float32, 11)) }, "recurrent: samples for a network that reads tokens"},
		{"no tokens", func() { _, _ = tokens.ProcessTokens(nil) }, "recurrent: no tokens"},
	}
	for _, test := range tests {
		func() {
			defer func() {
				must.Equal(t, fmt.Sprint(recover()), test.want, "%s: panic", test.name)
			}()
			test.call()
		}()
	}
	must.Equal(t, tokens.Position(), 0, "position after an invalid call")
}

// A mode of S4 that decays at e⁵⁰ makes I − Ā^L singular but for rounding. C would have no correct
// digit.
func TestLostDigits(t *testing.T) {
	cfg := baseConfig()
	cfg.SSM.Layer, cfg.SSM.Init, cfg.SSM.Disc, cfg.SSM.LKernel = ssm.LayerS4, ssm.LegS, ssm.Bilinear, 16
	m := newModel(t, cfg, 1)
	m.Weights.Layers[1].Decay[5] = 50
	must.Do(t, m.Weights.Validate())
	must.Reject(recurrent.New(m, recurrent.Options{}))(t, "recurrent: layer 1: ssm: channel 1: l_kernel 16: C cannot be recovered from C̃: the condition number")
}

// An error of S4 names the layer and the channel whose C cannot be recovered from C̃.
func TestUnrecoverableOutputs(t *testing.T) {
	m := newModel(t, variants()["S4"], 1)
	l := &m.Weights.Layers[1]
	modes := m.Config.SSM.Modes()
	for i := 2 * modes; i < 3*modes; i++ {
		l.Decay[i], l.Freq[i] = -1e30, 0
	}
	clear(l.P[4*modes : 6*modes])
	must.Reject(recurrent.New(m, recurrent.Options{}))(t, "recurrent: layer 1: ssm: channel 2: l_kernel 128: C cannot be recovered")
}
