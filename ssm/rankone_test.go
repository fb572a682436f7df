package ssm

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// fromGolden returns the parameters of a golden layer, whose file stores Λ with −i·A_imag.
func fromGolden(g *golden.S4Layer) *Params {
	c := g.Config
	p := NewParams(Config{Layer: LayerS4, DModel: c.H, DState: c.N, Init: Imported, Disc: Bilinear, NSSM: c.Copies,
		LKernel: g.LKernel, Bidirectional: c.Bidirectional})
	copy(p.Decay, g.Parameters["A_real"])
	copy(p.Freq, g.Parameters["A_imag"])
	copy(p.D, g.Parameters["D"])
	copy(p.B, conjugates(g.Parameters["B"].Complex()))
	copy(p.P, conjugates(g.Parameters["P"].Complex()))
	copy(p.C, conjugates(g.Parameters["C"].Complex()))
	for h, v := range g.Parameters["inv_dt"] {
		if c.DtTransform == "softplus" {
			v = math.Log(math.Log1p(math.Exp(v)))
		}
		p.Step[h] = v
	}
	return p
}

func conjugates(z []complex128) []complex128 {
	list := make([]complex128, len(z))
	for i, v := range z {
		list[i] = cmplx.Conj(v)
	}
	return list
}

// compareComplex compares relatively to the largest expected value.
func compareComplex(t *testing.T, name string, got, want []complex128, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", name, len(got), len(want))
	}
	largest := 0.0
	for _, v := range want {
		largest = max(largest, cmplx.Abs(v))
	}
	for i, v := range want {
		if !(cmplx.Abs(got[i]-v) <= tolerance*largest) {
			t.Errorf("%s[%d] = %v, expected %v (largest %v)", name, i, got[i], v, largest)
			return
		}
	}
}

// C̃ from C, and C from C̃. C of FouT is ill-conditioned: the golden file is exact to 1e-9.
func TestGoldenCTilde(t *testing.T) {
	for _, init := range []string{"legs", "fout"} {
		g := golden.Load[golden.S4](t, "layer-s4-"+init)
		for name, c := range map[string]*golden.S4Layer{"untied": &g.Untied, "tied": g.Tied, "defaults": g.Defaults} {
			if c == nil {
				continue
			}
			t.Run(init+", "+name, func(t *testing.T) {
				p, recovered := fromGolden(c), 1e-10
				if init == "fout" {
					recovered = 1e-8
				}
				tilde := append([]complex128(nil), p.C...)
				must.Do(t, p.RecoverChannels(0, p.DModel))
				before := conjugates(c.C.Complex())
				compareComplex(t, "C", p.C, before, recovered)
				copy(p.C, before)
				p.TruncateChannels(1, p.LKernel, 0, p.DModel)
				compareComplex(t, "C̃", p.C, tilde, 1e-12)
			})
		}
		for _, c := range g.Lengths.Cases {
			t.Run(init+", "+c.Name, func(t *testing.T) {
				p := fromGolden(&g.Untied)
				copy(p.C, conjugates(g.Untied.C.Complex()))
				p.LKernel = 0
				for _, call := range c.Calls {
					if call.Length == p.LKernel {
						continue
					}
					need := call.Length
					if p.LKernel > 0 {
						need = call.Length/2 + 1
					}
					if length := p.KernelLength(need); length != call.Length {
						t.Fatalf("length %d, expected %d", length, call.Length)
					}
					p.ExtendChannels(call.Length, 0, p.DModel)
					p.LKernel = call.Length
				}
				compareComplex(t, "C̃", p.C, conjugates(c.CTilde.Complex()), 1e-12)
			})
		}
	}
}

// The error names the first channel whose C cannot be recovered.
func TestRecoverError(t *testing.T) {
	cfg := config(LegS, 4, 8)
	cfg.Layer, cfg.Disc, cfg.LKernel = LayerS4, Bilinear, 32
	p := mustNew(t, cfg, 1, 0)
	m := p.Modes()
	for i := 2 * m; i < 4*m; i++ { // Ā of channels 2 and 3 is the identity
		p.Decay[i], p.Freq[i], p.P[i] = math.Inf(-1), 0, 0
	}
	must.Do(t, p.RecoverChannels(0, 2))
	must.Fail(t, p.RecoverChannels(0, 4), "ssm: channel 2: l_kernel 32: C cannot be recovered from C̃: ")
	p.Step[2], p.Decay[2*m] = math.NaN(), 0
	must.Fail(t, p.RecoverChannels(1, 4), "ssm: channel 2: l_kernel 32: C cannot be recovered from C̃: the matrix Ā^l_kernel is not finite")
}

// The values of the official code, drawn in float32.
func TestHippo(t *testing.T) {
	for _, init := range []Init{LegS, FouT} {
		g := &golden.Load[golden.S4](t, "layer-s4-"+string(init)).Untied
		cfg := config(init, g.Config.H, g.Config.N)
		cfg.Layer, cfg.Disc = LayerS4, Bilinear
		p := mustNew(t, cfg, 1, 0)
		compare(t, "log(−Re Λ)", p.Decay, g.Parameters["A_real"], 2e-6)
		for i, want := range g.Parameters["A_imag"] {
			if !(math.Abs(p.Freq[i]-want) <= 2e-5) {
				t.Errorf("%s: Im Λ[%d] = %v, expected %v", init, i, p.Freq[i], want)
			}
		}
		for name, values := range map[string][2][]complex128{
			"B": {p.B, g.Parameters["B"].Complex()}, "P": {p.P, g.Parameters["P"].Complex()},
		} {
			for i, want := range values[1] {
				if got := values[0][i]; !(math.Abs(cmplx.Abs(got)-cmplx.Abs(want)) <= 1e-5) {
					t.Errorf("%s: |%s[%d]| = %v, expected %v", init, name, i, cmplx.Abs(got), cmplx.Abs(want))
				}
			}
		}
	}
	cfg := config(Hippo, 4, 8)
	cfg.Layer, cfg.Disc, cfg.LKernel = LayerS4, Bilinear, 32
	p := mustNew(t, cfg, 1, 0)
	must.Equal(t, p.Decay[7], math.Log(0.5), "log(−Re Λ) of the second copy")
	must.Equal(t, p.Decay[8], math.Log(1e-4), "log(−Re Λ) of the third copy")
	tilde := append([]complex128(nil), p.C...)
	cfg.LKernel = 0
	p = mustNew(t, cfg, 1, 0)
	p.TruncateChannels(1, 32, 0, 4)
	compareComplex(t, "C̃", tilde, p.C, 0)
}
