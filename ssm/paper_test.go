package ssm

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// undamped returns SSMs whose poles have no damping, with the step Δ = 2/delay.
func undamped(t *testing.T, init Init, h, n int, delay float64) *Params {
	t.Helper()
	cfg := config(init, h, n)
	cfg.AReal, cfg.DtMin, cfg.DtMax = 0, 2/delay, 2/delay
	return mustNew(t, cfg, 1, 0)
}

// kernelOf returns the first row of the kernel whose weights W = C·B̄ are w(n).
func kernelOf(p *Params, length int, w func(n int) complex128) []float64 {
	for n, b := range p.Discretize(ZOH, 1).BBar[:p.Modes()] {
		p.C[n] = w(n) / b
	}
	return p.Discretize(ZOH, 1).Kernel(length)[0]
}

func near(t *testing.T, got, want, tol float64, what string, at ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf(what+" = %v, expected %v ± %.1e", append(at, got, want, tol)...)
	}
}

// Proposition 1 of the paper: with Δ = 2/τ, Re λ = 0 and C·B̄ = 1, the kernel of S4D-Lin is 2M at τ
// and smaller in between (docs/maths.md §16.1).
func TestProposition1(t *testing.T) {
	for _, tau := range []int{7, 100, 1000} {
		for _, modes := range []int{2, 3, tau / 2} {
			peak, p := 2*float64(modes), undamped(t, Lin, 1, 2*modes, float64(tau))
			k := kernelOf(p, 3*tau+1, func(int) complex128 { return 1 })
			for l, got := range k {
				if l%tau == 0 { // the paper excludes 0 and the multiples of τ, where the kernel is as large
					near(t, got, peak, 5e-15*float64(modes*tau), "τ = %d, M = %d: K[%d]", tau, modes, l)
					continue
				}
				half := math.Pi * float64(l%tau) / float64(tau)
				near(t, got, 1+math.Sin((peak-1)*half)/math.Sin(half), 5e-15*float64(modes*tau), "τ = %d, M = %d: K[%d]", tau, modes, l)
				if math.Abs(got) >= k[tau] {
					t.Errorf("τ = %d, M = %d: K[%d] = %v, expected less than K[τ] = %v", tau, modes, l, got, k[tau])
				}
			}
		}
	}
}

// The peak moves to s if C·B̄ = λ̄^{−s}, and to ⅔τ if Δ = 3/τ.
func TestProposition1Elsewhere(t *testing.T) {
	const tau, modes, s = 60, 8, 25
	p := undamped(t, Lin, 1, 2*modes, tau)
	lambda := p.Discretize(ZOH, 1).LogLambda
	k := kernelOf(p, tau, func(n int) complex128 { return cmplx.Exp(-s * lambda[n]) })
	must.Equal(t, largest(k), s, "peak of the shifted kernel")
	near(t, k[s], 2*modes, 1e-12, "K[s]")
	k = kernelOf(undamped(t, Lin, 1, 2*modes, tau/1.5), tau+1, func(int) complex128 { return 1 })
	must.Equal(t, largest(k[1:])+1, 40, "peak with Δ = 3/τ")
	if math.Abs(k[tau]) > 1 {
		t.Errorf("with Δ = 3/τ, K[τ] = %v, expected no peak", k[tau])
	}
}

// largest returns the index of the largest |x|.
func largest(x []float64) (at int) {
	for i, v := range x {
		if math.Abs(v) > math.Abs(x[at]) {
			at = i
		}
	}
	return at
}

// The B̄ of zero-order hold, which the proposition leaves out, moves the peak by half a sample: with
// C = 1 the kernel has equal values at τ − 1 and τ, and smaller ones before.
func TestProposition1WithHold(t *testing.T) {
	const tau, modes = 100, 8
	p := undamped(t, Lin, 1, 2*modes, tau)
	for n := range p.C {
		p.C[n] = 1
	}
	k := p.Discretize(ZOH, 1).Kernel(tau + 1)[0]
	near(t, k[tau-1], k[tau], 1e-13, "K[τ−1]")
	for l, v := range k[1 : tau-1] {
		if math.Abs(v) >= k[tau] {
			t.Errorf("K[%d] = %v, expected less than K[τ] = %v", 1+l, v, k[tau])
		}
	}
}

// The proof of Proposition 1: over τ samples the modes are orthogonal, VᴴV = τI. One sample more,
// as in the paper, adds 1 to every element.
func TestProposition1Orthogonal(t *testing.T) {
	const tau, modes = 50, 20
	lambda := undamped(t, Lin, 1, 2*modes, tau).Discretize(ZOH, 1).LogLambda
	for m := range modes {
		for n := range modes {
			var sum complex128
			for l := range tau {
				sum += cmplx.Exp(complex(float64(l), 0) * (cmplx.Conj(lambda[m]) + lambda[n]))
			}
			want := 0i
			if m == n {
				want = tau
			}
			last := cmplx.Exp(tau * (cmplx.Conj(lambda[m]) + lambda[n]))
			if cmplx.Abs(sum-want) > 1e-11 || cmplx.Abs(last-1) > 1e-12 {
				t.Errorf("⟨%d, %d⟩ = %v, expected %v; sample τ adds %v, expected 1", m, n, sum, want, last)
			}
		}
	}
}

// The map from C to the kernel 2·Re(VC), which the paper's proof replaces by VC, has the squared
// singular values 2τ, 4τ and 0 (docs/maths.md §16.1). So each step of gradient descent of length
// 1/(3τ) multiplies the error by ±⅓: |1 − 2/3| = |1 − 4/3| = ⅓.
func TestProposition1Descent(t *testing.T) {
	const tau = 60
	for _, modes := range []int{2, 20, 30, 31, 45, 59} {
		lambda := undamped(t, Lin, 1, 2*modes, tau).Discretize(ZOH, 1).LogLambda
		r, c, errorOf := rand.New(rand.NewPCG(3, 4)), make([]complex128, modes), make([]float64, tau)
		for n := range c {
			c[n] = complex(r.NormFloat64(), r.NormFloat64())
		}
		size := func() (sum float64) {
			clear(errorOf)
			for l := range errorOf {
				for n := range c {
					errorOf[l] += 2 * real(c[n]*cmplx.Exp(complex(float64(l), 0)*lambda[n]))
				}
				sum += errorOf[l] * errorOf[l]
			}
			return math.Sqrt(sum)
		}
		for start, step := size(), 0; step < 5; step++ { // to the target 0
			near(t, size(), start*math.Pow(3, -float64(step)), 1e-11*start, "M = %d, step %d: error", modes, step)
			for n := range c {
				for l, e := range errorOf {
					c[n] -= complex(2*e/(3*tau), 0) * cmplx.Exp(complex(-float64(l), 0)*lambda[n])
				}
			}
		}
	}
}

// Lemma 1 of the paper: no two frequencies alias if |Δ·Im λ| < π for all of them. Two discrete
// poles are equal exactly if their frequencies differ by a multiple of 2π/Δ. So the condition is
// not necessary: S4D-Lin with Δ = 0.09 does not meet it, and has no equal poles.
func TestLemma1(t *testing.T) {
	const step = 0.09
	turns := []float64{-1.75, -0.5, 0, 0.25, 0.875, 1.5, 2, 2.25, 4.25} // frequencies in units of π/Δ
	cfg := config(Lin, 1, 2*len(turns))
	cfg.DtMin, cfg.DtMax = step, step
	p := mustNew(t, cfg, 1, 0)
	for n, f := range turns {
		p.Freq[n] = f * math.Pi / step
	}
	poles := p.Discretize(ZOH, 1).LogLambda
	for n, f := range turns {
		for m, g := range turns[:n] {
			apart := cmplx.Abs(cmplx.Exp(poles[n]) - cmplx.Exp(poles[m]))
			near(t, apart, 2*math.Exp(-step/2)*math.Abs(math.Sin(math.Pi*(f-g)/2)), 1e-14, "distance of the poles at %vπ/Δ and %vπ/Δ", f, g)
			same := apart < 1e-14
			must.Equal(t, same, math.Mod(f-g, 2) == 0, "frequencies %vπ/Δ and %vπ/Δ: equal poles", f, g)
			if same && math.Abs(f) < 1 && math.Abs(g) < 1 {
				t.Errorf("frequencies %vπ/Δ and %vπ/Δ, both below π/Δ, have equal poles", f, g)
			}
		}
	}

	cfg.DState = 64
	d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
	must.Equal(t, *must.Get(mustNew(t, cfg, 1, 0).Analyze())(t).Aliased, 20, "modes with |Δ·Im λ| ≥ π")
	for n, a := range d.LogLambda {
		for m, b := range d.LogLambda[:n] {
			// 1.98π is the multiple of Δπ that is closest to a multiple of 2π
			a, b := cmplx.Exp(a), cmplx.Exp(b)
			if least := math.Exp(-step/2) * math.Sin(0.01*math.Pi); cmplx.Abs(a-b) < least || cmplx.Abs(a-cmplx.Conj(b)) < least {
				t.Errorf("modes %d and %d of S4D-Lin have the poles %v and %v, expected different frequencies", n, m, a, b)
			}
		}
	}
}

// states returns every state h_n[l] of all SSMs for one input, [l][H·M], with B̄ = 1.
func states(d *Discrete, x []float64) [][]complex128 {
	all := make([][]complex128, len(x))
	h := make([]complex128, len(d.LogLambda))
	for l, v := range x {
		for i := range h {
			h[i] = cmplx.Exp(d.LogLambda[i])*h[i] + complex(v, 0)
		}
		all[l] = append([]complex128{}, h...)
	}
	return all
}

// binOf returns Σ_j w[j]·e^{2πi·k·j/n}, the DFT of n points with positive exponent, at bin k.
func binOf(w []float64, k, n int) (sum complex128) {
	for j, v := range w {
		sum += cmplx.Rect(v, 2*math.Pi*float64(k*j%n)/float64(n))
	}
	return sum
}

func noise(n int) []float64 {
	r, x := rand.New(rand.NewPCG(1, 2)), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// Without damping, with B̄ = 1, the states of a layer with DFouT are the bins of the DFT of N·H
// points: mode n of SSM h is bin nH + h (docs/maths.md §16.2).
func TestDFTLimit(t *testing.T) {
	const h, n, points = 3, 8, 3 * 8
	for init, modes := range map[Init]int{DFouT: n / 2, DFouTHalf: n/2 + 1} {
		cfg := config(init, h, n)
		cfg.AReal = 0
		x := noise(3 * points)
		all := states(mustNew(t, cfg, 1, 0).Discretize(ZOH, 1), x)
		for c := range h {
			for m := range modes {
				bin := m*h + c
				at := func(l int) complex128 { return all[l][c*modes+m] }
				// The input's DFT, with negative exponent, rotated by the bin's angle per sample.
				for _, l := range []int{0, 5, points - 1} {
					want := cmplx.Conj(binOf(x[:l+1], bin, points)) * cmplx.Rect(1, 2*math.Pi*float64(bin*l)/points)
					if cmplx.Abs(at(l)-want) > 1e-12 {
						t.Errorf("%s: bin %d after %d samples: %v, expected %v", init, bin, l+1, at(l), want)
					}
				}
				// Later samples add to those N·H before them; the difference of two states is the
				// DFT of the last N·H samples.
				for _, l := range []int{points, 2*points + 7, 3*points - 1} {
					folded, window := make([]float64, points), make([]float64, points)
					for back := range l + 1 {
						folded[back%points] += x[l-back]
					}
					for back := range points {
						window[back] = x[l-back]
					}
					if want := binOf(folded, bin, points); cmplx.Abs(at(l)-want) > 1e-12 {
						t.Errorf("%s: bin %d after %d samples: %v, expected %v", init, bin, l+1, at(l), want)
					}
					if want, got := binOf(window, bin, points), at(l)-at(l-points); cmplx.Abs(got-want) > 1e-12 {
						t.Errorf("%s: bin %d of the last %d samples: %v, expected %v", init, bin, points, got, want)
					}
				}
			}
		}
	}
}

// A layer of DFouT with fixed poles on the circle delays by any τ < P = NH, up to 1/P at each tap,
// and with the bin P/2 of dfout-half exactly. With equal angles the kernel has the period N
// (docs/maths.md §16.3). The last row has the sizes of the Delay task.
func TestLayerDelays(t *testing.T) {
	for _, row := range []struct{ h, n, tau, length int }{{1, 16, 5, 16}, {3, 8, 0, 24}, {3, 8, 23, 60}, {4, 1024, 1000, 4000}} {
		points := row.h * row.n
		for init, nyquist := range map[Init]float64{DFouT: 1, DFouTHalf: 0, DFouTSingle: 1} {
			cfg := config(init, row.h, row.n)
			cfg.AReal, cfg.XiMin, cfg.XiMax = 0, 0.003, 0.003
			p := mustNew(t, cfg, 1, 0)
			d := p.Discretize(ZOH, 1)
			for i, a := range d.LogLambda {
				w := cmplx.Rect(1/float64(points), -imag(a)*float64(row.tau))
				switch bin := i%d.M*row.h + i/d.M; {
				case bin == 0 || bin == points/2:
					w /= 2
				case bin > points/2: // the conjugate of another SSM's
					w = 0
				}
				p.C[i] = w / d.BBar[i]
			}
			sum := make([]float64, row.length)
			for _, k := range p.Discretize(ZOH, 1).Kernel(row.length) {
				for l, v := range k {
					sum[l] += v
				}
			}
			for l, got := range sum {
				if init == DFouTSingle {
					near(t, got, sum[l%row.n], 1e-11, "%v, %s: K[%d]", row, init, l)
					continue
				}
				want := -nyquist * math.Cos(math.Pi*float64(l-row.tau)) / float64(points)
				if (l-row.tau)%points == 0 {
					want++
				}
				near(t, got, want, 1e-11, "%v, %s: K[%d]", row, init, l)
			}
		}
	}
}

// With damping, the sample at distance j has the weight e^{−ξj/2}, the same in all bins of an SSM.
func TestDampedDFT(t *testing.T) {
	const h, n, points = 3, 8, 3 * 8
	cfg := config(DFouT, h, n)
	cfg.XiMin = 0.05
	p := mustNew(t, cfg, 1, 0)
	x := noise(2 * points)
	last := states(p.Discretize(ZOH, 1), x)[len(x)-1]
	for c := range h {
		xi := math.Exp(p.Step[c])
		weighted := make([]float64, len(x))
		for back := range weighted {
			weighted[back] = x[len(x)-1-back] * math.Exp(-xi*float64(back)/2)
		}
		for m := range n / 2 {
			if got, want := last[c*n/2+m], binOf(weighted, m*h+c, points); cmplx.Abs(got-want) > 1e-12 {
				t.Errorf("SSM %d, mode %d: %v, expected %v", c, m, got, want)
			}
		}
	}
}

// The N/2 + 1 modes of dfout-half have any real kernel of N taps: C·B̄ is its DFT divided by N, and
// by 2N at 0 and π. The kernel repeats, and ξ multiplies it by e^{−ξl/2}.
func TestAnyKernel(t *testing.T) {
	const n = 16
	want := noise(n)
	for _, decay := range []float64{0, 0.5} {
		cfg := config(DFouTHalf, 1, n)
		cfg.AReal = decay
		p := mustNew(t, cfg, 1, 0)
		xi := 2 * decay * math.Exp(p.Step[0])
		k := kernelOf(p, 3*n, func(m int) complex128 {
			w := cmplx.Conj(binOf(want, m, n)) / n
			if m == 0 || m == n/2 {
				w /= 2
			}
			return w
		})
		for l, got := range k {
			near(t, got, want[l%n]*math.Exp(-xi*float64(l)/2), 1e-13, "ξ = %.3g: K[%d]", xi, l)
		}
	}
}

// S4D's step multiplies the angles. With the discrete parameters ξ changes only the moduli.
func TestDampingAndAngle(t *testing.T) {
	for param, factor := range map[Param]float64{ParamContinuous: 2, ParamDiscrete: 1} {
		cfg := config(DFouT, 2, 8)
		cfg.Param = param
		p := mustNew(t, cfg, 1, 0)
		before := p.Discretize(ZOH, 1).LogLambda
		for c := range p.Step {
			p.Step[c] += math.Ln2
		}
		for i, after := range p.Discretize(ZOH, 1).LogLambda {
			near(t, real(after), 2*real(before[i]), 1e-15, "%s: ln |λ̄_%d|", param, i)
			near(t, imag(after), factor*imag(before[i]), 1e-14, "%s: angle of λ̄_%d", param, i)
		}
	}
}

// ‖y‖² ≤ ‖H‖∞²·‖x‖², which a sinusoid at the peak of |H| nearly reaches. Without the square, as the
// paper writes it, the bound fails (docs/maths.md §8).
func TestHInfBound(t *testing.T) {
	cfg := config(DFouT, 1, 8)
	cfg.XiMin = 0.05
	d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
	const length = 2000
	k, peak := d.Kernel(length)[0], d.HInf(0)
	gain := func(x []float64) float64 {
		var in, out float64
		for l := range x {
			var y float64
			for j := range l + 1 {
				y += k[j] * x[l-j]
			}
			in, out = in+x[l]*x[l], out+y*y
		}
		return out / in
	}
	sine := make([]float64, length)
	for l := range sine {
		sine[l] = math.Sin(peak.Theta * float64(l))
	}
	bound := peak.Gain * peak.Gain
	if g := gain(sine); g > bound || g < 0.9*bound || g <= peak.Gain {
		t.Errorf("a sinusoid at the peak: gain %v of the energy, expected 0.9 to 1 times %v, and more than %v", g, bound, peak.Gain)
	}
	if g := gain(noise(length)); g > bound {
		t.Errorf("white noise: gain %v of the energy, expected at most %v", g, bound)
	}
}
