package reference

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The golden values are exact to about 1e-13 of a tensor's largest value. The tolerance leaves room
// for another order of additions.
func TestGoldenDSS(t *testing.T) {
	g := golden.LoadDSS(t)
	cases := map[string]*golden.KernelLayer{"negative": &g.Negative, "positive": &g.Positive, "tied": &g.Tied}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &DSS{KernelLayer: fromGolden(c)}
			u, cotangent := golden.LayerInput(c.Config.Batch, s.H, c.Config.L)
			tape := s.Forward(u, c.Config.L)
			closeTo(t, "kernel", flat(tape.Kernels), c.Kernel, 1e-12)
			closeTo(t, "y", tape.Y, c.Y, 1e-12)
			grads, du := s.Backward(tape, cotangent)
			closeTo(t, "gradient of u", du[:len(c.GradientU)], c.GradientU, 1e-12)
			for name, want := range c.Gradients {
				closeTo(t, "gradient of "+name, grads.parameters()[name].values(), want, 1e-12)
			}
		})
	}
	for _, c := range g.Lengths.Cases {
		t.Run(c.Name, func(t *testing.T) {
			s := &DSS{KernelLayer: fromGolden(&g.Negative)}
			s.LMax, s.StepScale = c.LMax, c.StepScale
			u, _ := golden.LayerInput(1, s.H, c.L)
			tape := s.Forward(u, c.L)
			closeTo(t, "kernel", flat(tape.Kernels), c.Kernel, 1e-12)
			if c.Y != nil {
				closeTo(t, "y", tape.Y, c.Y, 1e-12)
			}
		})
	}
}

// What no golden gradient covers: truncated kernels at another step scale, and silent modes.
func TestDSSByDifferences(t *testing.T) {
	for _, bandlimit := range []float64{0, 0.2} {
		s := &DSS{KernelLayer: randomKernelLayer(bandlimit == 0), Bandlimit: bandlimit}
		for i := range s.AReal {
			if i%3 == 0 {
				s.AReal[i] = -s.AReal[i] // Re A > 0
			}
		}
		u, cotangent := golden.LayerInput(2, s.H, 12)
		tape := s.Forward(u, 12)
		g, du := s.Backward(tape, cotangent)
		byDifferences(t, s.parameters(), g.parameters(), u, du, func() float64 {
			return dot(cotangent, s.Forward(u, 12).Y)
		})
	}
}

// randomKernelLayer returns a bidirectional layer of 4 channels with 2 sets of 3 poles. Its kernels
// have 5 taps.
func randomKernelLayer(softplus bool) KernelLayer {
	r := random.New(5, random.Signal, 0, 0)
	at := uint64(0)
	normal := func() float64 { at++; return r.Normal(at) }
	s := KernelLayer{H: 4, M: 3, Copies: 2, Softplus: softplus, LMax: 10, StepScale: 2}
	for range s.H {
		s.InvDt, s.D = append(s.InvDt, -2+0.3*normal()), append(s.D, normal())
	}
	for i := range s.Copies * s.M {
		s.AReal, s.AImag = append(s.AReal, 0.5+0.1*normal()), append(s.AImag, 1+2*float64(i%s.M)+0.3*normal())
		s.B = append(s.B, complex(normal(), normal()))
	}
	for range 2 * s.H * s.M {
		s.C = append(s.C, complex(normal(), normal()))
	}
	return s
}

func fromGolden(c *golden.KernelLayer) KernelLayer {
	p := c.Parameters
	return KernelLayer{
		H: c.Config.H, M: c.Config.N / 2, Copies: c.Config.Copies, LMax: c.Config.LMax, StepScale: 1,
		Softplus: c.Config.DtTransform == "softplus", InvDt: p["inv_dt"], AReal: p["A_real"],
		AImag: p["A_imag"], B: p["B"].Complex(), C: p["C"].Complex(), D: p["D"],
	}
}

// parameter is an array of real or of complex numbers.
type parameter struct {
	real    []float64
	complex []complex128
}

// parameters returns the arrays by the official code's names.
func (s *KernelLayer) parameters() map[string]parameter {
	return map[string]parameter{
		"inv_dt": {real: s.InvDt}, "A_real": {real: s.AReal}, "A_imag": {real: s.AImag},
		"B": {complex: s.B}, "C": {complex: s.C}, "D": {real: s.D},
	}
}

func (p parameter) values() []float64 {
	if p.complex != nil {
		return parts(p.complex)
	}
	return p.real
}

// add adds v to element i of values.
func (p parameter) add(i int, v float64) {
	switch {
	case p.complex == nil:
		p.real[i] += v
	case i%2 == 0:
		p.complex[i/2] += complex(v, 0)
	default:
		p.complex[i/2] += complex(0, v)
	}
}

// byDifferences compares the gradients of the parameters and of u with central differences of the
// loss, extrapolated from two steps.
func byDifferences(t *testing.T, params, grads map[string]parameter, u, du []float64, loss func() float64) {
	t.Helper()
	params["u"], grads["u"] = parameter{real: u}, parameter{real: du}
	for name, p := range params {
		slope := func(i int, h float64) float64 {
			p.add(i, h)
			up := loss()
			p.add(i, -2*h)
			down := loss()
			p.add(i, h)
			return (up - down) / (2 * h)
		}
		var want []float64
		for i := range p.values() {
			want = append(want, (4*slope(i, 1e-4)-slope(i, 2e-4))/3)
		}
		closeTo(t, "gradient of "+name, grads[name].values(), want, 1e-9)
	}
}

// closeTo compares relatively to the largest expected value.
func closeTo(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	must.Equal(t, len(got), len(want), "%s: values", what)
	size, worst := 0.0, 0.0
	for i, w := range want {
		size = max(size, math.Abs(w))
		worst = max(worst, math.Abs(got[i]-w))
	}
	if !(worst <= tolerance*size) {
		t.Errorf("%s: relative error %.2g, expected at most %.0e", what, worst/size, tolerance)
	}
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func flat(rows [][]float64) (list []float64) {
	for _, row := range rows {
		list = append(list, row...)
	}
	return list
}

func parts(z []complex128) []float64 {
	var x []float64
	for _, v := range z {
		x = append(x, real(v), imag(v))
	}
	return x
}
