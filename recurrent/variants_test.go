package recurrent_test

import (
	"math"
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
	add("mean and maximum", func(c *model.Config) { c.Pool = model.PoolMeanMax })
	add("linear mixing", func(c *model.Config) { c.Mixing = model.MixingLinear; c.Pool = model.PoolLast })
	add("bare ssm", func(c *model.Config) {
		c.Mixing, c.Activation, c.Norm, c.Residual, c.Pool = model.MixingNone, model.ActivationNone, model.NormNone, false, model.PoolNone
	})
	add("tokens", func(c *model.Config) { c.Encoder = model.EncoderEmbedding; c.DInput = 11 })
	add("bilinear, tied", func(c *model.Config) { c.SSM.Init, c.SSM.Disc, c.SSM.NSSM = ssm.Lin, ssm.Bilinear, 2 })
	add("inv, trained B", func(c *model.Config) { c.SSM.Init, c.SSM.TrainB = ssm.Inv, true })
	add("half", func(c *model.Config) { c.SSM.Init = ssm.DFouTHalf })
	add("discrete", func(c *model.Config) { c.SSM.Init, c.SSM.Param = ssm.DFouT, ssm.ParamDiscrete })
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
