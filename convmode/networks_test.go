package convmode

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// network is a configuration and a batch shape to compare with the reference.
type network struct {
	name      string
	change    func(c *model.Config)
	size      int
	length    int
	lengths   []int
	stepScale float64
}

// networks covers every option of model.Config, with uneven lengths, odd batches and single
// sequences.
var networks = []network{
	{name: "post-norm", size: 3, length: 40},
	{name: "post-norm, lengths", size: 5, length: 33, lengths: []int{33, 7, 1, 20, 32}},
	{name: "pre-norm, final norm", size: 3, length: 40, lengths: []int{40, 17, 2},
		change: func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true }},
	{name: "pre-norm", size: 2, length: 31, change: func(c *model.Config) { c.PreNorm = true }},
	{name: "post-norm, final norm", size: 2, length: 31, lengths: []int{30, 31}, change: func(c *model.Config) { c.FinalNorm = true }},
	{name: "no norm", size: 2, length: 31, lengths: []int{31, 12}, change: func(c *model.Config) { c.Norm = model.NormNone }},
	{name: "batch norm", size: 3, length: 29, lengths: []int{29, 8, 15}, change: func(c *model.Config) { c.Norm = model.NormBatch }},
	{name: "batch norm, pre and final", size: 3, length: 29, lengths: []int{29, 8, 15},
		change: func(c *model.Config) { c.Norm, c.PreNorm, c.FinalNorm = model.NormBatch, true, true }},
	{name: "batch norm, post and final", size: 2, length: 16, change: func(c *model.Config) { c.Norm, c.FinalNorm = model.NormBatch, true }},
	{name: "no residual", size: 2, length: 24, lengths: []int{24, 11}, change: func(c *model.Config) { c.Residual = false }},
	{name: "no residual, pre-norm", size: 2, length: 24, lengths: []int{24, 11},
		change: func(c *model.Config) { c.Residual, c.PreNorm = false, true }},
	{name: "no residual, no norm", size: 1, length: 24, change: func(c *model.Config) { c.Residual, c.Norm = false, model.NormNone }},
	{name: "linear mixing", size: 3, length: 24, change: func(c *model.Config) { c.Mixing = model.MixingLinear }},
	{name: "linear mixing, no norm", size: 1, length: 24, lengths: []int{19},
		change: func(c *model.Config) { c.Mixing, c.Norm = model.MixingLinear, model.NormNone }},
	{name: "no mixing", size: 3, length: 24, change: func(c *model.Config) { c.Mixing = model.MixingNone }},
	{name: "no activation", size: 3, length: 24, change: func(c *model.Config) { c.Activation = model.ActivationNone }},
	{name: "bare SSM", size: 2, length: 50, change: func(c *model.Config) {
		c.Activation, c.Mixing, c.Norm, c.Residual = model.ActivationNone, model.MixingNone, model.NormNone, false
		c.Pool, c.NLayers = model.PoolNone, 1
	}},
	{name: "bidirectional", size: 3, length: 37, lengths: []int{37, 20, 1}, change: func(c *model.Config) { c.SSM.Bidirectional = true }},
	{name: "bidirectional, pre-norm", size: 1, length: 64,
		change: func(c *model.Config) { c.SSM.Bidirectional, c.PreNorm, c.FinalNorm = true, true, true }},
	{name: "bidirectional, one position", size: 2, length: 1, change: func(c *model.Config) { c.SSM.Bidirectional = true }},
	{name: "truncated", size: 3, length: 40, lengths: []int{40, 3, 30}, change: func(c *model.Config) { c.SSM.LMax = 9 }},
	{name: "truncated, bidirectional", size: 2, length: 40, change: func(c *model.Config) { c.SSM.LMax, c.SSM.Bidirectional = 9, true }},
	{name: "truncated beyond the length", size: 2, length: 20, change: func(c *model.Config) { c.SSM.LMax = 31 }},
	{name: "truncated, step scale", size: 2, length: 20, stepScale: 2, change: func(c *model.Config) { c.SSM.LMax = 15 }},
	{name: "shared poles", size: 3, length: 30, change: func(c *model.Config) { c.SSM.NSSM = 2 }},
	{name: "one set of poles, bidirectional, B", size: 3, length: 30,
		change: func(c *model.Config) { c.SSM.NSSM, c.SSM.Bidirectional, c.SSM.TrainB = 1, true, true }},
	{name: "trained B", size: 2, length: 30, change: func(c *model.Config) { c.SSM.TrainB = true }},
	{name: "bilinear", size: 2, length: 30, change: func(c *model.Config) { c.SSM.Disc, c.SSM.Init = ssm.Bilinear, ssm.Inv }},
	{name: "bilinear, step scale", size: 2, length: 30, stepScale: 2, change: func(c *model.Config) { c.SSM.Disc = ssm.Bilinear }},
	{name: "LegS", size: 2, length: 30, change: func(c *model.Config) { c.SSM.Init, c.SSM.TrainB = ssm.LegS, true }},
	{name: "DFouT", size: 3, length: 50, change: func(c *model.Config) { c.SSM.Init = ssm.DFouT }},
	{name: "bandlimit, step scale", size: 3, length: 30, stepScale: 1.5, change: func(c *model.Config) {
		c.SSM.Init, c.SSM.Param, c.SSM.Bandlimit = ssm.DFouT, ssm.ParamDiscrete, 0.95 // no angle is at the limit
	}},
	{name: "discrete, bidirectional, step scale", size: 3, length: 50, stepScale: 2, change: func(c *model.Config) {
		c.SSM.Init, c.SSM.Param, c.SSM.Bidirectional = ssm.DFouTSingle, ssm.ParamDiscrete, true
	}},
	{name: "S5", size: 3, length: 150, change: func(c *model.Config) { c.SSM = s5(8) }},
	{name: "S5, bidirectional, lengths", size: 5, length: 290, lengths: []int{290, 7, 1, 130, 128}, change: func(c *model.Config) {
		c.SSM, c.PreNorm, c.Norm = s5(12), true, model.NormBatch
		c.SSM.Bidirectional, c.SSM.Disc, c.SSM.Blocks = true, ssm.Bilinear, 3
	}},
	{name: "S5, many modes, clipped, step scale", size: 2, length: 70, lengths: []int{70, 64}, stepScale: 2, change: func(c *model.Config) {
		c.SSM, c.Dropout = s5(130), 0.3
		c.SSM.ClipEigs, c.SSM.Bidirectional, c.PreNorm, c.SSMLayers = true, true, true, 1
	}},
	{name: "S5, batches of many groups", size: 37, length: 9, change: func(c *model.Config) { c.SSM = s5(8) }},
	{name: "LRU", size: 3, length: 129, lengths: []int{128, 65, 129}, change: func(c *model.Config) { c.SSM, c.PreNorm = lru(7), true }},
	{name: "LRU, bidirectional, no norm", size: 1, length: 65, change: func(c *model.Config) {
		c.SSM, c.Norm = lru(40), model.NormNone
		c.SSM.RMin, c.SSM.RMax, c.SSM.MaxPhase, c.SSM.Bidirectional = 0.9, 0.999, 0.314, true
	}},
	{name: "LRU, bare", size: 2, length: 130, lengths: []int{130, 20}, change: func(c *model.Config) {
		c.SSM = lru(33)
		c.Activation, c.Mixing, c.Norm, c.Residual = model.ActivationNone, model.MixingNone, model.NormNone, false
		c.Pool, c.NLayers = model.PoolNone, 1
	}},
	{name: "half, bilinear", size: 3, length: 50, change: func(c *model.Config) {
		c.SSM.Init, c.SSM.Param, c.SSM.Disc = ssm.DFouTHalf, ssm.ParamDiscrete, ssm.Bilinear
	}},
	{name: "real", size: 3, length: 50, change: func(c *model.Config) { c.SSM.Init = ssm.Real }},
	{name: "DFouT, step scale", size: 3, length: 50, stepScale: 2, change: func(c *model.Config) { c.SSM.Init, c.SSM.Param, c.SSM.TrainB = ssm.DFouT, ssm.ParamDiscrete, true }},
	{name: "undamped", size: 2, length: 60, change: func(c *model.Config) { c.SSM.AReal = 0 }},
	{name: "DSS", size: 3, length: 40, lengths: []int{40, 17, 2}, change: func(c *model.Config) { setDSS(c, 40, 0.5) }},
	{name: "DSS, bidirectional, shared poles", size: 3, length: 40, change: func(c *model.Config) {
		setDSS(c, 40, 0.5)
		c.SSM.Bidirectional, c.SSM.NSSM = true, 2
	}},
	{name: "DSS, band limit", size: 3, length: 40, change: func(c *model.Config) {
		setDSS(c, 40, 0)
		c.SSM.Bandlimit = 0.05
	}},
	{name: "DSS, growing modes", size: 3, length: 33, lengths: []int{33, 8, 20}, change: func(c *model.Config) { setDSS(c, 40, 0) }},
	{name: "DSS, growing modes, bidirectional, step scale", size: 2, length: 20, stepScale: 2, change: func(c *model.Config) {
		setDSS(c, 50, 0)
		c.SSM.Bidirectional, c.SSM.TrainB = true, false
	}},
	{name: "S4", size: 3, length: 40, lengths: []int{40, 17, 2}, change: func(c *model.Config) { setS4(c, ssm.LegS, 40) }},
	{name: "S4, bidirectional, shared poles", size: 3, length: 40, change: func(c *model.Config) {
		setS4(c, ssm.LegS, 55)
		c.SSM.Bidirectional, c.SSM.NSSM = true, 2
	}},
	{name: "S4, step scale", size: 2, length: 20, lengths: []int{20, 11}, stepScale: 2, change: func(c *model.Config) {
		setS4(c, ssm.Hippo, 41)
		c.SSM.RateRule = ssm.RateKeep
	}},
	{name: "tokens", size: 3, length: 28, lengths: []int{28, 5, 13},
		change: func(c *model.Config) { c.Encoder, c.DInput = model.EncoderEmbedding, 7 }},
	{name: "mean and maximum", size: 3, length: 28, lengths: []int{28, 5, 1}, change: func(c *model.Config) { c.Pool = model.PoolMeanMax }},
	{name: "last position", size: 3, length: 28, lengths: []int{28, 5, 1}, change: func(c *model.Config) { c.Pool = model.PoolLast }},
	{name: "every position", size: 3, length: 28, lengths: []int{28, 5, 13}, change: func(c *model.Config) { c.Pool = model.PoolNone }},
	{name: "dropout", size: 5, length: 28, change: func(c *model.Config) { c.Dropout = 0.4 }},
	{name: "dropout, no mixing, no activation", size: 4, length: 28,
		change: func(c *model.Config) {
			c.Dropout, c.Mixing, c.Activation = 0.4, model.MixingNone, model.ActivationNone
		}},
	{name: "dropout, linear, batch norm", size: 4, length: 28,
		change: func(c *model.Config) {
			c.Dropout, c.Mixing, c.Norm, c.PreNorm = 0.4, model.MixingLinear, model.NormBatch, true
		}},
	{name: "tanh GELU", size: 3, length: 40, lengths: []int{40, 17, 2}, change: func(c *model.Config) {
		c.Activation, c.PreNorm, c.NormEps = model.ActivationGELUTanh, true, 1e-3
	}},
	{name: "block of S5, half-glu1", size: 5, length: 40, lengths: []int{40, 17, 2, 9, 33}, change: func(c *model.Config) {
		c.Activation, c.Mixing, c.Norm, c.PreNorm = model.ActivationGELUTanh, model.MixingHalfGLU1, model.NormBatch, true
		c.NormMomentum, c.NormBiased, c.NormEps, c.Dropout = 0.05, true, 1e-4, 0.3
	}},
	{name: "block of S5, half-glu2", size: 5, length: 40, lengths: []int{40, 17, 2, 9, 33}, change: func(c *model.Config) {
		c.Activation, c.Mixing, c.Norm, c.PreNorm = model.ActivationGELUTanh, model.MixingHalfGLU2, model.NormBatch, true
		c.NormMomentum, c.NormBiased, c.Dropout = 0.05, true, 0.3
	}},
	{name: "half-glu1, post-norm, no activation", size: 3, length: 40, change: func(c *model.Config) {
		c.Mixing, c.Activation, c.NormEps = model.MixingHalfGLU1, model.ActivationNone, 1e-6
	}},
	{name: "half-glu2, post-norm, no activation", size: 3, length: 40, change: func(c *model.Config) {
		c.Mixing, c.Activation, c.Residual = model.MixingHalfGLU2, model.ActivationNone, false
	}},
	{name: "half-glu2, several tiles", size: 3, length: 1100, lengths: []int{1100, 600, 12},
		change: func(c *model.Config) { c.NLayers, c.Dropout, c.PreNorm, c.Mixing = 1, 0.2, true, model.MixingHalfGLU2 }},
	{name: "several tiles", size: 3, length: 1100, lengths: []int{1100, 600, 12},
		change: func(c *model.Config) { c.NLayers, c.Dropout, c.PreNorm, c.FinalNorm = 1, 0.2, true, true }},
	{name: "more tiles than groups", size: 9, length: 530,
		change: func(c *model.Config) { c.NLayers, c.DModel = 1, 4 }},
	{name: "an SSM in the first block alone", size: 3, length: 40, lengths: []int{40, 17, 2},
		change: func(c *model.Config) { c.NLayers, c.SSMLayers = 3, 1 }},
	{name: "an SSM in the first block alone, pre-norm", size: 3, length: 24, lengths: []int{24, 17, 2},
		change: func(c *model.Config) { c.PreNorm, c.FinalNorm, c.SSMLayers, c.Dropout = true, true, 1, 0.3 }},
	{name: "an SSM in the first block alone, batch norm", size: 4, length: 24, lengths: []int{24, 17, 2, 5},
		change: func(c *model.Config) { c.Norm, c.PreNorm, c.SSMLayers = model.NormBatch, true, 1 }},
	{name: "an SSM in the first block alone, no norm", size: 4, length: 24,
		change: func(c *model.Config) { c.Norm, c.SSMLayers = model.NormNone, 1 }},
	{name: "pairs", size: 6, length: 24, lengths: []int{24, 3, 17, 20, 1, 1}, change: func(c *model.Config) { c.Pairs = true }},
	{name: "pairs, last position, pre-norm", size: 2, length: 24, lengths: []int{24, 3},
		change: func(c *model.Config) { c.Pairs, c.Pool, c.PreNorm = true, model.PoolLast, true }},
	{name: "one position", size: 1, length: 1},
	{name: "wide", size: 3, length: 90, change: func(c *model.Config) { c.DModel, c.NLayers, c.DInput = 40, 1, 1 }},
}

// config returns the network's configuration.
func (w network) config() model.Config {
	c := tiny()
	if w.change != nil {
		w.change(&c)
	}
	return c
}

// setS4 makes a network of S4 layers.
func setS4(c *model.Config, init ssm.Init, taps int) {
	c.SSM = ssm.Config{
		Layer: ssm.LayerS4, DState: c.SSM.DState, Init: init, Disc: ssm.Bilinear, LKernel: taps, DtMin: c.SSM.DtMin, DtMax: c.SSM.DtMax,
	}
}

// setDSS makes a network of DSS layers. newModel changes every decay, so that with aReal 0 half the
// modes grow.
func setDSS(c *model.Config, taps int, aReal float64) {
	c.SSM = ssm.Config{
		Layer: ssm.LayerDSS, DState: c.SSM.DState, Init: ssm.LegS, Disc: ssm.ZOH, AReal: aReal, TrainB: true, LKernel: taps,
		DtMin: c.SSM.DtMin, DtMax: c.SSM.DtMax,
	}
}

// s5 and lru are layers with N = dState.
func s5(dState int) ssm.Config {
	return ssm.Config{Layer: ssm.LayerS5, DState: dState, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1}
}

func lru(dState int) ssm.Config {
	return ssm.Config{Layer: ssm.LayerLRU, DState: dState, Init: ssm.Ring, Disc: ssm.ZOH}
}
