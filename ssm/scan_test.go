package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

func scanConfig(layer Layer, h, n int) Config {
	c := Config{Layer: layer, DModel: h, DState: n, Init: LegS, Disc: ZOH, DtMin: 1e-3, DtMax: 0.1}
	if layer == LayerLRU {
		c.Init = Ring
	}
	return c
}

// The gradients equal central differences of Σ Re(conj(g)·X) over X = λ̄ and B̄.
func TestScanGradients(t *testing.T) {
	bilinear, clipped, silent := scanConfig(LayerS5, 3, 8), scanConfig(LayerS5, 3, 8), scanConfig(LayerS5, 3, 8)
	bilinear.Disc, clipped.ClipEigs, silent.Bandlimit = Bilinear, true, 0.1
	lru, limited := scanConfig(LayerLRU, 3, 5), scanConfig(LayerLRU, 3, 5)
	limited.Bandlimit = 1
	for i, cfg := range []Config{scanConfig(LayerS5, 3, 8), bilinear, clipped, lru, silent, limited} {
		p := mustNew(t, cfg, 3, 0)
		if cfg.ClipEigs {
			p.Decay[1] = 0.3
		}
		draw := random.New(uint64(i), random.Signal, 0, 0)
		g, s, grad := NewScan(cfg), NewScan(cfg), NewParams(cfg)
		drawComplex(g.Lambda, draw, 0, 1)
		drawComplex(g.BBar, draw, 1000, 1)
		loss := func() (sum float64) {
			p.DiscretizeScan(s, 1, 0, cfg.Modes())
			for n, v := range s.Lambda {
				sum += real(cmplx.Conj(g.Lambda[n]) * v)
			}
			for n, v := range s.BBar {
				sum += real(cmplx.Conj(g.BBar[n]) * v)
			}
			return sum
		}
		check := func(name string, n int, got float64, move func(float64)) {
			if want := difference(loss, move); !(math.Abs(got-want) <= 1e-8*(1+math.Abs(want))) {
				t.Errorf("%s %s: gradient of %s[%d] is %v, expected %v", cfg.Layer, cfg.Disc, name, n, got, want)
			}
		}
		p.BackwardScan(grad, g, 0, cfg.Modes())
		for n := range p.Freq {
			check("Decay", n, grad.Decay[n], func(d float64) { p.Decay[n] += d })
			check("Freq", n, grad.Freq[n], func(d float64) { p.Freq[n] += d })
			if cfg.Layer == LayerLRU {
				check("Gamma", n, grad.Gamma[n], func(d float64) { p.Gamma[n] += d })
			} else {
				check("Step", n, grad.Step[n], func(d float64) { p.Step[n] += d })
			}
		}
		for n := range p.B {
			check("Re B", n, real(grad.B[n]), func(d float64) { p.B[n] += complex(d, 0) })
			check("Im B", n, imag(grad.B[n]), func(d float64) { p.B[n] += complex(0, d) })
		}
	}
}

// The columns of V are orthonormal eigenvectors of HiPPO-LegS's normal part.
func TestLegSEigenvectors(t *testing.T) {
	const size = 16
	freq, vectors, err := legSEigenvectors(size)
	must.Do(t, err)
	s := legSAntisymmetric(size)
	for k, v := range vectors {
		for n := range v {
			var got complex128
			for i, x := range v {
				got += complex(s.at(n, i), 0) * x
			}
			if want := complex(0, -freq[k]) * v[n]; cmplx.Abs(got-want) > 1e-12*freq[0] {
				t.Errorf("S·v[%d] = %v at %d, expected %v", k, got, n, want)
			}
		}
		for j, w := range vectors {
			var product complex128
			for n := range v {
				product += cmplx.Conj(w[n]) * v[n]
			}
			want := complex128(0)
			if j == k {
				want = 1
			}
			if cmplx.Abs(product-want) > 1e-12 {
				t.Errorf("v[%d]*·v[%d] = %v, expected %v", j, k, product, want)
			}
		}
	}
}

// checkVariance fails if the mean of |x|² is not near want, for independent parts.
func checkVariance(t *testing.T, what string, x []complex128, want float64) {
	t.Helper()
	sum := 0.0
	for _, v := range x {
		sum += real(v)*real(v) + imag(v)*imag(v)
	}
	if got := sum / float64(len(x)); math.Abs(got-want) > 5*want/math.Sqrt(float64(len(x))) {
		t.Errorf("%s: E|x|² = %v, expected %v", what, got, want)
	}
}

// V has orthonormal columns, so the variance of B and C is that of B₀ and of both parts of C₀.
func TestScanVariances(t *testing.T) {
	const h, n = 96, 64
	for init, want := range map[CInit]float64{"": 2. / n, CTruncStandardNormal: 2. / n, CLecunNormal: 2. / (n * h), CComplexNormal: 1} {
		cfg := scanConfig(LayerS5, h, n)
		cfg.CInit, cfg.Blocks, cfg.Bidirectional = init, 4, true
		p := mustNew(t, cfg, 5, 0)
		checkVariance(t, "S5: B", p.B, 1./n)
		checkVariance(t, fmt.Sprintf("S5: C, c_init %q", init), p.C, want)
		if p.C[0] == p.C[len(p.C)/2] {
			t.Errorf("c_init %q: both directions have the same C", init)
		}
	}
	p := mustNew(t, scanConfig(LayerLRU, h, n), 5, 0)
	checkVariance(t, "LRU: B", p.B, 1./h)
	checkVariance(t, "LRU: C", p.C, 2./n)
}

// The poles of an LRU are uniform in the ring, and e^γ = √(1 − |λ̄|²).
func TestRing(t *testing.T) {
	for _, ring := range [][3]float64{{0, 0, 0}, {0, 1, 6.28}, {0.5, 0.9, 6.28}, {0.999, 0.9999, 0.314}} {
		cfg := scanConfig(LayerLRU, 2, 4000)
		cfg.RMin, cfg.RMax, cfg.MaxPhase = ring[0], ring[1], ring[2]
		p, s := mustNew(t, cfg, 2, 1), NewScan(cfg)
		p.DiscretizeScan(s, 1, 0, cfg.Modes())
		rMax, phase := ring[1], ring[2]
		if rMax == 0 {
			rMax, phase = 1, 6.28
		}
		var squares, angles float64
		for n, lambda := range s.Lambda {
			r := cmplx.Abs(lambda)
			if r < ring[0]-1e-15 || r > rMax {
				t.Fatalf("ring %v: |λ̄[%d]| = %v", ring, n, r)
			}
			if got, want := math.Exp(2*p.Gamma[n]), 1-r*r; math.Abs(got-want) > 1e-12 {
				t.Fatalf("ring %v: e^2γ = %v, expected %v", ring, got, want)
			}
			squares += (r*r - ring[0]*ring[0]) / (rMax*rMax - ring[0]*ring[0]) / 4000
			angles += math.Exp(p.Freq[n]) / phase / 4000
		}
		if math.Abs(squares-0.5) > 0.03 || math.Abs(angles-0.5) > 0.03 {
			t.Errorf("ring %v: mean %v of |λ̄|² and %v of the angles in their ranges, expected 0.5", ring, squares, angles)
		}
	}
}

func TestTruncatedNormal(t *testing.T) {
	const n = 200_000
	draw := random.New(1, random.Signal, 0, 0)
	sum, largest := 0.0, 0.0
	for i := range uint64(n) {
		x := truncatedNormal(draw, i)
		sum, largest = sum+x*x, max(largest, math.Abs(x))
	}
	if got := sum * truncatedUnit * truncatedUnit / n; math.Abs(got-1) > 0.01 {
		t.Errorf("variance %v, expected 1", got)
	}
	if largest > 2 || largest < 1.99 {
		t.Errorf("largest of the values is %v, expected nearly 2", largest)
	}
}
