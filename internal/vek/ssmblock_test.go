package vek_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// channel is one channel's constants and state.
type channel struct {
	hRe, hIm, lamRe, lamIm, cRe, cIm []float32
	d                                float32
}

// newChannel draws a channel of m modes, |λ| between 0.4 and 1.
func newChannel(r *rand.Rand, m int) channel {
	c := channel{hRe: normals(r, m), hIm: normals(r, m), cRe: normals(r, m), cIm: normals(r, m), d: float32(r.NormFloat64())}
	for range m {
		lam := cmplx.Exp(complex(-0.9*r.Float64()*r.Float64(), 6*r.Float64()))
		c.lamRe, c.lamIm = append(c.lamRe, float32(real(lam))), append(c.lamIm, float32(imag(lam)))
	}
	return c
}

// clone returns a channel with a state of its own.
func (c channel) clone() channel {
	c.hRe, c.hIm = append([]float32(nil), c.hRe...), append([]float32(nil), c.hIm...)
	return c
}

func (c channel) run(y, x []float32) {
	vek.SSMBlock(y, x, c.hRe, c.hIm, c.lamRe, c.lamIm, c.cRe, c.cIm, c.d)
}

// truth runs the recursion in complex128. size bounds the terms that a value sums up, rounding by rounding.
func (c channel) truth(x []float32) (y []near, re, im []near) {
	m := len(c.hRe)
	h, size := make([]complex128, m), make([]float64, m)
	for n := range h {
		h[n] = complex(float64(c.hRe[n]), float64(c.hIm[n]))
		size[n] = cmplx.Abs(h[n])
	}
	for _, u := range x {
		out := near{n: m}
		out.add(float64(c.d) * float64(u))
		for n := range h {
			lam := complex(float64(c.lamRe[n]), float64(c.lamIm[n]))
			h[n] = lam*h[n] + complex(float64(u), 0)
			// Every step adds four roundings of |h|; the bound of a sum counts them all.
			size[n] = size[n]*cmplx.Abs(lam) + math.Abs(float64(u)) + cmplx.Abs(h[n])/2
			w := complex(float64(c.cRe[n]), float64(c.cIm[n]))
			out.value += 2 * real(w*h[n])
			out.size += 2 * cmplx.Abs(w) * size[n]
		}
		y = append(y, out)
	}
	for n := range h {
		re = append(re, near{real(h[n]), size[n], 1})
		im = append(im, near{imag(h[n]), size[n], 1})
	}
	return y, re, im
}

func (c channel) check(t *testing.T, call *vektest.Call, x []float32, alias bool) {
	t.Helper()
	want, re, im := c.truth(x)
	call.Again()
	var in, y []float32
	if alias {
		in = call.InOut(x)
		y = in
	} else {
		in, y = call.In(x), call.Out(len(x))
	}
	hRe, hIm := call.InOut(c.hRe), call.InOut(c.hIm)
	lamRe, lamIm, cRe, cIm := call.In(c.lamRe), call.In(c.lamIm), call.In(c.cRe), call.In(c.cIm)
	call.Do(func() { vek.SSMBlock(y, in, hRe, hIm, lamRe, lamIm, cRe, cIm, c.d) })
	for i := range want {
		want[i].check(t, y[i], "M=%d, %d samples: y[%d]", len(hRe), len(x), i)
	}
	for n := range re {
		re[n].check(t, hRe[n], "M=%d, %d samples: re h[%d]", len(hRe), len(x), n)
		im[n].check(t, hIm[n], "M=%d, %d samples: im h[%d]", len(hRe), len(x), n)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestSSMBlock(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, call *vektest.Call) {
		r := generator(1)
		for _, m := range []int{0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33} {
			for _, n := range []int{0, 1, 2, 3, 16, 17, 63, 64, 65, 200} {
				newChannel(r, m).check(t, call, normals(r, n), n%2 == 1)
			}
		}
	})
}

// Any split of the input gives the same outputs and state, bit for bit.
func TestSSMBlockSplits(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(2)
		for _, m := range []int{1, 2, 5, 16, 31, 32} {
			x := normals(r, 333)
			whole := newChannel(r, m)
			want := make([]float32, len(x))
			start := whole.clone()
			whole.run(want, x)
			for _, widest := range []int{1, 2, 40, 100, 300} {
				parts, got := start.clone(), make([]float32, len(x))
				for i := 0; i < len(x); {
					w := min(1+r.IntN(widest), len(x)-i)
					parts.run(got[i:i+w], x[i:i+w])
					i += w
				}
				sameBits(t, "y", got, want)
				sameBits(t, "re h", parts.hRe, whole.hRe)
				sameBits(t, "im h", parts.hIm, whole.hIm)
			}
		}
	})
}

// In silence a state fades to exactly 0 and never is a denormal number.
func TestSSMBlockFlushesState(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, m := range []int{1, 2, 3, 16, 33} {
			c := newChannel(generator(3), m)
			for n := range m {
				c.lamRe[n], c.lamIm[n] = 0.4, -0.3 // halves the state
			}
			silence, y := make([]float32, 10), make([]float32, 10)
			for range 30 {
				c.run(y, silence)
				for n, v := range append(append([]float32(nil), c.hRe...), c.hIm...) {
					if v != 0 && math.Abs(float64(v)) < 1e-30 {
						t.Fatalf("M=%d: part %d of the state is %v, want 0", m, n, v)
					}
				}
			}
			for n := range m {
				if c.hRe[n] != 0 || c.hIm[n] != 0 {
					t.Errorf("M=%d: h[%d] = %v + %vi after 300 halvings", m, n, c.hRe[n], c.hIm[n])
				}
			}
		}
	})
}

// A part of a state that dies alone becomes 0 as well: beside a real pole's driven real part, say, an imaginary part
// left over from before.
func TestSSMBlockFlushesParts(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c := newChannel(generator(4), 5)
		for n := range c.lamRe {
			c.lamRe[n], c.lamIm[n] = 0.9, 0
		}
		x := normals(generator(5), 1000)
		c.run(make([]float32, len(x)), x)
		for n := range c.hIm {
			if c.hIm[n] != 0 || c.hRe[n] == 0 {
				t.Errorf("h[%d] = %v + %vi, want a real number", n, c.hRe[n], c.hIm[n])
			}
		}
	})
}

// The samples in which states pass the range of denormal numbers take no longer than loud ones. Denormals would cost
// tens of times as much, so a wide margin is enough.
func TestSSMBlockSpeedOfSilence(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		start := newChannel(generator(6), 32)
		for n := range start.lamRe {
			start.lamRe[n], start.lamIm[n] = 0.9*start.lamRe[n], 0.9*start.lamIm[n]
		}
		noise, y := normals(generator(7), 4096), make([]float32, 4096)
		quickest := func(x []float32) time.Duration {
			best := time.Hour
			for range 20 {
				c, begin := start.clone(), time.Now()
				c.run(y, x)
				best = min(best, time.Since(begin))
			}
			return best
		}
		if loud, silent := quickest(noise), quickest(make([]float32, len(noise))); silent > 4*loud {
			t.Errorf("%d samples of silence take %v, of noise %v", len(noise), silent, loud)
		}
	})
}

func FuzzSSMBlock(f *testing.F) {
	f.Add(uint64(1), uint8(1), uint16(1), uint8(0), false)
	f.Add(uint64(2), uint8(32), uint16(129), uint8(5), true)
	f.Fuzz(func(t *testing.T, seed uint64, m uint8, n uint16, place uint8, alias bool) {
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			call, r := vektest.NewCall(t), generator(seed)
			call.Begin(vektest.Placements()[place%17])
			newChannel(r, int(m%70)).check(t, call, normals(r, int(n%300)), alias)
		})
	})
}
