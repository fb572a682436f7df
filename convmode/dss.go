package convmode

import (
	"fmt"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
)

// dss is the kernelSource of DSS (docs/maths.md §18). Its modes may grow (Re log λ̄ > 0), and a
// Vandermonde plan would overflow on them. The kernel of such a mode decays from the last tap to
// the first, so it is computed in this order and then reversed. With L taps of the normaliser, j =
// taps − 1 − l and μ = 1/λ̄, W·λ̄^(l−L+1) = W·μ^(L−taps)·μ^j.
type dss struct {
	*diagonal              // in disc, growing modes have the weight 0
	grows     []bool       // [H] whether a channel has growing modes
	logMu     []complex128 // [H][M]; 0 for other modes
	w         []complex128 // [directions][H][M] weights of the last tap; 0 for other modes
	g, m      []complex128 // [H][M] scratch
}

// dssPlan is the kernelPlan of DSS. Its scratch has room for a reversed kernel.
type dssPlan struct {
	*fftkernel.Vandermonde
	taps int
}

func (p dssPlan) ScratchLen() int { return p.Vandermonde.ScratchLen() + p.taps }

func newDSS(d *diagonal) *dss {
	zeros := func(n int) []complex128 { return make([]complex128, n) }
	modes := len(d.disc.LogLambda)
	return &dss{
		diagonal: d, grows: make([]bool, d.disc.H), logMu: zeros(modes), w: zeros(len(d.disc.W)), g: zeros(modes), m: zeros(modes),
	}
}

func (s *dss) discretize(h int) {
	s.diagonal.discretize(h)
	s.grows[h] = false
	d := s.disc
	lo, hi := s.row(0, h)
	for i := lo; i < hi; i++ {
		grows := d.Growing(i)
		s.logMu[i] = 0
		if grows {
			s.grows[h] = true
			s.logMu[i], d.LogLambda[i] = -d.LogLambda[i], 0
		}
		for at := i; at < len(d.W); at += len(d.LogLambda) {
			s.w[at] = 0
			if grows {
				s.w[at], d.W[at] = d.W[at], 0
			}
		}
	}
}

// shift returns μ^(L−taps) of mode i.
func (s *dss) shift(p dssPlan, i int) complex128 {
	return cmplx.Exp(complex(float64(s.disc.Taps-p.taps), 0) * s.logMu[i])
}

func (s *dss) kernels(p kernelPlan, scratch []float32, h int, k0, k1 []float32) {
	plan := p.(dssPlan)
	reversed, scratch := scratch[:plan.taps], scratch[plan.taps:]
	s.diagonal.kernels(plan.Vandermonde, scratch, h, k0, k1)
	if !s.grows[h] {
		return
	}
	lo, hi := s.row(0, h)
	for dir, k := range [2][]float32{k0, k1} {
		if k == nil {
			continue
		}
		for i := lo; i < hi; i++ {
			s.g[i] = s.w[dir*len(s.logMu)+i] * s.shift(plan, i)
		}
		plan.Kernel(reversed, s.logMu[lo:hi], s.g[lo:hi], scratch)
		for l := range k {
			k[l] += reversed[plan.taps-1-l]
		}
	}
}

func (s *dss) kernelGrad(p kernelPlan, scratch []float32, h int, dk0, dk1 []float32) {
	plan := p.(dssPlan)
	reversed, scratch := scratch[:plan.taps], scratch[plan.taps:]
	s.sums(plan.Vandermonde, scratch, h, dk0, dk1)
	if s.grows[h] {
		for dir, dk := range [2][]float32{dk0, dk1} {
			if dk != nil {
				s.growingSums(plan, scratch, dir, h, dk, reversed)
			}
		}
	}
	s.backward(h)
}

// growingSums replaces G and M of the growing modes: with n = taps − 1 − j − (L − 1) = −(L − taps)
// − j, they are Σ_j dk·μ^−n and Σ_j n·dk·μ^−n.
func (s *dss) growingSums(plan dssPlan, scratch []float32, dir, h int, dk, reversed []float32) {
	clear(reversed)
	for l, d := range dk {
		reversed[plan.taps-1-l] = d
	}
	lo, hi := s.row(0, h)
	plan.Grad(s.g[lo:hi], s.m[lo:hi], reversed, s.logMu[lo:hi], scratch)
	later := complex(float64(s.disc.Taps-plan.taps), 0)
	for i := lo; i < hi; i++ {
		if s.logMu[i] != 0 {
			at, shift := dir*len(s.logMu)+i, s.shift(plan, i)
			s.grad.g[at] = shift * s.g[i]
			s.grad.m[at] = -shift * (s.m[i] + later*s.g[i])
		}
	}
}

// checkDSS returns an error for sequences longer than l_kernel if modes grow: these are defined up
// to tap l_kernel − 1 only.
func checkDSS(m *model.Model, opt Options) error {
	c := m.Config.SSM
	if opt.MaxLen <= c.DSSTaps(opt.StepScale) {
		return nil
	}
	for i := range m.Config.CountSSM() {
		if n := m.SSMParams(i).Discretize(c.Disc, opt.StepScale).CountGrowing(); n > 0 {
			return fmt.Errorf("convmode: MaxLen %d: %d modes of layer %d grow without bound after ssm.l_kernel = %d samples", opt.MaxLen, n, i, c.LKernel)
		}
	}
	return nil
}
