package reference

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The golden values are exact to 5e-12 of a tensor's largest value, with two exceptions for FouT,
// whose poles at Re Λ = −1e-4 almost touch the nodes: the gradient of A_imag is exact to 2e-9, and
// C recovered from C̃ to 1e-9. Their tolerance is 1e-8.
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
				illConditioned := 1e-10
				if init == "fout" {
					illConditioned = 1e-8
				}
				for name, want := range c.Gradients {
					tolerance := 1e-10
					if name == "A_imag" {
						tolerance = illConditioned
					}
					closeTo(t, "gradient of "+name, grads.parameters()[name].values(), want, tolerance)
				}
				closeTo(t, "C", parts(s.Recover()), c.C, illConditioned)
				if c.StepOutput != nil {
					closeTo(t, "recurrent y", s.Recur(u[:s.H*c.Config.L], c.Config.L), c.StepOutput, 1e-10)
				}
			})
		}
		for _, c := range g.Lengths.Cases {
			t.Run(init+", "+c.Name, func(t *testing.T) {
				s := s4FromGolden(&g.Untied)
				s.C, s.Length, s.LMax = g.Untied.C.Complex(), 0, c.LMax
				for _, call := range c.Calls {
					s.StepScale = call.StepScale
					if s.LMax > 0 {
						s.Extend(s.LMax)
					}
					s.Extend(int(math.Round(float64(s.taps(call.L)) * call.StepScale)))
					must.Equal(t, s.Length, call.Length, "length of C̃")
					u, _ := golden.LayerInput(1, s.H, call.L)
					tape := s.Forward(u, call.L)
					closeTo(t, "kernel", flat(tape.Kernels), call.Kernel, 1e-10)
					if call.Y != nil {
						closeTo(t, "y", tape.Y, call.Y, 1e-10)
					}
				}
				closeTo(t, "C̃", parts(s.C), c.CTilde, 1e-10)
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
