package recurrent_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// baseConfig is a small network, which tests change.
func baseConfig() model.Config {
	return model.Config{
		Encoder: model.EncoderLinear, DInput: 2, DOutput: 3, DModel: 8, NLayers: 2, Norm: model.NormLayer,
		Residual: true, Activation: model.ActivationGELU, Mixing: model.MixingGLU, Pool: model.PoolMean,
		SSM: ssm.Config{DModel: 8, DState: 8, Init: ssm.DFouT, Disc: ssm.ZOH, DtMin: 1e-3, DtMax: 0.1, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5},
	}
}

// newModel draws a model with norms and running statistics other than their initial values.
func newModel(t testing.TB, cfg model.Config, seed uint64) *model.Model {
	t.Helper()
	m := must.Get(model.New(cfg, seed))(t)
	for i, tensor := range m.Weights.Tensors() {
		draw := random.New(seed, random.Noise, 0, i)
		for j := range tensor.Data {
			if strings.HasSuffix(tensor.Name, ".u") { // 0 at the start
				tensor.Data[j] = float32(draw.Normal(uint64(j)))
			}
			switch tensor.Kind {
			case model.KindNorm:
				tensor.Data[j] += float32(0.2 * draw.Normal(uint64(j)))
			case model.KindBuffer:
				tensor.Data[j] = float32(0.5 + draw.Float64(uint64(j)))
			}
		}
	}
	return m
}

func newNetwork(t testing.TB, m *model.Model, stepScale float64) *recurrent.Network {
	t.Helper()
	return must.Get(recurrent.New(m, recurrent.Options{StepScale: stepScale}))(t)
}

// signal is white noise [channels][length].
func signal(seed uint64, channels, length int) []float32 {
	draw := random.New(seed, random.Signal, 0, 0)
	x := make([]float32, channels*length)
	for i := range x {
		x[i] = float32(draw.Normal(uint64(i)))
	}
	return x
}

// variants returns networks that together use every option of a stream.
func variants() map[string]model.Config {
	v := map[string]model.Config{}
	add := func(name string, change func(*model.Config)) {
		cfg := baseConfig()
		change(&cfg)
		v[name] = cfg
	}
	add("post-norm", func(c *model.Config) {})
	add("pre-norm", func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true })
	add("batch norm", func(c *model.Config) { c.Norm = model.NormBatch; c.Pool = model.PoolLast })
	add("batch pre-norm", func(c *model.Config) { c.Norm, c.PreNorm, c.FinalNorm = model.NormBatch, true, true })
	add("no norm", func(c *model.Config) { c.Norm = model.NormNone; c.Pool = model.PoolNone })
	add("no residual", func(c *model.Config) { c.Residual = false; c.Pool = model.PoolNone })
	add("half-glu1", func(c *model.Config) {
		c.Mixing, c.Activation, c.Norm, c.PreNorm, c.NormEps = model.MixingHalfGLU1, model.ActivationGELUTanh, model.NormBatch, true, 0.1
	})
	add("half-glu2", func(c *model.Config) {
		c.Mixing, c.Activation, c.PreNorm, c.NormEps = model.MixingHalfGLU2, model.ActivationGELUTanh, true, 0.1
	})
	add("linear mixing", func(c *model.Config) { c.Mixing = model.MixingLinear; c.Pool = model.PoolLast })
	add("bare ssm", func(c *model.Config) {
		c.Mixing, c.Activation, c.Norm, c.Residual, c.Pool = model.MixingNone, model.ActivationNone, model.NormNone, false, model.PoolNone
	})
	add("tokens", func(c *model.Config) { c.Encoder = model.EncoderEmbedding; c.DInput = 11 })
	add("bilinear, tied", func(c *model.Config) { c.SSM.Init, c.SSM.Disc, c.SSM.NSSM = ssm.Lin, ssm.Bilinear, 2 })
	add("inv, trained B", func(c *model.Config) { c.SSM.Init, c.SSM.TrainB = ssm.Inv, true })
	add("half", func(c *model.Config) { c.SSM.Init = ssm.DFouTHalf })
	add("default reading", func(c *model.Config) { defaultReading(&c.SSM) })
	add("width", func(c *model.Config) { c.SSM.Init, c.SSM.Param = ssm.DFouT, ssm.ParamWidth })
	add("real, bilinear", func(c *model.Config) { c.SSM.Init, c.SSM.Disc = ssm.Real, ssm.Bilinear })
	add("legs", func(c *model.Config) { c.SSM.Init = ssm.LegS; c.Pool = model.PoolNone })
	add("DSS", func(c *model.Config) { setDSS(&c.SSM, 1000) })
	add("S4", func(c *model.Config) { setS4(&c.SSM, ssm.LegS, 128) })
	add("S4 of both kinds, tied", func(c *model.Config) {
		setS4(&c.SSM, ssm.Hippo, 128)
		c.SSM.DState, c.SSM.NSSM, c.DModel, c.Pool = 8, 2, 20, model.PoolNone
	})
	add("S5", func(c *model.Config) { c.SSM, c.Pool = s5(70), model.PoolNone })
	add("S5, bilinear, pre-norm, one of two", func(c *model.Config) {
		c.SSM, c.PreNorm, c.SSMLayers = s5(8), true, 1
		c.SSM.Disc, c.SSM.Blocks, c.SSM.ClipEigs = ssm.Bilinear, 2, true
	})
	add("LRU", func(c *model.Config) { c.SSM, c.Pool = lru(9), model.PoolLast })
	add("LRU, slow", func(c *model.Config) { c.SSM, c.Pool = slowLRU(64), model.PoolNone })
	add("one SSM of two", func(c *model.Config) { c.SSMLayers = 1 })
	add("one SSM of two, pre-norm", func(c *model.Config) { c.SSMLayers, c.PreNorm, c.Pool = 1, true, model.PoolNone })
	add("slow", func(c *model.Config) { c.SSM.XiMin, c.SSM.XiMax = 1e-4, 1e-4 })
	add("unit circle", func(c *model.Config) { c.SSM.AReal = 0; c.Pool = model.PoolLast })
	return v
}

// s5 and lru are layers with N = dState. The poles of slowLRU decay slowly.
func s5(dState int) ssm.Config {
	return ssm.Config{Layer: ssm.LayerS5, DState: dState, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1}
}

func lru(dState int) ssm.Config {
	return ssm.Config{Layer: ssm.LayerLRU, DState: dState, Init: ssm.Ring, Disc: ssm.ZOH}
}

func slowLRU(dState int) ssm.Config {
	c := lru(dState)
	c.RMin, c.RMax, c.MaxPhase = 0.999, 0.9999, 0.314
	return c
}

// feed runs a signal in chunks of the given sizes, repeated as needed. It returns all outputs of
// pool none as [d_output][length], of other pools the last one.
func feed(s *recurrent.Stream, cfg model.Config, x []float32, ids []int32, length int, chunks []int) []float32 {
	var out []float32
	if cfg.Pool == model.PoolNone {
		out = make([]float32, cfg.DOutput*length)
	}
	for at, i := 0, 0; at < length; i++ {
		n := min(chunks[i%len(chunks)], length-at)
		var y []float32
		switch {
		case ids != nil && n == 1:
			y = output(s.StepToken(ids[at]))
		case ids != nil:
			y = output(s.ProcessTokens(ids[at : at+n]))
		default:
			y = s.Process(columns(x, cfg.DInput, length, at, n), n)
		}
		if out != nil {
			for c := range cfg.DOutput {
				copy(out[c*length+at:c*length+at+n], y[c*n:(c+1)*n])
			}
		} else if at+n == length {
			return slices.Clone(y)
		}
		at += n
	}
	return out
}

// output returns what a call with valid tokens returned.
func output(y []float32, err error) []float32 {
	if err != nil {
		panic(err)
	}
	return y
}

// columns returns columns [at, at+n) of x [rows][length].
func columns(x []float32, rows, length, at, n int) []float32 {
	out := make([]float32, 0, rows*n)
	for r := range rows {
		out = append(out, x[r*length+at:r*length+at+n]...)
	}
	return out
}

// input returns a signal, or tokens, for a network.
func input(cfg model.Config, seed uint64, length int) (x []float32, ids []int32) {
	if cfg.Encoder != model.EncoderEmbedding {
		return signal(seed, cfg.DInput, length), nil
	}
	draw := random.New(seed, random.Signal, 1, 0)
	for i := range length {
		ids = append(ids, int32(draw.Float64(uint64(i))*float64(cfg.DInput)))
	}
	return nil, ids
}

// relativeError returns the largest difference, divided by the largest expected value.
func relativeError(got []float32, want []float64) float64 {
	var worst, scale float64
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
		scale = max(scale, math.Abs(want[i]))
	}
	if math.IsNaN(worst) || len(got) != len(want) {
		return math.Inf(1)
	}
	return worst / scale
}

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
				if string(s.Snapshot(nil)) != string(whole.Snapshot(nil)) {
					t.Errorf("chunks %v: states differ", chunks)
				}
				must.Equal(t, s.Position(), length, "position")
			}
		})
	}
}

// The output of a pooled network is that of the prefix that it has processed.
func TestPrefix(t *testing.T) {
	for _, pool := range []model.Pool{model.PoolMean, model.PoolLast} {
		cfg := baseConfig()
		cfg.Pool = pool
		net := newNetwork(t, newModel(t, cfg, 1), 1)
		const length = 70
		x := signal(2, cfg.DInput, length)
		s := net.NewStream()
		for at := range length {
			got := s.Step(columns(x, cfg.DInput, length, at, 1))
			want := net.NewStream().Process(columns(x, cfg.DInput, length, 0, at+1), at+1)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: output %d differs from that of the prefix", pool, at)
			}
		}
	}
}

func TestReset(t *testing.T) {
	cfg := baseConfig()
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	x := signal(2, cfg.DInput, 100)
	used := net.NewStream()
	used.Process(x, 100)
	used.Reset()
	fresh := net.NewStream()
	if string(used.Snapshot(nil)) != string(fresh.Snapshot(nil)) {
		t.Error("the state after Reset is not that of a new stream")
	}
	if !slices.Equal(used.Process(x, 100), fresh.Process(x, 100)) {
		t.Error("the outputs after Reset are not those of a new stream")
	}
}

func TestNoAllocation(t *testing.T) {
	for _, name := range []string{"pre-norm", "no norm", "batch norm", "tokens"} {
		cfg := variants()[name]
		s := newNetwork(t, newModel(t, cfg, 1), 1).NewStream()
		x, ids := input(cfg, 2, 100)
		snapshot := s.Snapshot(nil)
		if n := testing.AllocsPerRun(10, func() {
			if ids != nil {
				output(s.StepToken(ids[0]))
				output(s.ProcessTokens(ids))
			} else {
				s.Step(x[:cfg.DInput])
				s.Process(x, 100)
			}
			snapshot = s.Snapshot(snapshot[:0])
			must.Do(t, s.Restore(snapshot))
			s.Reset()
		}); n != 0 {
			t.Errorf("%s: %v allocations, expected 0", name, n)
		}
	}
}

func TestStateBytes(t *testing.T) {
	cfg := baseConfig() // 2 layers · 8 channels · 4 modes · 8 bytes, and 8 sums
	if got := newNetwork(t, newModel(t, cfg, 1), 1).StateBytes(); got != 2*8*4*8+8*8 {
		t.Errorf("%d bytes, expected 576", got)
	}
	cfg.SSM = lru(9) // 9 modes for all channels
	if got := newNetwork(t, newModel(t, cfg, 1), 1).StateBytes(); got != 2*9*8+8*8 {
		t.Errorf("LRU: %d bytes, expected 208", got)
	}
}

// A stream takes the memory that StreamBytes returns, and at most an eighth more, since the runtime
// rounds sizes up.
func TestStreamBytes(t *testing.T) {
	for name, change := range map[string]func(*model.Config, *recurrent.Options){
		"mean":   func(*model.Config, *recurrent.Options) {},
		"window": func(_ *model.Config, o *recurrent.Options) { o.Window = 1000 },
		"last":   func(c *model.Config, _ *recurrent.Options) { c.Pool = model.PoolLast },
		"larger": func(c *model.Config, _ *recurrent.Options) { c.DModel, c.SSM.DModel, c.SSM.DState = 64, 64, 64 },
	} {
		cfg, opt := baseConfig(), recurrent.Options{}
		change(&cfg, &opt)
		n := must.Get(recurrent.New(newModel(t, cfg, 1), opt))(t)
		streams := make([]*recurrent.Stream, 100)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range streams {
			streams[i] = n.NewStream()
		}
		runtime.ReadMemStats(&after)
		got, want := float64(after.TotalAlloc-before.TotalAlloc)/100, float64(n.StreamBytes())
		if got < want || got > 1.125*want {
			t.Errorf("%s: a stream takes %.0f bytes, StreamBytes says %.0f", name, got, want)
		}
	}
}

// A step scale far from 1 makes constants of a recurrence overflow, so it is an error. At the
// largest and the least one, outputs are finite.
func TestStepScaleIsBounded(t *testing.T) {
	discrete := baseConfig()
	discrete.SSM.RateRule = ssm.RateDecimate
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
				if v-v != 0 {
					t.Errorf("layer %q, step scale %v: output %v", cfg.SSM.Layer, scale, v)
				}
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
			"recurrent: the network truncates its kernels (ssm.l_max = 32), but a recurrence computes the whole kernel; train with ssm.l_max = 0, or use package convmode"},
		{func(c *model.Config) {}, -1, "recurrent: step scale -1: expected 1/1024 to 1024"},
		{func(c *model.Config) {}, math.NaN(), "recurrent: step scale NaN: expected 1/1024 to 1024"},
		{func(c *model.Config) {}, math.Inf(1), "recurrent: step scale +Inf: expected 1/1024 to 1024"},
	}
	for _, test := range tests {
		cfg := baseConfig()
		test.change(&cfg)
		_, err := recurrent.New(newModel(t, cfg, 1), recurrent.Options{StepScale: test.stepScale})
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, expected %s", err, test.want)
		}
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
		{"token", func() { _, _ = samples.StepToken(1) }, "recurrent: tokens for a network that reads samples"},
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
	if tokens.Position() != 0 {
		t.Error("an invalid call moved the stream")
	}
}

// A mode of S4 that decays at e⁵⁰ makes I − Ā^L singular but for rounding. C would have no correct
// digit.
func TestLostDigits(t *testing.T) {
	cfg := baseConfig()
	cfg.SSM.Layer, cfg.SSM.Init, cfg.SSM.Disc, cfg.SSM.LKernel = ssm.LayerS4, ssm.LegS, ssm.Bilinear, 16
	m := newModel(t, cfg, 1)
	m.Weights.Layers[1].Decay[5] = 50
	must.Do(t, m.Check())
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
	_, err := recurrent.New(m, recurrent.Options{})
	must.Fail(t, err, "recurrent: layer 1: ssm: channel 2: l_kernel 128: C cannot be recovered")
}
