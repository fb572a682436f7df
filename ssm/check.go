package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
)

// Check returns an error for the first mode whose discretisation is NaN, or too large for the
// float32 numbers that convolution and recurrent mode compute with. Parameters can be finite, and
// their exponentials not: ln Δ = 1000 is an infinite step. A mode on the unit circle is valid, and
// so is one outside it, which convolution mode can compute.
func (p *Params) Check() error {
	switch {
	case p.Layer == LayerS4:
		return p.checkCoupled()
	case p.MIMO():
		return p.checkScan()
	}
	d := p.Discretize(p.Disc, 1)
	for i, a := range d.LogLambda {
		worst := d.BBar[i]
		for dir := range d.Directions {
			if w := d.W[dir*len(d.BBar)+i]; !single(w) {
				worst = w
			}
		}
		if !single(worst) || !single(cmplx.Exp(a)) || !single(complex(0, imag(a))) {
			c, n := i/d.M, i%d.M
			return fmt.Errorf("ssm: channel %d, mode %d: the step is %.4g, log λ̄ is %.4g and B̄ or C·B̄ is %.4g: expected float32 numbers", c, n, p.step(c, 1), a, worst)
		}
	}
	return nil
}

// checkScan is Check for S5 and the LRU.
func (p *Params) checkScan() error {
	s := NewScan(p.Config)
	p.DiscretizeScan(s, 1, 0, p.Modes())
	for n, lambda := range s.Lambda {
		if !single(lambda) {
			return fmt.Errorf("ssm: mode %d: λ̄ is %.4g: expected a float32 number", n, lambda)
		}
		for c, b := range s.BBar[n*p.DModel:][:p.DModel] {
			if !single(b) {
				return fmt.Errorf("ssm: mode %d, channel %d: B̄ is %.4g: expected a float32 number", n, c, b)
			}
		}
	}
	return nil
}

// checkCoupled is Check for the steps and the diagonal part of S4.
func (p *Params) checkCoupled() error {
	for c, v := range p.Step {
		if step := math.Exp(v); !single(complex(step, 0)) || step == 0 {
			return fmt.Errorf("ssm: channel %d: the step is %.4g: expected a float32 number above 0", c, step)
		}
	}
	for i, v := range p.Decay {
		if re := math.Exp(v); !single(complex(re, 0)) {
			return fmt.Errorf("ssm: copy %d, mode %d: −Re Λ is %.4g: expected a float32 number", i/p.Modes(), i%p.Modes(), re)
		}
	}
	return nil
}

// single reports whether both parts of v are finite numbers in float32.
func single(v complex128) bool {
	return math.Abs(real(v)) <= math.MaxFloat32 && math.Abs(imag(v)) <= math.MaxFloat32
}
