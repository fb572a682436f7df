package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

const lanes = vek.FFTLanes

// root returns exp(−2πi·j/n) in float64, with the angle reduced to one turn.
func root(j, n int) complex128 { return rootsOf(n)[j%n] }

// rootsOf returns root(j, n) for all j < n.
func rootsOf(n int) []complex128 {
	if all, ok := roots.Load(n); ok {
		return all.([]complex128)
	}
	all := make([]complex128, n)
	for j := range all {
		all[j] = cmplx.Exp(complex(0, -2*math.Pi*float64(j)/float64(n)))
	}
	roots.Store(n, all)
	return all
}

var roots sync.Map // by n

// complexSum is a sum of complex terms.
type complexSum struct{ re, im near }

func (s *complexSum) add(v complex128) {
	size := math.Sqrt(real(v)*real(v) + imag(v)*imag(v)) // cmplx.Abs takes most of the time of the tests
	s.re.value, s.re.size, s.re.n = s.re.value+real(v), s.re.size+size, s.re.n+1
	s.im.value, s.im.size, s.im.n = s.im.value+imag(v), s.im.size+size, s.im.n+1
}

func checkComplex(t testing.TB, re, im []float32, want []complexSum, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	for i := range want {
		if !want[i].re.check(t, re[i], "%s: re[%d]", what, i) || !want[i].im.check(t, im[i], "%s: im[%d]", what, i) {
			return
		}
	}
}

func complexAt(re, im []float32, i int) complex128 { return complex(float64(re[i]), float64(im[i])) }

// pass is one kind of FFT pass.
type pass struct {
	radix, q, blocks int
	inverse, half    bool
}

func (p pass) String() string {
	return fmt.Sprintf("radix=%d q=%d blocks=%d inverse=%v half=%v", p.radix, p.q, p.blocks, p.inverse, p.half)
}

func (p pass) twiddles() []float32 {
	tw := make([]float32, 2*(p.radix-1)*p.q)
	vek.FFTTwiddles(tw, p.radix, p.q)
	return tw
}

func (p pass) run(re, im, tw []float32) {
	f := vek.NewFFTPass(p.radix, p.q, tw)
	switch {
	case p.half && p.inverse:
		eachPart(&f, func(from, count int) { f.InversePart(re[:len(re)/2], im[:len(im)/2], re, im, from, count) })
	case p.half:
		eachPart(&f, func(from, count int) { f.ForwardPart(re, im, re[:len(re)/2], im[:len(im)/2], from, count) })
	case len(re) > 1<<15 && p.inverse:
		eachPart(&f, func(from, count int) { f.InversePart(nil, nil, re, im, from, count) })
	case len(re) > 1<<15:
		eachPart(&f, func(from, count int) { f.ForwardPart(re, im, nil, nil, from, count) })
	case p.inverse:
		vek.FFTInverse(re, im, nil, nil, vek.AsIs, []vek.FFTPass{f}, 0, nil)
	default:
		vek.FFTForward(re, im, []vek.FFTPass{f}, 0, nil)
	}
}

// eachPart calls run for parts of the butterflies of a pass.
func eachPart(p *vek.FFTPass, run func(from, count int)) {
	for from := 0; from < p.Q(); from += 200 {
		run(from, min(200, p.Q()-from))
	}
}

// truth computes the pass by its definition, term by term.
func (p pass) truth(re, im []float32) []complexSum {
	out := make([]complexSum, len(re))
	n := p.radix * p.q
	twiddle, w := rootsOf(n), rootsOf(p.radix)
	for i := range out {
		vector, lane := i/lanes, i%lanes
		block, k, j := vector/(p.radix*p.q), vector/p.q%p.radix, vector%p.q
		for m := range p.radix {
			at := ((block*p.radix+m)*p.q+j)*lanes + lane
			f := twiddle[j*k%n] * w[m*k%p.radix]
			if p.inverse { // k is the output of the inverse transform, m the input with its twiddle
				f = cmplx.Conj(twiddle[j*m%n] * w[m*k%p.radix])
			}
			if !p.half || p.inverse || m < p.radix/2 {
				out[i].add(f * complexAt(re, im, at))
			}
		}
		out[i].re.n += 4
		out[i].im.n += 4
	}
	return out
}

func (p pass) check(t *testing.T, c *kernelCall, r *rand.Rand) {
	t.Helper()
	n := p.radix * p.q * p.blocks * lanes
	re, im := normals(r, n), normals(r, n)
	want := p.truth(re, im)
	if p.half && !p.inverse {
		for i := n / 2; i < n; i++ { // is not read
			re[i], im[i] = float32(math.NaN()), float32(math.NaN())
		}
	}
	if p.half && p.inverse {
		want = want[:n/2]
	}
	c.Again()
	gotRe, gotIm, tw := c.InOut(re), c.InOut(im), c.In(p.twiddles())
	c.Do(func() { p.run(gotRe, gotIm, tw) })
	checkComplex(t, gotRe, gotIm, want, "%v", p)
	if p.half {
		gotRe, gotIm = p.apart(c, re, im)
		checkComplex(t, gotRe, gotIm, want, "%v, between other arrays", p)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// apart runs a half pass whose shorter arrays are not part of the longer ones.
func (p pass) apart(c *kernelCall, re, im []float32) (gotRe, gotIm []float32) {
	c.Again()
	half, f := len(re)/2, vek.NewFFTPass(p.radix, p.q, c.In(p.twiddles()))
	if p.inverse {
		gotRe, gotIm = c.Out(half), c.Out(half)
		inRe, inIm := c.InOut(re), c.InOut(im)
		c.Do(func() { f.InversePart(gotRe, gotIm, inRe, inIm, 0, p.q) })
		return gotRe, gotIm
	}
	gotRe, gotIm = c.Out(2*half), c.Out(2*half)
	xRe, xIm := c.In(re[:half]), c.In(im[:half])
	c.Do(func() { f.ForwardPart(gotRe, gotIm, xRe, xIm, 0, p.q) })
	return gotRe, gotIm
}

func passes() []pass {
	var all []pass
	for _, radix := range []int{3, 4, 5, 8} {
		for _, q := range []int{1, 2, 3, 4, 5, 8, 9} {
			for _, inverse := range []bool{false, true} {
				for blocks := range 4 {
					all = append(all, pass{radix, q, blocks, inverse, false})
				}
				if radix == 4 || radix == 8 {
					all = append(all, pass{radix, q, 1, inverse, true})
				}
			}
		}
	}
	return all
}

// transform is a full transform of length 16·m: passes with these radices, then the stage over the
// lanes.
type transform struct {
	radices []int
	m       int
	order   []int // the frequency of each vector after the passes
	lanesTw []float32
}

func newTransform(radices ...int) transform {
	x := transform{radices: radices, m: 1, order: []int{0}}
	for i := len(radices) - 1; i >= 0; i-- {
		r := radices[i]
		var order []int
		for k := range r { // output k of the pass holds the frequencies k modulo its radix
			for _, f := range x.order {
				order = append(order, k+r*f)
			}
		}
		x.order, x.m = order, x.m*r
	}
	x.lanesTw = make([]float32, vek.FFTLaneTable*x.m)
	vek.FFTLaneTwiddles(x.lanesTw, x.order)
	return x
}

func (x transform) forward(re, im []float32) {
	vek.FFTForward(re, im, x.passes(), x.last(), x.lanesTw)
}

func (x transform) inverse(re, im []float32) {
	vek.FFTInverse(re, im, nil, nil, vek.AsIs, x.passes(), x.last(), x.lanesTw)
}

// passes returns the passes that the stage over the lanes does not include.
func (x transform) passes() (all []vek.FFTPass) {
	q, radices := x.m, x.radices
	if x.last() > 1 {
		radices = radices[:len(radices)-1]
	}
	for _, radix := range radices {
		q /= radix
		all = append(all, vek.NewFFTPass(radix, q, pass{radix: radix, q: q}.twiddles()))
	}
	return all
}

// last returns the radix of the pass that the stage over the lanes includes, or 1.
func (x transform) last() int {
	if n := len(x.radices); n > 0 && (x.radices[n-1] == 2 || x.radices[n-1] == 4) {
		return x.radices[n-1]
	}
	return 1
}

// place returns the index of frequency order[g] + m·p after a forward transform, which permutes
// groups of vectors.
func (x transform) place(g, p int) int {
	first := g / vek.FFTGroup * vek.FFTGroup
	return first*lanes + (p/4*vek.FFTGroup+g-first)*4 + p%4
}

func transforms() []transform {
	var all []transform
	for _, radices := range [][]int{{4}, {8}, {4, 2}, {4, 3}, {4, 4}, {8, 2}, {5, 4}, {4, 5}, {3, 3, 4}, {8, 3, 2}, {8, 8}, {4, 8, 3}} {
		all = append(all, newTransform(radices...))
	}
	return all
}

// A full transform is the discrete Fourier transform, and its inverse gives n times the input.
func TestFFTTransform(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(2)
		for _, x := range transforms() {
			n := lanes * x.m
			re, im := normals(r, n), normals(r, n)
			gotRe, gotIm := append([]float32(nil), re...), append([]float32(nil), im...)
			x.forward(gotRe, gotIm)
			roots, norm, e := rootsOf(n), 0.0, 0.0
			for g, k := range x.order {
				for p := range lanes {
					want := 0i
					for l := range n {
						want += roots[l*(k+x.m*p)%n] * complexAt(re, im, l)
					}
					got := complexAt(gotRe, gotIm, x.place(g, p))
					norm, e = norm+sq(want), e+sq(got-want)
				}
			}
			if e = math.Sqrt(e / norm); !(e < 3e-7) {
				t.Errorf("radices %v: relative error %.3g forward", x.radices, e)
			}
			x.inverse(gotRe, gotIm)
			e, norm = 0, 0
			for l := range n {
				norm, e = norm+sq(complexAt(re, im, l)), e+sq(complexAt(gotRe, gotIm, l)/complex(float64(n), 0)-complexAt(re, im, l))
			}
			if e = math.Sqrt(e / norm); !(e < 4e-7) {
				t.Errorf("radices %v: relative error %.3g forward and back", x.radices, e)
			}
		}
	})
}

func sq(z complex128) float64 { return real(z)*real(z) + imag(z)*imag(z) }

// checkLanes compares the stage over the lanes with its definition: forward, inverse, and with a
// product. It includes a pass of radix 2 or 4, or none (1).
func checkLanes(t *testing.T, c *kernelCall, r *rand.Rand, radix, m int) {
	t.Helper()
	x := transform{m: m, order: r.Perm(m), lanesTw: make([]float32, vek.FFTLaneTable*m)}
	vek.FFTLaneTwiddles(x.lanesTw, x.order)
	re, im := normals(r, lanes*m), normals(r, lanes*m)
	forward, inverse := make([]complexSum, lanes*m), make([]complexSum, lanes*m)
	for g, k := range x.order {
		for p := range lanes {
			for l := range lanes {
				for v := range radix {
					w := root(l*p, lanes) * root(l*k, lanes*m) * root(v*(g%radix), radix)
					other := (g/radix*radix+v)*lanes + l
					forward[x.place(g, p)].add(w * complexAt(re, im, other))
					inverse[other].add(cmplx.Conj(w) * complexAt(re, im, x.place(g, p)))
				}
			}
		}
	}
	c.Again()
	gotRe, gotIm, tw := c.InOut(re), c.InOut(im), c.In(x.lanesTw)
	c.Do(func() { vek.FFTForward(gotRe, gotIm, nil, radix, tw) })
	checkComplex(t, gotRe, gotIm, forward, "forward, radix %d, m=%d", radix, m)
	c.Again()
	gotRe, gotIm, tw = c.InOut(re), c.InOut(im), c.In(x.lanesTw)
	c.Do(func() { vek.FFTInverse(gotRe, gotIm, nil, nil, vek.AsIs, nil, radix, tw) })
	checkComplex(t, gotRe, gotIm, inverse, "inverse, radix %d, m=%d", radix, m)
	checkLanesMul(t, c, radix, re, im, x.lanesTw)
}

func FuzzFFT(f *testing.F) {
	all := passes()
	for i := range all { // every pass and every placement
		f.Add(uint64(i), uint16(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which uint16, place uint8) {
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			c, r := newCall(t), generator(seed)
			c.Begin(allPlacements()[place%17])
			all[int(which)%len(all)].check(t, c, r)
			checkLanes(t, c, r, 1<<(seed%3), vek.FFTGroup*int(which%13))
		})
	})
}

func BenchmarkFFT(b *testing.B) {
	x := newTransform(8, 8)
	n := lanes * x.m
	re, im := make([]float32, n), make([]float32, n) // stay zero
	for _, p := range []pass{{radix: 8, q: 8}, {radix: 8, q: 8, inverse: true}, {radix: 4, q: 16}} {
		tw := p.twiddles()
		name := fmt.Sprintf("n=%d/radix=%d/q=%d/inverse=%v", n, p.radix, p.q, p.inverse)
		benchElements(b, name, n, func() { p.run(re, im, tw) })
	}
	benchElements(b, fmt.Sprintf("n=%d/lanes", n), n, func() { vek.FFTForward(re, im, nil, 1, x.lanesTw) })
}
