package vek_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// rankOneCase is a system with its states, and an input.
type rankOneCase struct {
	s        vek.RankOne
	re, im   []float32
	x        []float32 // [channels][samples]
	channels int
	modes    int
}

func newRankOneCase(r *rand.Rand, channels, modes, samples int) *rankOneCase {
	width := vek.ChannelGroups(channels) * vek.GroupChannels
	c := &rankOneCase{channels: channels, modes: modes}
	c.s.Terms, c.s.D = make([]float32, width*modes*vek.RankOneTerms), make([]float32, width)
	c.re, c.im = make([]float32, width*modes), make([]float32, width*modes)
	for h := range channels {
		c.s.D[h] = float32(r.NormFloat64())
		for m := range modes {
			e := cmplx.Rect(0.9+0.09*r.Float64(), 3*r.Float64())
			c.set(h, m, 0, e)
			for j := 1; j < 5; j++ {
				scale := 1.0
				if j < 3 { // the rank-one part stays small, so that states are bounded
					scale = 0.1 / math.Sqrt(float64(modes))
				}
				c.set(h, m, j, complex(scale*r.NormFloat64(), scale*r.NormFloat64()))
			}
			at := c.state(h, m)
			c.re[at], c.im[at] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
	}
	for range channels * samples {
		c.x = append(c.x, float32(r.NormFloat64()))
	}
	return c
}

// state returns the index of a mode's state, and term that of its parameter j, real part.
func (c *rankOneCase) state(h, m int) int {
	return (h/vek.GroupChannels*c.modes+m)*vek.GroupChannels + h%vek.GroupChannels
}

func (c *rankOneCase) term(h, m, j int) int {
	return ((h/vek.GroupChannels*c.modes+m)*vek.RankOneTerms+2*j)*vek.GroupChannels + h%vek.GroupChannels
}

func (c *rankOneCase) set(h, m, j int, v complex128) {
	at := c.term(h, m, j)
	c.s.Terms[at], c.s.Terms[at+vek.GroupChannels] = float32(real(v)), float32(imag(v))
}

func (c *rankOneCase) get(h, m, j int) complex128 {
	at := c.term(h, m, j)
	return complex(float64(c.s.Terms[at]), float64(c.s.Terms[at+vek.GroupChannels]))
}

// want runs channel h in float64 and returns its outputs and states.
func (c *rankOneCase) want(h, samples int) (y []float64, state []complex128) {
	var w float64
	for m := range c.modes {
		at := c.state(h, m)
		state = append(state, complex(float64(c.re[at]), float64(c.im[at])))
		w += real(c.get(h, m, 2) * state[m])
	}
	for _, x := range c.x[h*samples : (h+1)*samples] {
		sum, next := float64(c.s.D[h])*float64(x), 0.0
		for m, v := range state {
			v = c.get(h, m, 0)*v - c.get(h, m, 1)*complex(w, 0) + c.get(h, m, 3)*complex(float64(x), 0)
			state[m] = v
			sum += real(c.get(h, m, 4) * v)
			next += real(c.get(h, m, 2) * v)
		}
		w = next
		y = append(y, sum)
	}
	return y, state
}

func TestRankOneBlock(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for i, channels := range []int{1, 5, 16, 17, 48} {
			samples := []int{64, 1, 3, 20, 7}[i]
			c.Again()
			newRankOneCase(generator(uint64(i)), channels, []int{2, 32, 0, 5, 4}[i], samples).check(t, c, samples, i)
		}
	})
}

// check runs the block in matrices whose strides are larger than their rows by multiples of gap.
func (x *rankOneCase) check(t *testing.T, c *kernelCall, samples, gap int) {
	t.Helper()
	in := c.InMatrix(vek.MatrixOf(x.x, x.channels, samples), samples+gap)
	out := c.OutMatrix(x.channels, samples, samples+3*gap)
	s := &vek.RankOne{Terms: c.In(x.s.Terms), D: c.In(x.s.D)}
	re, im, scratch := c.InOut(x.re), c.InOut(x.im), c.Scratch(vek.RankOneScratch(x.channels, samples))
	if !c.Do(func() { vek.RankOneBlock(out, in, re, im, s, scratch) }) {
		t.FailNow()
	}
	for h := range x.channels {
		y, state := x.want(h, samples)
		size := 1.0 // of the largest value: some of these systems grow
		for _, v := range y {
			size = max(size, math.Abs(v))
		}
		for _, v := range state {
			size = max(size, cmplx.Abs(v))
		}
		for l, want := range y {
			if got := out.Row(h)[l]; !(math.Abs(float64(got)-want) <= 1e-5*size) {
				t.Fatalf("%d channels: y[%d][%d] = %v, expected %v", x.channels, h, l, got, want)
			}
		}
		for m, want := range state {
			at := x.state(h, m)
			if got := complex(float64(re[at]), float64(im[at])); !(cmplx.Abs(got-want) <= 1e-5*size) {
				t.Fatalf("%d channels: h[%d][%d] = %v, expected %v", x.channels, h, m, got, want)
			}
		}
	}
}

// Any split of a block gives the same bits.
func TestRankOneSplit(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		const channels, samples = 20, 64
		c := newRankOneCase(rand.New(rand.NewPCG(13, 14)), channels, 6, samples)
		run := func(step int) (y, re []float32) {
			y, re = make([]float32, channels*samples), append([]float32(nil), c.re...)
			im := append([]float32(nil), c.im...)
			x, out := vek.MatrixOf(c.x, channels, samples), vek.MatrixOf(y, channels, samples)
			scratch := make([]float32, vek.RankOneScratch(channels, samples))
			for at := 0; at < samples; at += step {
				end := min(at+step, samples)
				vek.RankOneBlock(out.Columns(at, end), x.Columns(at, end), re, im, &c.s, scratch)
			}
			return y, re
		}
		y, re := run(samples)
		for _, step := range []int{1, 7} {
			otherY, otherRe := run(step)
			for i := range y {
				if y[i] != otherY[i] {
					t.Fatalf("steps of %d samples: output %d is %v, expected %v", step, i, otherY[i], y[i])
				}
			}
			for i := range re {
				if re[i] != otherRe[i] {
					t.Fatalf("steps of %d samples: state %d is %v, expected %v", step, i, otherRe[i], re[i])
				}
			}
		}
	})
}

// A stream that falls silent ends at zeros, not at denormal numbers.
func TestRankOneDecay(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		const channels, samples = 3, 64
		c := newRankOneCase(rand.New(rand.NewPCG(15, 16)), channels, 4, samples)
		clear(c.x)
		x, y := vek.MatrixOf(c.x, channels, samples), vek.MatrixOf(make([]float32, channels*samples), channels, samples)
		scratch := make([]float32, vek.RankOneScratch(channels, samples))
		for range 400 {
			vek.RankOneBlock(y, x, c.re, c.im, &c.s, scratch)
		}
		for i, v := range append(c.re, c.im...) {
			if v != 0 && math.Abs(float64(v)) < 0x1p-126 {
				t.Fatalf("state %d is the denormal %v", i, v)
			}
		}
	})
}

func BenchmarkRankOne(b *testing.B) {
	const channels, modes, samples = 128, 32, 64
	c := newRankOneCase(rand.New(rand.NewPCG(17, 18)), channels, modes, samples)
	x, y := vek.MatrixOf(c.x, channels, samples), vek.MatrixOf(make([]float32, channels*samples), channels, samples)
	scratch := make([]float32, vek.RankOneScratch(channels, samples))
	benchElements(b, "channels=128/modes=32/samples=64", channels*modes*samples, func() {
		vek.RankOneBlock(y, x, c.re, c.im, &c.s, scratch)
	})
}
