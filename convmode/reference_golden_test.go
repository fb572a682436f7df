package convmode

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The outputs of single reference layers agree with PyTorch's. The golden values of S4 are exact to
// 5e-12 of the largest value.
func TestReferenceLayers(t *testing.T) {
	dss := golden.Load[golden.DSS](t, "layer-dss")
	for name, g := range map[string]*golden.KernelLayer{"negative": &dss.Negative, "positive": &dss.Positive, "tied": &dss.Tied} {
		compareReference(t, "dss, "+name, referenceKernel(g, ssm.LayerDSS, g.Config.L), 1, g.Config.Batch, g.Config.L, g.Y, 1e-12)
	}
	for _, init := range []string{"legs", "fout"} {
		s4 := golden.Load[golden.S4](t, "layer-s4-"+init)
		for name, g := range map[string]*golden.S4Layer{"untied": &s4.Untied, "tied": s4.Tied, "defaults": s4.Defaults} {
			if g != nil {
				compareReference(t, init+", "+name, referenceKernel(&g.KernelLayer, ssm.LayerS4, g.LKernel), 1, g.Config.Batch, g.Config.L, g.Y, 1e-10)
			}
		}
	}
	for _, kind := range []ssm.Layer{ssm.LayerS5, ssm.LayerLRU} {
		for name, g := range scanFiles(t, string(kind)) {
			compareReference(t, name, referenceScan(g, kind), g.Config.StepScale, g.Config.Batch, g.Config.L, g.Y, 1e-12)
		}
	}
}

// compareReference compares the output of a layer, relative to the largest value.
func compareReference(t *testing.T, name string, p *ssm.Params, stepScale float64, batch, length int, want []float64, bound float64) {
	t.Helper()
	u, _ := golden.LayerInput(batch, p.DModel, length)
	ofLargest(t, name, apply(p, max(stepScale, 1), u, length), want, bound)
}

// referenceKernel returns the parameters of DSS or S4. The official code stores −Im A.
func referenceKernel(g *golden.KernelLayer, layer ssm.Layer, taps int) *ssm.Params {
	c, v := g.Config, g.Parameters
	p := ssm.NewParams(ssm.Config{
		Layer: layer, DModel: c.H, DState: c.N, NSSM: c.Copies, LMax: c.LMax, LKernel: taps, Bidirectional: c.Bidirectional,
	})
	p.Step = each(v["inv_dt"], func(_ int, x float64) float64 {
		if c.DtTransform == "softplus" {
			return math.Log(math.Log1p(math.Exp(x)))
		}
		return x
	})
	p.Decay, p.Freq = v["A_real"], each(v["A_imag"], func(_ int, x float64) float64 { return -x })
	p.B, p.P, p.C, p.D = complexes(v["B"]), complexes(v["P"]), complexes(v["C"]), v["D"]
	return p
}

// referenceScan returns the parameters of S5 or an LRU. Two directions are stored as C1 and C2, or
// as one C [H][2P] with the forward direction first.
func referenceScan(g *scanFile, layer ssm.Layer) *ssm.Params {
	c, v := g.Config, g.Parameters
	p := ssm.NewParams(ssm.Config{
		Layer: layer, DModel: c.H, DState: 2*c.P + c.N, ClipEigs: c.ClipEigs, Bidirectional: c.Bidirectional, Disc: ssm.Disc(c.Discretisation),
	})
	p.D = v["D"]
	if layer == ssm.LayerLRU {
		p.Decay, p.Freq, p.Gamma = v["nu_log"], v["theta_log"], v["gamma_log"]
		for i := range p.B {
			p.B[i] = complex(v["B_re"][i], v["B_im"][i])
		}
		for i := range p.C {
			p.C[i] = complex(v["C_re"][i], v["C_im"][i])
		}
		return p
	}
	p.Decay, p.Freq, p.Step, p.B = v["Lambda_re"], v["Lambda_im"], v["log_step"], complexes(v["B"])
	if both, ok := v["C1"]; ok {
		p.C = complexes(slices.Concat(both, v["C2"]))
		return p
	}
	var forward, backward []complex128
	for row := range slices.Chunk(complexes(v["C"]), len(v["C"])/2/c.H) {
		forward, backward = append(forward, row[:c.P]...), append(backward, row[c.P:]...)
	}
	p.C = append(forward, backward...)
	return p
}
