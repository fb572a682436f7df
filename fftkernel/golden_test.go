package fftkernel

import (
	"math"
	"math/cmplx"
	"testing"
)

// The kernels of docs/maths.md §2.5: M = 4, A = −½+iπn, dt = 0.05, B = 1.
func TestSpecKernels(t *testing.T) {
	c := []complex128{1, 0.5i, complex(-0.25, 0.25), complex(0.1, -0.3)}
	zoh := func(a complex128, dt float64) (logLambda, b complex128) {
		z := a * complex(dt, 0)
		return z, (cmplx.Exp(z) - 1) / a
	}
	bilinear := func(a complex128, dt float64) (logLambda, b complex128) {
		half := a * complex(dt/2, 0)
		return cmplx.Log((1 + half) / (1 - half)), complex(dt, 0) / (1 - half)
	}
	for _, tt := range []struct {
		name       string
		discretise func(a complex128, dt float64) (logLambda, b complex128)
		dt         float64
		want       []float64
	}{
		{"zoh", zoh, 0.05, []float64{0.083128438329907, 0.078692693866859, 0.072280748429062, 0.063484763856252, 0.052959786328227, 0.042207242605974, 0.033153791917316, 0.027633822106467}},
		{"bilinear", bilinear, 0.05, []float64{0.083016154194732, 0.078423485826196, 0.07211553822732, 0.063659405528614, 0.053586565404458, 0.043218129235731, 0.0343030950726, 0.028560378934558}},
		{"zoh rate 2", zoh, 0.1, []float64{0.161821132196766, 0.135765512285314, 0.095167028934201, 0.060787614023783, 0.058182542070088, 0.091596083361946, 0.137063388875651, 0.160284157270502}},
	} {
		var logLambda, w []complex128
		for n, cn := range c {
			l, b := tt.discretise(complex(-0.5, math.Pi*float64(n)), tt.dt)
			logLambda, w = append(logLambda, l), append(w, cn*b)
		}
		v := NewVandermonde(4, 8)
		k := dirty(8)
		v.Kernel(k, logLambda, w, dirty(v.ScratchLen()))
		for l, want := range tt.want {
			if math.Abs(float64(k[l])-want) > 1e-6 {
				t.Errorf("%s: k[%d] = %v, expected %v", tt.name, l, k[l], want)
			}
		}
	}
}

// The gradients of Σ_l (l+1)/8·K_l for the ZOH kernel of docs/maths.md §2.5, by §7 from the sums G
// and M.
func TestSpecGradients(t *testing.T) {
	const dt, length = 0.05, 8
	c := []complex128{1, 0.5i, complex(-0.25, 0.25), complex(0.1, -0.3)}
	wantC := []complex128{0.395968058024283, complex(0.262659775181438, -0.269634952825833),
		complex(-0.014249889016993, -0.321894945558299), complex(-0.193505328235829, -0.151405982127537)}
	wantB := []complex128{0.395968058024283, complex(-0.134817476412917, -0.131329887590719),
		complex(-0.076911264135326, 0.084036208643823), complex(0.026071261814678, -0.073192196683502)}
	wantLogAReal := []float64{-0.050149460674611, 0.019382232922698, 0.00737884518711, 0.0001484236344}
	wantAImag := []float64{0, -0.029243392757671, 0.027456899761868, -0.023759575731551}
	const wantLogDt = 0.043787855959293

	var logLambda []complex128
	for n := range c {
		logLambda = append(logLambda, dt*complex(-0.5, math.Pi*float64(n)))
	}
	dk := make([]float32, length)
	for l := range dk {
		dk[l] = float32(l+1) / 8
	}
	v := NewVandermonde(len(c), length)
	g, m := make([]complex128, len(c)), make([]complex128, len(c))
	v.Grad(g, m, dk, logLambda, dirty(v.ScratchLen()))
	logDt := 0.0
	for n, cn := range c {
		a, z := logLambda[n]/dt, cmplx.Exp(logLambda[n])
		phi := (z - 1) / a
		s := cn*(dt*z-phi)/a*g[n] + cn*phi*dt*m[n] // ∂/∂A
		logDt += dt * 2 * real(cn*z*g[n]+cn*phi*a*m[n])
		near(t, "dC", n, 2*cmplx.Conj(phi*g[n]), wantC[n])
		near(t, "dB", n, 2*cmplx.Conj(cn*phi*g[n]), wantB[n])
		near(t, "d log A_real", n, complex(2*real(s)*real(a), 0), complex(wantLogAReal[n], 0))
		near(t, "dA_imag", n, complex(-2*imag(s), 0), complex(wantAImag[n], 0))
	}
	near(t, "d log dt", 0, complex(logDt, 0), wantLogDt)
}

func near(t *testing.T, what string, n int, got, want complex128) {
	t.Helper()
	if cmplx.Abs(got-want) > 1e-6 {
		t.Errorf("%s[%d] = %v, expected %v", what, n, got, want)
	}
}

// DFouT, docs/maths.md §2.5 G2: N = 8, H = 2, ξ = 0.1.
func TestSpecKernelsDFouT(t *testing.T) {
	c := []complex128{1, 0.5i, complex(-0.25, 0.25), complex(0.1, -0.3)}
	wanted := [2][]float64{ // divided by ξ
		{1.45119749967775, 0.719708277169767, 1.495575547704077, 1.684681739516563, 0.989458498355402, 2.442750916467203},
		{1.257985969119052, 0.577834409025228, 1.419210713001652, 0.308790822564394, 0.450869805865156, -0.497461945466701},
	}
	for h := range 2 {
		var logLambda, w []complex128
		for n, cn := range c {
			a := complex(-0.05, 2*math.Pi*(float64(n)/8+float64(h)/16))
			logLambda, w = append(logLambda, a), append(w, cn*(cmplx.Exp(a)-1)/a)
		}
		v, k := NewVandermonde(4, 6), dirty(6)
		v.Kernel(k, logLambda, w, dirty(v.ScratchLen()))
		for l, want := range wanted[h] {
			if math.Abs(float64(k[l])-want) > 1e-6 {
				t.Errorf("h=%d: k[%d] = %v, expected %v", h, l, k[l], want)
			}
		}
	}
}
