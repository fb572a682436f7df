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
// With two directions, y also has Factor·Re(C₁·h₁[t]), where h₁[t] = Pole⊙h₁[t+1] + B·x[t]. Both
// states contain x[t].
//
// The gradient of a complex z is ∂loss/∂Re z + i·∂loss/∂Im z.
type scan struct {
	H      int
	Factor float64      // 2 where the modes stand for conjugate pairs, else 1
	Pole   []complex128 // [P]
	B      []complex128 // [P][H]
	C      []complex128 // [directions][H][P]
	D      []float64    // [H]
}

// direction is one direction's part of C and the times in its order.
type direction struct {
	c     []complex128 // [H][P]
	times []int        // [L]
}

func (s *scan) directions(length int) []direction {
	var list []direction
	size := s.H * len(s.Pole)
	for from := 0; from < len(s.C); from += size {
		d := direction{s.C[from : from+size], make([]int, length)}
		for i := range d.times {
			d.times[i] = i
			if from > 0 {
				d.times[i] = length - 1 - i
			}
		}
		list = append(list, d)
	}
	return list
}

// states returns h of one sequence [H][L] at the given times, which are in the order of a
// direction: [L][P].
func (s *scan) states(x []float64, times []int) [][]complex128 {
	list := make([][]complex128, len(times))
	for i, t := range times {
		list[i] = make([]complex128, len(s.Pole))
		for p, pole := range s.Pole {
			if i > 0 {
				list[i][p] = pole * list[i-1][p]
			}
			for h := range s.H {
				list[i][p] += s.B[p*s.H+h] * complex(x[h*len(times)+t], 0)
			}
		}
	}
	return list
}

// forward returns y for sequences x of a length, both [B][H][L].
func (s *scan) forward(x []float64, length int) []float64 {
	y := zeros(len(x))
	for k, v := range x {
		y[k] = s.D[k/length%s.H] * v
	}
	size := s.H * length
	for from := 0; from < len(x); from += size {
		in, out := x[from:from+size], y[from:from+size]
		for _, d := range s.directions(length) {
			for i, state := range s.states(in, d.times) {
				for h := range s.H {
					for p, v := range state {
						out[h*length+d.times[i]] += s.Factor * real(d.c[h*len(state)+p]*v)
					}
				}
			}
		}
	}
	return y
}

// backward returns the gradients of the matrices and ∂loss/∂x for ∂loss/∂y.
func (s *scan) backward(x, dy []float64, length int) (g *scan, dx []float64) {
	g = &scan{
		H: s.H, Pole: make([]complex128, len(s.Pole)), B: make([]complex128, len(s.B)),
		C: make([]complex128, len(s.C)), D: zeros(s.H),
	}
	dx = zeros(len(x))
	for k, v := range dy {
		h := k / length % s.H
		g.D[h] += v * x[k]
		dx[k] = v * s.D[h]
	}
	size := s.H * length
	for from := 0; from < len(x); from += size {
		to := from + size
		for k, d := range s.directions(length) {
			dc := g.directions(length)[k].c
			s.scanBack(g, d, dc, x[from:to], dy[from:to], dx[from:to])
		}
	}
	return g, dx
}

// scanBack adds the gradients of one sequence and direction to g, dc and dx. The gradient of h is
// conj(Pole)⊙that of the next state + Factor·Cᴴ·∂loss/∂y.
func (s *scan) scanBack(g *scan, d direction, dc []complex128, x, dy, dx []float64) {
	states := s.states(x, d.times)
	length, modes := len(d.times), len(s.Pole)
	ds := make([]complex128, modes)
	for i := length - 1; i >= 0; i-- {
		for p, pole := range s.Pole {
			ds[p] *= cmplx.Conj(pole)
			for h := range s.H {
				v := complex(s.Factor*dy[h*length+d.times[i]], 0)
				ds[p] += v * cmplx.Conj(d.c[h*modes+p])
				dc[h*modes+p] += v * cmplx.Conj(states[i][p])
			}
			if i > 0 {
				g.Pole[p] += ds[p] * cmplx.Conj(states[i-1][p])
			}
			for h := range s.H {
				k := h*length + d.times[i]
				g.B[p*s.H+h] += ds[p] * complex(x[k], 0)
				dx[k] += real(cmplx.Conj(s.B[p*s.H+h]) * ds[p])
			}
		}
	}
}
