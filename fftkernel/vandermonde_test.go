package fftkernel

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// truth is the definition in complex128, each power from an angle reduced in float64.
func truth(logLambda, w []complex128, length int) []float64 {
	k := make([]float64, length)
	for n, l := range logLambda {
		for i := range k {
			k[i] += 2 * real(w[n]*cmplx.Exp(complex(float64(i), 0)*l))
		}
	}
	return k
}

// randomPoles draws modes angles over [0, π) with decay ξ/2 and complex normal weights.
func randomPoles(modes int, xi float64, stream int) (logLambda, w []complex128) {
	r := random.New(3, random.Poles, 0, stream)
	for n := range modes {
		i := uint64(4 * n)
		logLambda = append(logLambda, complex(-xi/2, math.Pi*r.Float64(i)))
		w = append(w, complex(r.Normal(i+1), r.Normal(i+2)))
	}
	return logLambda, w
}

// maxError returns the largest error over the largest value of want, which may go on past got.
func maxError(got []float32, want []float64) float64 {
	worst, largest := 0.0, 0.0
	for i, v := range want {
		if i < len(got) {
			worst = max(worst, math.Abs(float64(got[i])-v))
		}
		largest = max(largest, math.Abs(v))
	}
	return worst / largest
}

func TestKernelAccuracy(t *testing.T) {
	lengths := []int{1, 2, 3, 17, 1000, 1024, 4096, 16384}
	if !testing.Short() {
		lengths = append(lengths, 1<<17, 1<<20)
	}
	for _, length := range lengths {
		for _, xi := range []float64{0, 1e-4, 1e-2, 0.1, 2} {
			modes := 32
			if length > 1<<16 {
				modes = 4
			}
			logLambda, w := randomPoles(modes, xi, 1)
			v := NewVandermonde(modes, length)
			k := dirty(length)
			v.Kernel(k, logLambda, w, dirty(v.ScratchLen()))
			e := maxError(k, truth(logLambda, w, max(length, 1024)))
			if length >= 1024 {
				t.Logf("L=%d ξ=%g: %.3g", length, xi, e)
			}
			if !(e <= 1e-6) {
				t.Errorf("L=%d ξ=%g: max error %.3g of the maximum, want at most 1e-6", length, xi, e)
			}
		}
	}
}

// Poles that decay at once leave exact zeros, not denormals or NaNs.
func TestKernelUnderflow(t *testing.T) {
	v := NewVandermonde(2, 300)
	k := dirty(300)
	v.Kernel(k, []complex128{complex(-1300, 1), complex(math.Inf(-1), 0)}, []complex128{1, 1}, dirty(v.ScratchLen()))
	for l, got := range k {
		if want := map[bool]float32{true: 4}[l == 0]; got != want {
			t.Fatalf("k[%d] = %v, want %v", l, got, want)
		}
	}
}

func TestKernelGrad(t *testing.T) {
	for _, length := range []int{1, 2, 5, 100, 1024, 5000} {
		for _, xi := range []float64{0, 1e-3, 0.5} {
			logLambda, _ := randomPoles(6, xi, 2)
			dk := noise(length, 5)
			v := NewVandermonde(6, length)
			g, m := make([]complex128, 6), make([]complex128, 6)
			v.Grad(g, m, dk, logLambda, dirty(v.ScratchLen()))
			for n, l := range logLambda {
				var wantG, wantM complex128
				var termsG, termsM float64
				for i, d := range dk {
					p := complex(float64(d), 0) * cmplx.Exp(complex(float64(i), 0)*l)
					wantG += p
					wantM += complex(float64(i), 0) * p
					termsG += cmplx.Abs(p) * cmplx.Abs(p)
					termsM += cmplx.Abs(p) * cmplx.Abs(p) * float64(i) * float64(i)
				}
				if e := cmplx.Abs(g[n]-wantG) / math.Sqrt(termsG); !(e < 1e-6) {
					t.Errorf("L=%d ξ=%g mode %d: G off by %.3g", length, xi, n, e)
				}
				if e := cmplx.Abs(m[n]-wantM) / (math.Sqrt(termsM) + 1e-30); !(e < 1e-6) {
					t.Errorf("L=%d ξ=%g mode %d: M off by %.3g", length, xi, n, e)
				}
			}
		}
	}
}

// The kernels of spec §2.8: M = 4, A = −½+iπn, dt = 0.05, B = 1.
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
				t.Errorf("%s: k[%d] = %v, want %v", tt.name, l, k[l], want)
			}
		}
	}
}

// DFouT, spec §2.8 G2: N = 8, H = 2, ξ = 0.1, both input scales.
func TestSpecKernelsDFouT(t *testing.T) {
	c := []complex128{1, 0.5i, complex(-0.25, 0.25), complex(0.1, -0.3)}
	one := [2][]float64{
		{1.7, 1.023271670833892, 0.814353676232364, 2.030047451712342, 1.064349979001377, 1.498618363549017},
		{1.7, 0.664068134053673, 1.023706678663286, 1.166468701140593, -0.081873075307798, 0.702059666683462},
	}
	zohOne := [2][]float64{
		{1.45119749967775, 0.719708277169767, 1.495575547704077, 1.684681739516563, 0.989458498355402, 2.442750916467203},
		{1.257985969119052, 0.577834409025228, 1.419210713001652, 0.308790822564394, 0.450869805865156, -0.497461945466701},
	}
	for h := range 2 {
		var logLambda, zoh []complex128
		for n, cn := range c {
			a := complex(-0.05, 2*math.Pi*(float64(n)/8+float64(h)/16))
			logLambda, zoh = append(logLambda, a), append(zoh, cn*(cmplx.Exp(a)-1)/a)
		}
		v := NewVandermonde(4, 6)
		for name, tt := range map[string]struct {
			w    []complex128
			want []float64
		}{"one": {c, one[h]}, "zoh-1": {zoh, zohOne[h]}} {
			k := dirty(6)
			v.Kernel(k, logLambda, tt.w, dirty(v.ScratchLen()))
			for l, want := range tt.want {
				if math.Abs(float64(k[l])-want) > 1e-6 {
					t.Errorf("h=%d %s: k[%d] = %v, want %v", h, name, l, k[l], want)
				}
			}
		}
	}
}

func BenchmarkVandermonde(b *testing.B) {
	for _, length := range []int{1024, 16384} {
		logLambda, w := randomPoles(32, 0.01, 1)
		v := NewVandermonde(32, length)
		k, scratch := make([]float32, length), make([]float32, v.ScratchLen())
		g, m := make([]complex128, 32), make([]complex128, 32)
		b.Run(fmt.Sprintf("kernel/M=32/L=%d/level=generic", length), func(b *testing.B) {
			for b.Loop() {
				v.Kernel(k, logLambda, w, scratch)
			}
		})
		b.Run(fmt.Sprintf("grad/M=32/L=%d/level=generic", length), func(b *testing.B) {
			for b.Loop() {
				v.Grad(g, m, k, logLambda, scratch)
			}
		})
	}
}
