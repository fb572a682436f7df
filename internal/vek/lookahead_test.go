package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// systems are diagonal systems of channels with the poles lambda and the weights w, [H][M].
type systems struct {
	vek.LookAhead
	lambda, w []complex128
	d         []float64
	modes     int
}

// newSystems draws channels of m modes, |λ| between 0.4 and 1.
func newSystems(r *rand.Rand, channels, m int) *systems {
	s := &systems{modes: m}
	for range channels {
		s.d = append(s.d, r.NormFloat64())
		for range m {
			s.lambda = append(s.lambda, cmplx.Exp(complex(-0.9*r.Float64()*r.Float64(), 6*r.Float64())))
			s.w = append(s.w, complex(r.NormFloat64(), r.NormFloat64()))
		}
	}
	s.layOut()
	return s
}

// layOut sets the constants.
func (s *systems) layOut() {
	const lanes, samples = vek.GroupChannels, vek.AheadSamples
	width := vek.ChannelGroups(len(s.d)) * lanes
	s.Taps, s.Terms = make([]float32, 2*samples*width), make([]float32, vek.AheadTerms*s.modes*width)
	for h, d := range s.d {
		taps := make([]float64, 2*samples)
		taps[samples-1], taps[2*samples-1] = 1, d
		for n, lambda := range s.lambda[h*s.modes : (h+1)*s.modes] {
			w := s.w[h*s.modes+n]
			for j, v := range []complex128{lambda, lambda * lambda, w * lambda, w * lambda * lambda} {
				at := ((h/lanes*s.modes+n)*vek.AheadTerms+2*j)*lanes + h%lanes
				s.Terms[at], s.Terms[at+lanes] = float32(real(v)), float32(imag(v))
			}
			taps[2*samples-1] += real(w)
			for m := 1; m < samples; m++ {
				w *= lambda
				taps[samples-1+m] += real(w)
			}
		}
		for i, v := range taps {
			s.Taps[(h/lanes*2*samples+i)*lanes+h%lanes] = float32(v)
		}
	}
}

// run processes columns at … end of x and y, [channels][n], from position at on.
func (s *systems) run(y, x, state []float32, n, at, end int) {
	h := len(s.d)
	s.Run(span(y, h, n, at, end), span(x, h, n, at, end), [][]float32{state}, []int64{int64(at)}, make([]float32, s.ScratchLen(end-at)))
}

// span views x [rows][n] from column at to end.
func span(x []float32, rows, n, at, end int) vek.Matrix {
	m := vek.Matrix{Rows: rows, Cols: end - at, Stride: n}
	if rows > 0 {
		m.Data = x[at : (rows-1)*n+end]
	}
	return m
}

// truth runs a channel from a state of 0 in complex128. size bounds the accumulated terms of a
// value.
func (s *systems) truth(channel int, x []float32) (y []near) {
	h, size := make([]complex128, s.modes), make([]float64, s.modes)
	for _, u := range x {
		out := near{n: s.modes + vek.AheadSamples}
		out.add(s.d[channel] * float64(u))
		for n := range h {
			lam, w := s.lambda[channel*s.modes+n], s.w[channel*s.modes+n]
			h[n] = lam*h[n] + complex(float64(u), 0)
			// Every step adds roundings of |h| and of λ.
			size[n] = size[n]*cmplx.Abs(lam) + math.Abs(float64(u)) + cmplx.Abs(h[n])
			out.value += real(w * h[n])
			out.size += cmplx.Abs(w) * size[n]
		}
		y = append(y, out)
	}
	return y
}

// check compares samples of several states with the definition.
func (s *systems) check(t *testing.T, call *kernelCall, r *rand.Rand, count, samples int, alias bool) {
	t.Helper()
	h, n := len(s.d), count*samples
	x := normals(r, h*n)
	call.Again()
	in := call.InOut(x)
	y := in
	if !alias {
		y = call.Out(len(x))
	}
	states, zeros := make([][]float32, count), make([]float32, s.StateLen())
	for i := range states {
		states[i] = call.InOut(zeros)
	}
	scratch := call.Scratch(s.ScratchLen(n))
	of := vek.LookAhead{Taps: call.In(s.Taps), Terms: call.In(s.Terms)}
	call.Do(func() {
		of.Run(span(y, h, n, 0, n), span(in, h, n, 0, n), states, make([]int64, count), scratch)
	})
	for c := range h {
		for i := range count {
			for j, want := range s.truth(c, x[c*n+i*samples:][:samples]) {
				want.check(t, y[c*n+i*samples+j], "H=%d M=%d, %d samples of %d states: y[%d][%d]", h, s.modes, samples, count, c, j)
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestLookAhead(t *testing.T) {
	eachCall(t, func(t *testing.T, call *kernelCall) {
		r := generator(1)
		for i, m := range []int{0, 1, 2, 5, 32} {
			for _, n := range []int{1, 2, 7, 8, 9, 40} {
				newSystems(r, 1+(7*i+5*n)%35, m).check(t, call, r, 1+(i+n)%3, n, n%2 == 1)
			}
		}
		newSystems(r, 131, 5).check(t, call, r, 2, 20, false)
	})
}

// Any split of a stream's samples, and any grouping of streams, gives the same bits of outputs and
// states. A channel's bits do not depend on the values of other channels.
func TestLookAheadSplits(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(2)
		const h, n = 35, 333
		for _, m := range []int{1, 5, 32} {
			s, x := newSystems(r, h, m), normals(r, h*n)
			want, wantState := make([]float32, len(x)), make([]float32, s.StateLen())
			s.run(want, x, wantState, n, 0, n)
			for _, widest := range []int{1, 2, 40, 300} {
				got, state := make([]float32, len(x)), make([]float32, s.StateLen())
				for at := 0; at < n; {
					end := min(at+1+r.IntN(widest), n)
					s.run(got, x, state, n, at, end)
					at = end
				}
				sameBits(t, "y", got, want)
				sameBits(t, "the state", state, wantState)
			}
			s.checkGroup(t, r, x, want, n)
			for i := range x[n:] {
				x[n+i] *= 3
			}
			got := make([]float32, len(x))
			s.run(got, x, make([]float32, s.StateLen()), n, 0, n)
			sameBits(t, "y beside louder channels", got[:n], want[:n])
		}
	})
}

// checkGroup runs streams of the same signal that are at different positions together.
func (s *systems) checkGroup(t *testing.T, r *rand.Rand, x, want []float32, n int) {
	const count, samples = 9, 3
	h := len(s.d)
	states, positions := make([][]float32, count), make([]int64, count)
	in, out := vek.MatrixOf(make([]float32, h*count*samples), h, count*samples), vek.MatrixOf(make([]float32, h*count*samples), h, count*samples)
	for i := range states {
		at := r.IntN(n - samples)
		states[i], positions[i] = make([]float32, s.StateLen()), int64(at)
		s.run(make([]float32, len(x)), x, states[i], n, 0, at)
		for c := range h {
			copy(in.Row(c)[i*samples:], x[c*n+at:][:samples])
		}
	}
	s.Run(out, in, states, positions, make([]float32, s.ScratchLen(count*samples)))
	for i, at := range positions {
		for c := range h {
			sameBits(t, fmt.Sprintf("y of stream %d in a group", i), out.Row(c)[i*samples:][:samples], want[c*n+int(at):][:samples])
		}
	}
}

// In silence a state decays to exactly 0 and never is a denormal number. A single decaying part
// becomes 0 as well, for example an imaginary part of a real pole whose real part has input.
func TestLookAheadFlushes(t *testing.T) {
	const smallest = 0x1p-126 // of the normal numbers
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, m := range []int{1, 5, 33} {
			s := newSystems(generator(3), 2, m)
			for n := range s.lambda {
				s.lambda[n] = 0.4 - 0.3i // halves the state
			}
			s.layOut()
			const n = 400
			x, state := make([]float32, 2*n), normals(generator(4), s.StateLen())
			h := state[:len(state)-vek.AheadSamples*vek.GroupChannels]
			for at := range n {
				s.run(make([]float32, 2*n), x, state, n, at, at+1)
				for i, v := range h {
					if v != 0 && math.Abs(float64(v)) < smallest {
						t.Fatalf("M=%d: part %d of the state is %v, expected 0", m, i, v)
					}
				}
			}
			if i := slices.IndexFunc(state, func(v float32) bool { return v != 0 }); i >= 0 {
				t.Errorf("M=%d: part %d of the state is %v after %d halvings", m, i, state[i], n)
			}
		}
		s := newSystems(generator(5), 1, 5)
		for n := range s.lambda {
			s.lambda[n] = 0.9
		}
		s.layOut()
		x, state := normals(generator(6), 1000), make([]float32, s.StateLen())
		for i := range state[5*vek.GroupChannels : 10*vek.GroupChannels] {
			state[5*vek.GroupChannels+i] = 1
		}
		s.run(make([]float32, len(x)), x, state, len(x), 0, len(x))
		for n := range 5 {
			if re, im := state[n*vek.GroupChannels], state[(5+n)*vek.GroupChannels]; im != 0 || re == 0 {
				t.Errorf("h[%d] = %v + %vi, expected a real number", n, re, im)
			}
		}
		tiny := math.Float32frombits(uint32(len(s.d)) + 1) // unknown to the compiler
		if half := tiny / 2; half != math.SmallestNonzeroFloat32 {
			t.Errorf("%v / 2 = %v afterwards, expected the caller's settings of the processor", tiny, half)
		}
	})
}

func TestTranspose(t *testing.T) {
	eachCall(t, func(t *testing.T, call *kernelCall) {
		r := generator(7)
		for _, shape := range [][2]int{{0, 3}, {3, 0}, {1, 1}, {1, 20}, {20, 1}, {5, 17}, {16, 16}, {33, 40}} {
			x := matrix(r, shape[0], shape[1])
			call.Again()
			in, got := call.InMatrix(x, x.Cols+shape[0]%3), call.OutMatrix(x.Cols, x.Rows, x.Rows+shape[1]%2)
			call.Do(func() { vek.Transpose(got, in) })
			for i, want := 0, transposed(x); i < want.Rows; i++ {
				sameBits(t, fmt.Sprintf("%v: row %d", shape, i), got.Row(i), want.Row(i))
			}
		}
	})
}

// An element is one step of one mode of one state.
func BenchmarkLookAhead(b *testing.B) {
	const h, m = 128, 32
	for _, size := range [][2]int{{1, 1}, {32, 1}, {1, 64}} {
		count, samples := size[0], size[1]
		s, x := newSystems(generator(8), h, m), matrix(generator(8), h, count*samples)
		states, positions := make([][]float32, count), make([]int64, count)
		for i := range states {
			states[i] = make([]float32, s.StateLen())
		}
		y, scratch := matrix(generator(8), h, count*samples), make([]float32, s.ScratchLen(count*samples))
		benchElements(b, fmt.Sprintf("H=%d/M=%d/states=%d/n=%d", h, m, count, samples), h*m*count*samples, func() {
			for i := range positions {
				positions[i] += int64(samples)
			}
			s.Run(y, x, states, positions, scratch)
		})
	}
}
