package reference

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
)

// The golden values are exact to 5e-12 of a tensor's largest value, except for FouT's gradient of
// A_imag. The poles at Re Λ = −1e-4 almost touch the nodes, and it is exact to 2e-9.
func TestGoldenS4(t *testing.T) {
	for _, init := range []string{"legs", "fout"} {
		g := golden.LoadS4(t, init)
		for name, c := range map[string]*golden.S4Layer{"untied": &g.Untied, "tied": g.Tied, "defaults": g.Defaults} {
			if c == nil {
				continue
			}
			t.Run(init+", "+name, func(t *testing.T) {
				s := s4FromGolden(c)
				u, cotangent := golden.LayerInput(c.Config.Batch, s.H, c.Config.L)
				tape := s.Forward(u, c.Config.L)
				closeTo(t, "kernel", flat(tape.Kernels), c.Kernel, 1e-10)
				closeTo(t, "y", tape.Y, c.Y, 1e-10)
				grads, du := s.Backward(tape, cotangent)
				closeTo(t, "gradient of u", du[:len(c.GradientU)], c.GradientU, 1e-10)
				for name, want := range c.Gradients {
					tolerance := 1e-10
					if name == "A_imag" && init == "fout" {
						tolerance = 1e-8
					}
					closeTo(t, "gradient of "+name, grads.parameters()[name].values(), want, tolerance)
				}
			})
		}
	}
}

// What no golden gradient covers: two directions with several sets of poles, other step scales, an
// odd number of nodes.
func TestS4ByDifferences(t *testing.T) {
	for _, softplus := range []bool{false, true} {
		for _, length := range []int{12, 14} { // 6 or 7 nodes
			s := &S4{KernelLayer: randomKernelLayer(softplus), Length: length}
			for i, b := range s.B {
				s.AReal[i] = math.Log(s.AReal[i])
				s.P = append(s.P, b*complex(0.3, 0.4))
			}
			u, cotangent := golden.LayerInput(2, s.H, 12)
			tape := s.Forward(u, 12)
			g, du := s.Backward(tape, cotangent)
			byDifferences(t, s.parameters(), g.parameters(), u, du, func() float64 {
				return dot(cotangent, s.Forward(u, 12).Y)
			})
		}
	}
}

func s4FromGolden(c *golden.S4Layer) *S4 {
	return &S4{KernelLayer: fromGolden(&c.KernelLayer), P: c.Parameters["P"].Complex(), Length: c.LKernel}
}

func (s *S4) parameters() map[string]parameter {
	list := s.KernelLayer.parameters()
	list["P"] = parameter{complex: s.P}
	return list
}
