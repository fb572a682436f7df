package convmode

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The loss of two small reference networks, and its derivatives, agree with PyTorch's in float64.
func TestReferenceTiny(t *testing.T) {
	for _, name := range []string{"postnorm", "prenorm"} {
		t.Run(name, func(t *testing.T) {
			g := golden.Load[golden.Tiny](t, "train-tiny-"+name)
			m := must.Get(model.ImportPyTorch(golden.Pth(t, "train-tiny-"+name), model.ImportOptions{PreNorm: name == "prenorm"}))(t)
			x, labels := golden.TinyInput()
			n, b := newReference(m, 1), referenceBatch{Batch: Batch{Size: golden.TinyBatch, Len: golden.TinyLen}, X: x, Train: true}
			loss, d := crossEntropy(n.Forward(b).Logits, labels)
			if !(math.Abs(loss-g.Losses[0]) < 1e-10) {
				t.Errorf("loss is %.12f, expected %.12f", loss, g.Losses[0])
			}
			want := g.Gradients["decoder.weight"].Values // of the last tensor but one
			direction, slope := make([][]float64, len(m.Weights.Tensors())), 0.0
			for i, tensor := range m.Weights.Tensors() {
				direction[i] = make([]float64, len(tensor.Data))
				if tensor.Name == "decoder.weight" {
					for k, v := range want {
						direction[i][k], slope = v, slope+v*v
					}
				}
			}
			if got := n.Slope(b, d, direction); !(math.Abs(got-slope) < 1e-8*slope) {
				t.Errorf("slope is %.12f, expected %.12f", got, slope)
			}
		})
	}
}

// crossEntropy returns the mean over the batch of −log softmax(logits)[label], and its gradient.
func crossEntropy(logits []float64, labels []int) (loss float64, grad []float64) {
	k, size := len(logits)/len(labels), float64(len(labels))
	for i, label := range labels {
		row, sum := logits[i*k:(i+1)*k], 0.0
		for _, v := range row {
			sum += math.Exp(v)
		}
		loss += (math.Log(sum) - row[label]) / size
		for _, v := range row {
			grad = append(grad, math.Exp(v)/sum/size)
		}
		grad[i*k+label] -= 1 / size
	}
	return loss, grad
}

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
