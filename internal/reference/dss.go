package reference

import (
	"math"
	"math/cmplx"
)

// KernelLayer holds the settings and parameters that DSS and S4 have in common, or their gradients:
// a layer of H single-channel state space models, each of which convolves its input with a kernel.
// Channel h uses set h mod Copies of the poles and of B.
type KernelLayer struct {
	H, M, Copies int     // channels, complex modes per channel, sets of poles
	Softplus     bool    // Δ = softplus(InvDt); else exp(InvDt)
	LMax         int     // taps of the kernel at step scale 1, 0: as many as the input has
	StepScale    float64 // training samples per sample
	InvDt        []float64
	AReal, AImag []float64    // [Copies][M]
	B            []complex128 // [Copies][M]
	C            []complex128 // [directions][H][M], directions 1 or 2
	D            []float64    // [H]
}

// KernelTape has the results of a forward pass. U and Y are [batch][H][length].
type KernelTape struct {
	U, Y    []float64
	Kernels [][]float64 // [directions·H]
	length  int
}

func (s *KernelLayer) zeroLike() KernelLayer {
	g := *s
	g.InvDt, g.AReal, g.AImag = zeros(len(s.InvDt)), zeros(len(s.AReal)), zeros(len(s.AImag))
	g.B, g.C, g.D = make([]complex128, len(s.B)), make([]complex128, len(s.C)), zeros(len(s.D))
	return g
}

// dt returns Δ of channel h and its derivative by InvDt.
func (s *KernelLayer) dt(h int) (dt, slope float64) {
	e := math.Exp(s.InvDt[h])
	if s.Softplus {
		return s.StepScale * math.Log1p(e), s.StepScale * e / (1 + e)
	}
	return s.StepScale * e, s.StepScale * e
}

// taps returns the length of the kernels for inputs of a length.
func (s *KernelLayer) taps(length int) int {
	if s.LMax == 0 {
		return length
	}
	return min(length, int(math.Round(float64(s.LMax)/s.StepScale)))
}

// forward convolves u [batch][H][length] with kernels.
func (s *KernelLayer) forward(u []float64, kernels [][]float64, length int) *KernelTape {
	return &KernelTape{U: u, Y: convolve(u, s.D, kernels, length), Kernels: kernels, length: length}
}

// DSS is the layer of Gupta et al. (arXiv 2203.14343) as the official S4 code, version 4, has it:
// A = −AReal − i·AImag, and with a = Δ·A and L taps
//
//	K[l] = Re Σ C·B·(e^ã − 1)·ρ·e^(a(l−m)),  ρ = X̄/(|X|² + 1e-7),  X = (e^(ãL) − 1)·A
//
// where ã = a and m = 0, but ã = −a and m = L−1 for modes with Re A > 0. L is part of the formula:
// a kernel of another length is another function, unless Span fixes it.
type DSS struct {
	KernelLayer
	Span      int     // L at step scale 1; 0: the taps of the kernel
	Bandlimit float64 // modes with |Im a| ≥ Bandlimit·π are silent; 0: none are
}

const dssEpsilon = 1e-7

// dssMode is one mode of one channel: K[l] = Re(C·B·edge·rho·e^(a(l−first))).
type dssMode struct {
	lambda, a complex128
	sign      float64    // ã = sign·a
	first     int        // m
	span      int        // L
	grown     complex128 // e^(ãL)
	x         complex128 // X
	edge, rho complex128 // e^ã − 1, ρ
}

func (s *DSS) mode(h, m, taps int) dssMode {
	k := h%s.Copies*s.M + m
	dt, _ := s.dt(h)
	v := dssMode{lambda: complex(-s.AReal[k], -s.AImag[k]), sign: 1}
	v.a = complex(dt, 0) * v.lambda
	v.span = taps
	if s.Span > 0 {
		v.span = int(math.Round(float64(s.Span) / s.StepScale))
	}
	if real(v.lambda) > 0 {
		v.sign, v.first = -1, v.span-1
	}
	towards := complex(v.sign, 0) * v.a
	v.edge = cmplx.Exp(towards) - 1
	v.grown = cmplx.Exp(towards * complex(float64(v.span), 0))
	v.x = (v.grown - 1) * v.lambda
	v.rho = cmplx.Conj(v.x) / (v.x*cmplx.Conj(v.x) + dssEpsilon)
	if s.Bandlimit > 0 && math.Abs(imag(v.a)) >= s.Bandlimit*math.Pi {
		v.edge, v.rho = 0, 0
	}
	return v
}

// Kernels returns [directions·H][taps], one tap at a time.
func (s *DSS) Kernels(length int) [][]float64 {
	list := make([][]float64, len(s.C)/s.M)
	for r := range list {
		h := r % s.H
		list[r] = zeros(s.taps(length))
		for m := range s.M {
			v := s.mode(h, m, len(list[r]))
			w := s.C[r*s.M+m] * s.B[h%s.Copies*s.M+m] * v.edge * v.rho
			for l := range list[r] {
				list[r][l] += real(w * cmplx.Exp(v.a*complex(float64(l-v.first), 0)))
			}
		}
	}
	return list
}

// Forward applies the layer to u [batch][H][length].
func (s *DSS) Forward(u []float64, length int) *KernelTape {
	return s.forward(u, s.Kernels(length), length)
}

// Backward returns the gradients of the parameters and of u from ∂loss/∂y. They are those of the
// kernel above. The official code takes e^(−am) for a constant, and is wrong where Re A > 0.
func (s *DSS) Backward(t *KernelTape, dy []float64) (g *DSS, du []float64) {
	g = &DSS{KernelLayer: s.zeroLike()}
	var dk [][]float64
	du, g.D, dk = convolveBack(dy, t.U, s.D, t.Kernels, t.length)
	for r, row := range dk {
		for m := range s.M {
			s.modeBack(g, r, m, row)
		}
	}
	return g, du
}

// modeBack adds the gradients of mode m of row r from ∂loss/∂K.
func (s *DSS) modeBack(g *DSS, r, m int, dk []float64) {
	h := r % s.H
	k := h%s.Copies*s.M + m
	v := s.mode(h, m, len(dk))
	var sum, slope complex128 // Σ ∂K·e^(a(l−m)) and its derivative by a
	for l, d := range dk {
		from := complex(float64(l-v.first), 0)
		e := complex(d, 0) * cmplx.Exp(v.a*from)
		sum, slope = sum+e, slope+from*e
	}
	b, c, sign := s.B[k], s.C[r*s.M+m], complex(v.sign, 0)
	g.C[r*s.M+m] += cmplx.Conj(b * v.edge * v.rho * sum)
	g.B[k] += cmplx.Conj(c * v.edge * v.rho * sum)
	// loss = Re(R·ρ): ρ depends on X and on its conjugate. dX is the derivative of the loss by X.
	R, q := c*b*v.edge*sum, v.x*cmplx.Conj(v.x)+dssEpsilon
	dX := -R*cmplx.Conj(v.x)*cmplx.Conj(v.x)/(q*q) + cmplx.Conj(R*dssEpsilon/(q*q))
	dA := c*b*v.edge*v.rho*slope + c*b*v.rho*sum*sign*(v.edge+1) +
		dX*v.lambda*sign*complex(float64(v.span), 0)*v.grown
	dt, dtSlope := s.dt(h)
	dLambda := complex(dt, 0)*dA + dX*(v.grown-1)
	g.AReal[k] -= real(dLambda)
	g.AImag[k] += imag(dLambda) // dLambda is the conjugate of the gradient
	g.InvDt[h] += dtSlope * real(dA*v.lambda)
}
