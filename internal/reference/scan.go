package reference

import (
	"math"
	"math/cmplx"
)

// LRU is the Linear Recurrent Unit (arXiv 2303.06349), or the gradients of its parameters: λ =
// exp(−e^ν + i·e^θ), h[t] = λ⊙h[t−1] + e^γ⊙(B·x[t]), y[t] = Re(C·h[t]) + D⊙x[t]. B and C mix the
// channels. The network's norm, activation and mixing are not part of it.
type LRU struct {
	H, N                      int          // channels, modes
	NuLog, ThetaLog, GammaLog []float64    // [N]: ν, θ, γ
	B                         []complex128 // [N][H]
	C                         []complex128 // [H][N]
	D                         []float64    // [H]
}

func (l *LRU) scan() *scan {
	s := &scan{H: l.H, Factor: 1, C: l.C, D: l.D}
	for n := range l.N {
		s.Pole = append(s.Pole, cmplx.Exp(complex(-math.Exp(l.NuLog[n]), math.Exp(l.ThetaLog[n]))))
		for h := range l.H {
			s.B = append(s.B, complex(math.Exp(l.GammaLog[n]), 0)*l.B[n*l.H+h])
		}
	}
	return s
}

// Forward returns y for sequences x of a length, both [B][H][L].
func (l *LRU) Forward(x []float64, length int) []float64 { return l.scan().forward(x, length) }

// Backward returns the gradients of the parameters and ∂loss/∂x for ∂loss/∂y.
func (l *LRU) Backward(x, dy []float64, length int) (g *LRU, dx []float64) {
	s := l.scan()
	gs, dx := s.backward(x, dy, length)
	g = &LRU{
		H: l.H, N: l.N, NuLog: zeros(l.N), ThetaLog: zeros(l.N), GammaLog: zeros(l.N),
		B: make([]complex128, len(l.B)), C: gs.C, D: gs.D,
	}
	for n := range l.N {
		byLog := gs.Pole[n] * cmplx.Conj(s.Pole[n]) // the gradient of log λ = −e^ν + i·e^θ
		g.NuLog[n] = -math.Exp(l.NuLog[n]) * real(byLog)
		g.ThetaLog[n] = math.Exp(l.ThetaLog[n]) * imag(byLog)
		for h := range l.H {
			d := gs.B[n*l.H+h]
			g.B[n*l.H+h] = complex(math.Exp(l.GammaLog[n]), 0) * d
			g.GammaLog[n] += real(d * cmplx.Conj(s.B[n*l.H+h]))
		}
	}
	return g, dx
}

// scan is a complex diagonal recurrence with H inputs and outputs, or the gradients of its
// matrices: h[t] = Pole⊙h[t−1] + B·x[t], y[t] = Factor·Re(C·h[t]) + D⊙x[t].
//
// The gradient of a complex z is ∂loss/∂Re z + i·∂loss/∂Im z.
type scan struct {
	H      int
	Factor float64      // 2 where the modes stand for conjugate pairs, else 1
	Pole   []complex128 // [P]
	B      []complex128 // [P][H]
	C      []complex128 // [H][P]
	D      []float64    // [H]
}

// states returns h of one sequence [H][L], at every time: [L][P].
func (s *scan) states(x []float64, length int) [][]complex128 {
	list := make([][]complex128, length)
	for t := range list {
		list[t] = make([]complex128, len(s.Pole))
		for p, pole := range s.Pole {
			if t > 0 {
				list[t][p] = pole * list[t-1][p]
			}
			for h := range s.H {
				list[t][p] += s.B[p*s.H+h] * complex(x[h*length+t], 0)
			}
		}
	}
	return list
}

// forward returns y for sequences x of a length, both [B][H][L].
func (s *scan) forward(x []float64, length int) []float64 {
	y := zeros(len(x))
	size := s.H * length
	for i := 0; i < len(x); i += size {
		in, out := x[i:i+size], y[i:i+size]
		states := s.states(in, length)
		for t, state := range states {
			for h := range s.H {
				out[h*length+t] = s.D[h] * in[h*length+t]
				for p, v := range state {
					out[h*length+t] += s.Factor * real(s.C[h*len(state)+p]*v)
				}
			}
		}
	}
	return y
}

// backward returns the gradients of the matrices and ∂loss/∂x for ∂loss/∂y. The gradient of h[t] is
// conj(Pole)⊙that of h[t+1] + Factor·Cᴴ·∂loss/∂y[t].
func (s *scan) backward(x, dy []float64, length int) (g *scan, dx []float64) {
	g = &scan{
		Pole: make([]complex128, len(s.Pole)), B: make([]complex128, len(s.B)),
		C: make([]complex128, len(s.C)), D: zeros(s.H),
	}
	dx = zeros(len(x))
	size, modes := s.H*length, len(s.Pole)
	for i := 0; i < len(x); i += size {
		in, out, dIn := x[i:i+size], dy[i:i+size], dx[i:i+size]
		states := s.states(in, length)
		ds := make([]complex128, modes)
		for t := length - 1; t >= 0; t-- {
			for p, pole := range s.Pole {
				ds[p] *= cmplx.Conj(pole)
				for h := range s.H {
					v := complex(s.Factor*out[h*length+t], 0)
					ds[p] += v * cmplx.Conj(s.C[h*modes+p])
					g.C[h*modes+p] += v * cmplx.Conj(states[t][p])
				}
				if t > 0 {
					g.Pole[p] += ds[p] * cmplx.Conj(states[t-1][p])
				}
				for h := range s.H {
					g.B[p*s.H+h] += ds[p] * complex(in[h*length+t], 0)
					dIn[h*length+t] += real(cmplx.Conj(s.B[p*s.H+h]) * ds[p])
				}
			}
			for h := range s.H {
				g.D[h] += out[h*length+t] * in[h*length+t]
				dIn[h*length+t] += s.D[h] * out[h*length+t]
			}
		}
	}
	return g, dx
}
