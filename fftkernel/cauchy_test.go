package fftkernel

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rankOne returns the system of row row of C of a layer.
func rankOne(p *ssm.Params, row int) *RankOne {
	m, h := p.Modes(), row%p.DModel
	at := h % p.Copies() * m
	s := &RankOne{Step: math.Exp(p.Step[h]), P: p.P[at : at+m], B: p.B[at : at+m], C: p.C[row*m : (row+1)*m]}
	for i := at; i < at+m; i++ {
		s.Lambda = append(s.Lambda, complex(-math.Exp(p.Decay[i]), p.Freq[i]))
	}
	return s
}

// definition returns K[l] = ⟨C, Ā^l·B̄⟩ by the recurrence, in float64. C is recovered from C̃.
func definition(t *testing.T, p *ssm.Params, h, taps int) []float64 {
	t.Helper()
	whole := *p
	whole.C = append([]complex128(nil), p.C...)
	must.Do(t, whole.RecoverChannels(h, h+1))
	r, k, m := ssm.NewRankOne(p.Modes()), make([]float64, taps), p.Modes()
	p.RankOne(r, h, 1)
	state := append([]complex128(nil), r.B...)
	for l := range k {
		w := 0.0
		for n, v := range state {
			k[l] += 2 * real(whole.C[h*m+n]*v)
			w += 2 * real(r.U[n]*v)
		}
		for n := range state {
			state[n] = r.E[n]*state[n] - r.P[n]*complex(w, 0)
		}
	}
	return k
}

func s4Params(t *testing.T, init ssm.Init, state, length int) *ssm.Params {
	t.Helper()
	return must.Get(ssm.New(ssm.Config{Layer: ssm.LayerS4, DModel: 4, DState: state, Init: init, Disc: ssm.Bilinear,
		DtMin: 0.001, DtMax: 0.1, LKernel: length}, 1, 0))(t)
}

func TestCauchyAccuracy(t *testing.T) {
	lengths := []int{1, 2, 3, 17, 60, 96, 784, 1000, 1024, 3000}
	if vektest.Emulated {
		lengths = lengths[:8]
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, init := range []ssm.Init{ssm.LegS, ssm.FouT} {
			for _, length := range lengths {
				p := s4Params(t, init, 64, length)
				plan := NewCauchy(p.Modes(), length)
				for h := range p.DModel {
					k := dirty(length)
					plan.Kernel(k, rankOne(p, h), dirty(plan.ScratchLen()))
					if e := maxError(k, definition(t, p, h, length)); !(e <= 1e-6) {
						t.Errorf("%s, %d taps, channel %d: error %.3g of the maximum", init, length, h, e)
					}
				}
			}
		}
	})
}

// The golden gradients of all parameters of the kernel, for the golden cotangent of the output.
func TestCauchyGolden(t *testing.T) {
	for _, init := range []string{"legs", "fout"} {
		g := &golden.Load[golden.S4](t, "layer-s4-"+init).Untied
		p := goldenParams(g)
		h, l := p.DModel, g.Config.L
		plan := NewCauchy(p.Modes(), g.LKernel)
		u, cotangent := golden.LayerInput(g.Config.Batch, h, l)
		grad := ssm.NewParams(p.Config)
		clear(grad.B)
		m := p.Modes()
		byPair, byPole := make([]complex128, 4*m), make([]complex128, 4*m)
		for row := range h {
			k, dk := dirty(l), make([]float32, l)
			plan.Kernel(k, rankOne(p, row), dirty(plan.ScratchLen()))
			if e := maxError(k, g.Kernel[row*l:(row+1)*l]); !(e <= 1e-6) {
				t.Errorf("%s: kernel of channel %d: error %.3g of the maximum", init, row, e)
			}
			for b := range g.Config.Batch {
				at := (b*h + row) * l
				for i := range dk {
					sum := 0.0
					for j := i; j < l; j++ {
						sum += cotangent[at+j] * u[at+j-i]
					}
					dk[i] += float32(sum)
				}
			}
			plan.Grad(byPair, byPole, dk, rankOne(p, row), dirty(plan.ScratchLen()))
			p.BackwardRankOne(grad, byPair, byPole, row)
		}
		check := func(name string, got []complex128) {
			want, largest := g.Gradients[name].Complex(), 0.0
			for _, v := range want {
				largest = max(largest, cmplx.Abs(v))
			}
			for i, v := range want {
				if e := cmplx.Abs(cmplx.Conj(got[i]) - v); !(e <= 2e-6*largest) {
					t.Errorf("%s: gradient of %s[%d]: %v, expected %v ± %.2g", init, name, i, cmplx.Conj(got[i]), v, 2e-6*largest)
				}
			}
		}
		check("B", grad.B)
		check("P", grad.P)
		check("C", grad.C)
		for name, got := range map[string][]float64{"inv_dt": grad.Step, "A_real": grad.Decay, "A_imag": grad.Freq} {
			want, largest := g.Gradients[name], 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(v))
			}
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= 2e-6*largest) {
					t.Errorf("%s: gradient of %s[%d]: %v, expected %v ± %.2g", init, name, i, got[i], v, 2e-6*largest)
				}
			}
		}
	}
}

// goldenParams returns the parameters of a golden layer, whose file stores the conjugates.
func goldenParams(g *golden.S4Layer) *ssm.Params {
	p := ssm.NewParams(ssm.Config{Layer: ssm.LayerS4, DModel: g.Config.H, DState: g.Config.N, Init: ssm.Imported,
		Disc: ssm.Bilinear, NSSM: g.Config.Copies, LKernel: g.LKernel})
	copy(p.Step, g.Parameters["inv_dt"])
	copy(p.Decay, g.Parameters["A_real"])
	copy(p.Freq, g.Parameters["A_imag"])
	for name, dst := range map[string][]complex128{"B": p.B, "P": p.P, "C": p.C} {
		for i, v := range g.Parameters[name].Complex() {
			dst[i] = cmplx.Conj(v)
		}
	}
	return p
}

// The gradient of a kernel whose length has no fast transform, and of one that is cut, agrees with
// differences.
func TestCauchyGradByDifferences(t *testing.T) {
	for _, length := range []int{7, 14, 16} {
		p := s4Params(t, ssm.FouT, 4, length)
		for i := range p.Decay { // FouT's own poles almost touch the nodes
			p.Decay[i] = -1
		}
		plan := NewCauchy(p.Modes(), length)
		taps := length - 2
		dk := make([]float32, taps)
		for i := range dk {
			dk[i] = float32(math.Cos(float64(3 * i)))
		}
		m := p.Modes()
		byPair, byPole := make([]complex128, 4*m), make([]complex128, 4*m)
		plan.Grad(byPair, byPole, dk, rankOne(p, 0), dirty(plan.ScratchLen()))
		grad := ssm.NewParams(p.Config)
		clear(grad.B)
		p.BackwardRankOne(grad, byPair, byPole, 0)
		loss := func() float64 {
			s := rankOne(p, 0)
			sum := 0.0
			for l, v := range plan.exact(s) {
				if l < taps {
					sum += v * float64(dk[l])
				}
			}
			return sum
		}
		const step = 1e-5
		for name, x := range map[string][2]*float64{
			"Step": {&p.Step[0], &grad.Step[0]}, "Decay": {&p.Decay[0], &grad.Decay[0]},
			"Freq": {&p.Freq[0], &grad.Freq[0]},
		} {
			old := *x[0]
			*x[0] = old + step
			up := loss()
			*x[0] = old - step
			down := loss()
			*x[0] = old
			if want := (up - down) / (2 * step); !(math.Abs(*x[1]-want) <= 1e-5*(1+math.Abs(want))) {
				t.Errorf("%d taps: gradient of %s: %v, by differences %v", length, name, *x[1], want)
			}
		}
	}
}

// exact returns all taps in float64, by the definition of the inverse transform.
func (c *Cauchy) exact(s *RankOne) []float64 {
	w := c.divide(make([]float32, c.ScratchLen()))
	c.sum(w, s)
	k := make([]float64, c.nodes)
	for l := range k {
		for i := range c.nodes/2 + 1 {
			turn := cmplx.Rect(c.weight(i)/float64(c.nodes), 2*math.Pi*float64(i*l%c.nodes)/float64(c.nodes))
			k[l] += real(turn * c.transform(w, s, i))
		}
	}
	return k
}
