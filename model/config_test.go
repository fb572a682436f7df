package model

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// tiny returns a small valid configuration that uses most options.
func tiny() Config {
	c := Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 3, 5, 6, 2, 8
	return c
}

// variants are configurations that together have every tensor.
func variants() map[string]Config {
	list := map[string]Config{"default": tiny()}
	add := func(name string, change func(c *Config)) {
		c := tiny()
		change(&c)
		list[name] = c
	}
	add("embedding", func(c *Config) { c.Encoder, c.DInput = EncoderEmbedding, 17 })
	add("batch norm", func(c *Config) { c.Norm, c.PreNorm, c.FinalNorm = NormBatch, true, true })
	add("final layer norm", func(c *Config) { c.PreNorm, c.FinalNorm = true, true })
	add("bare", func(c *Config) {
		c.Norm, c.Residual, c.Activation, c.Mixing, c.Pool = NormNone, false, ActivationNone, MixingNone, PoolNone
	})
	add("linear mixing", func(c *Config) { c.Mixing, c.Pool, c.Dropout = MixingLinear, PoolLast, 0.25 })
	add("tied and bidirectional", func(c *Config) {
		c.SSM.Init, c.SSM.Disc, c.SSM.NSSM, c.SSM.TrainB, c.SSM.Bidirectional = ssm.LegS, ssm.Bilinear, 2, true, true
	})
	add("block of S5", func(c *Config) {
		c.Norm, c.PreNorm, c.Activation, c.Mixing = NormBatch, true, ActivationGELUTanh, MixingHalfGLU2
		c.NormMomentum, c.NormBiased, c.NormEps = 0.05, true, 1e-6
	})
	add("pairs", func(c *Config) { c.Pairs = true })
	add("one SSM of three", func(c *Config) { c.NLayers, c.SSMLayers = 3, 1 })
	add("unit circle", func(c *Config) { c.SSM.Init, c.SSM.AReal = ssm.Lin, 0 })
	add("discrete", func(c *Config) { c.SSM.Param, c.SSM.TrainB = ssm.ParamDiscrete, true })
	return list
}

func TestValidate(t *testing.T) {
	for name, c := range variants() {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	def := Default()
	if err := def.Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
}

// One change makes a valid configuration invalid, and the error names the field and its value.
func TestValidateRejects(t *testing.T) {
	tests := []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.DInput = 0 }, "model: d_input 0: expected ≥ 1"},
		{func(c *Config) { c.DOutput = -3 }, "model: d_output -3: expected ≥ 1"},
		{func(c *Config) { c.DModel = 0 }, "model: d_model 0: expected ≥ 1"},
		{func(c *Config) { c.DModel = math.MaxInt }, "model: d_model 9223372036854775807: expected ≤ 16777216"},
		{func(c *Config) { c.NLayers = 0 }, "model: n_layers 0: expected ≥ 1"},
		{func(c *Config) { c.NLayers = 1e9 }, "model: n_layers 1000000000: expected ≤ 2048"},
		{func(c *Config) { c.SSM.DState = 0 }, "model: d_state 0: expected ≥ 2"},
		{func(c *Config) { c.SSM.DState = 1 << 40 }, "model: d_state 1099511627776: expected ≤ 16777216"},
		{func(c *Config) { c.DModel, c.NLayers = 1<<24, 1<<11 }, "parameters: expected ≤ 2147483648"},
		{func(c *Config) { c.DModel, c.SSM.DState = 1<<24, 1<<24 }, "parameters: expected ≤ 2147483648"},
		{func(c *Config) { c.Encoder = "" }, `model: encoder "": expected one of ["linear" "embedding"]`},
		{func(c *Config) { c.Norm = "foo" }, `model: norm "foo": expected one of ["layer" "batch" "none"]`},
		{func(c *Config) { c.Activation = "relu" }, `model: activation "relu": expected one of ["gelu" "gelu-tanh" "none"]`},
		{func(c *Config) { c.Mixing = "GLU" }, `model: mixing "GLU": expected one of ["glu" "half-glu1" "half-glu2" "linear" "none"]`},
		{func(c *Config) { c.Pool = "max" }, `model: pool "max": expected one of ["mean" "mean-max" "last" "none"]`},
		{func(c *Config) { c.SSMLayers = -1 }, "model: ssm_layers -1: expected ≥ 0"},
		{func(c *Config) { c.SSMLayers = 3 }, "model: ssm_layers 3: expected ≤ 2"},
		{func(c *Config) { c.Pairs, c.Pool = true, PoolNone }, `model: pool "none": pairs of sequences`},
		{func(c *Config) { c.NormEps = -1 }, "model: norm_eps -1: expected 0 (1e-5) or 1e-37 to 1"},
		{func(c *Config) { c.Norm, c.NormEps = NormNone, 1e-6 }, `model: norm_eps: norm is "none"`},
		{func(c *Config) { c.Norm, c.NormMomentum = NormBatch, 2 }, "model: norm_momentum 2: expected 0 (0.1) to 1"},
		{func(c *Config) { c.NormMomentum = 0.05 }, `model: norm_momentum: norm is "layer", expected "batch"`},
		{func(c *Config) { c.NormBiased = true }, `model: norm_biased: norm is "layer", expected "batch"`},
		{func(c *Config) { c.Dropout = 1 }, "model: dropout 1: expected 0 ≤ dropout < 1"},
		{func(c *Config) { c.Dropout = -0.1 }, "model: dropout -0.1"},
		{func(c *Config) { c.Dropout = math.NaN() }, "model: dropout NaN"},
		{func(c *Config) { c.Norm, c.FinalNorm = NormNone, true }, `model: final_norm: norm is "none"`},
		{func(c *Config) { c.Norm, c.PreNorm = NormNone, true }, `model: prenorm: norm is "none"`},
		{func(c *Config) { c.SSM.DState = 7 }, "model: ssm: d_state 7"},
		{func(c *Config) { c.SSM.LMax = -1 }, "model: ssm: l_max -1"},
		{func(c *Config) { c.SSM.Init, c.SSM.NSSM = ssm.Lin, 4 }, "model: ssm: n_ssm 4 does not divide d_model 6"},
		{func(c *Config) { c.SSM.XiMin = 0 }, "model: ssm: xi_min 0"},
	}
	for _, tt := range tests {
		c := tiny()
		tt.change(&c)
		err := c.Validate()
		must.Fail(t, err, tt.want)
		if _, newErr := New(c, 1); newErr == nil || newErr.Error() != err.Error() {
			t.Errorf("New: error %v, expected %v", newErr, err)
		}
	}
}

// Parameter counts of docs/maths.md §3.6: the column of the minimal layer, unidirectional, and
// those of the full layer, bidirectional with B trained and 1, 2 and H copies of the poles. Tasks
// with pre-norm have a final norm.
func TestCountParams(t *testing.T) {
	type row struct {
		task                          string
		layers, h, n, inputs, outputs int
		tokens, finalNorm, twoTowers  bool
		minimal, tied1, tied2, untied int
	}
	for _, r := range []row{
		{task: "sCIFAR", layers: 6, h: 128, n: 64, inputs: 3, outputs: 10, minimal: 301322, tied1: 302090, tied2: 302858, untied: 399626},
		{task: "ListOps", layers: 6, h: 256, n: 64, inputs: 18, outputs: 10, tokens: true, minimal: 999434, tied1: 1000202, tied2: 1000970, untied: 1196042},
		{task: "Text", layers: 6, h: 256, n: 64, inputs: 135, outputs: 2, tokens: true, finalNorm: true, minimal: 1027842, tied1: 1028610, tied2: 1029378, untied: 1224450},
		{task: "Retrieval", layers: 6, h: 256, n: 64, inputs: 98, outputs: 2, tokens: true, finalNorm: true, twoTowers: true, minimal: 1280770, tied1: 1281538, tied2: 1282306, untied: 1477378},
		{task: "Image", layers: 6, h: 512, n: 64, inputs: 1, outputs: 10, minimal: 3563530, tied1: 3564298, tied2: 3565066, untied: 3956746},
		{task: "Pathfinder", layers: 6, h: 256, n: 128, inputs: 1, outputs: 2, finalNorm: true, minimal: 1190402, tied1: 1191938, tied2: 1193474, untied: 1583618},
		{task: "SC35", layers: 6, h: 128, n: 64, inputs: 1, outputs: 35, finalNorm: true, minimal: 304547, tied1: 305315, tied2: 306083, untied: 402851},
		{task: "BIDMC", layers: 6, h: 128, n: 256, inputs: 2, outputs: 1, finalNorm: true, minimal: 595201, tied1: 598273, tied2: 601345, untied: 988417},
		{task: "minimal trainer", layers: 4, h: 128, n: 64, inputs: 3, outputs: 10, minimal: 201482},
	} {
		for _, column := range []struct {
			nssm, want int
			full       bool
		}{{0, r.minimal, false}, {1, r.tied1, true}, {2, r.tied2, true}, {0, r.untied, true}} {
			if column.want == 0 {
				continue
			}
			c := Default()
			c.NLayers, c.DModel, c.SSM.DState, c.DInput, c.DOutput = r.layers, r.h, r.n, r.inputs, r.outputs
			c.SSM.Init, c.SSM.NSSM, c.SSM.TrainB, c.SSM.Bidirectional = ssm.Lin, column.nssm, column.full, column.full
			c.PreNorm, c.FinalNorm = r.finalNorm, r.finalNorm
			if r.tokens {
				c.Encoder = EncoderEmbedding
			}
			c.Pairs = r.twoTowers
			must.Equal(t, c.CountParams(), column.want, "%s, n_ssm %d, full %t: parameters", r.task, column.nssm, column.full)
		}
	}
}

// CountParams counts the tensors without running statistics and Ω.
func TestCountParamsOfTensors(t *testing.T) {
	for name, c := range variants() {
		sum := 0
		for _, x := range NewWeights(c).Tensors() {
			if !strings.Contains(x.Name, "running") {
				sum += len(x.Data)
			}
		}
		must.Equal(t, c.CountParams(), sum, "%s: parameters of the tensors", name)
	}
}
