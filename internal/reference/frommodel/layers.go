package frommodel

import (
	"github.com/s4d-fast/s4d-fast/internal/reference"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layerOf converts the SSM of a block. B is 1 where it is not trained.
func layerOf(m *model.Model, i int, stepScale float64) reference.Layer {
	l, s := &m.Weights.Layers[i], m.Config.SSM
	switch s.Layer {
	case ssm.LayerS5:
		return reference.Layer{Other: &reference.S5{
			H: m.Config.DModel, P: s.Modes(), Bilinear: s.Disc == ssm.Bilinear, Clip: s.ClipEigs, StepScale: stepScale,
			LambdaRe: widen(l.Decay), LambdaIm: widen(l.Freq), LogStep: widen(l.Step),
			B: pairs(l.B), C: pairs(l.C), D: widen(l.D),
		}}
	case ssm.LayerLRU:
		return reference.Layer{Other: &reference.LRU{
			H: m.Config.DModel, N: s.Modes(), NuLog: widen(l.Decay), ThetaLog: widen(l.Freq), GammaLog: widen(l.Step),
			B: pairs(l.B), C: pairs(l.C), D: widen(l.D),
		}}
	}
	b := pairs(l.B)
	if b == nil {
		b = make([]complex128, len(l.Decay))
		for k := range b {
			b[k] = 1
		}
	}
	if s.Layer == ssm.LayerDSS {
		layer := kernelLayer(m, l, b, stepScale)
		return reference.Layer{Other: &reference.DSS{KernelLayer: layer, Span: s.LKernel, Bandlimit: s.Bandlimit}}
	}
	if s.Layer == ssm.LayerS4 {
		layer := kernelLayer(m, l, b, stepScale)
		return reference.Layer{Other: &reference.S4{KernelLayer: layer, P: pairs(l.P), Length: s.LKernel}}
	}
	return reference.Layer{
		LogStep: widen(l.Step), LogDecay: widen(l.Decay), Freq: widen(l.Freq), Omega: widen(l.Omega),
		B: b, C: pairs(l.C), D: widen(l.D),
	}
}

// kernelLayer converts what DSS and S4 have in common. The reference stores −Im A.
func kernelLayer(m *model.Model, l *model.Layer, b []complex128, stepScale float64) reference.KernelLayer {
	p := m.Config.NewSSMParams()
	return reference.KernelLayer{
		H: p.DModel, M: p.Modes(), Copies: p.Copies(), StepScale: stepScale,
		InvDt: widen(l.Step), AReal: widen(l.Decay), AImag: negated(widen(l.Freq)), B: b, C: pairs(l.C), D: widen(l.D),
	}
}

// arraysOf returns the arrays of a block's SSM by the names of the model's tensors.
func arraysOf(c model.Config, l *reference.Layer) map[string][]float64 {
	switch s := l.Other.(type) {
	case nil:
	case *reference.DSS:
		return map[string][]float64{
			"log_dt": s.InvDt, "A_real": s.AReal, "A_imag": negated(s.AImag), "B": flat(s.B), "C": flat(s.C), "D": s.D,
		}
	case *reference.S4:
		return map[string][]float64{
			"log_dt": s.InvDt, "log_A_real": s.AReal, "A_imag": negated(s.AImag), "B": flat(s.B), "P": flat(s.P), "C": flat(s.C), "D": s.D,
		}
	case *reference.S5:
		return map[string][]float64{
			"Lambda_re": s.LambdaRe, "Lambda_im": s.LambdaIm, "log_step": s.LogStep, "B": flat(s.B), "C": flat(s.C), "D": s.D,
		}
	case *reference.LRU:
		return map[string][]float64{
			"nu_log": s.NuLog, "theta_log": s.ThetaLog, "gamma_log": s.GammaLog, "B": flat(s.B), "C": flat(s.C), "D": s.D,
		}
	}
	names := [3]string{"log_dt", "log_A_real", "A_imag"}
	if c.SSM.Discrete() {
		names = [3]string{"log_xi", "log_rho", "theta"}
	}
	if c.SSM.MovesByWidth() {
		names[2] = "u"
	}
	return map[string][]float64{
		names[0]: l.LogStep, names[1]: l.LogDecay, names[2]: l.Freq, "B": flat(l.B), "C": flat(l.C), "D": l.D,
	}
}

func negated(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = -v
	}
	return y
}
