//go:build goexperiment.simd && amd64 && !purego

package vek_test

import (
	"math"
	"simd/archsimd"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// Two loops of this package written with Go's experimental simd/archsimd, for AVX2. Compare them
// with the assembly:
//
//	GOEXPERIMENT=simd go test -run Archsimd -bench Archsimd ./internal/vek

// archVec is one AVX2 vector, and archComplex one of complex numbers.
type archVec = archsimd.Float32x8

type archComplex struct{ re, im archVec }

func archLoad(re, im []float32, at int) archComplex {
	return archComplex{archsimd.LoadFloat32x8((*[8]float32)(re[at:])), archsimd.LoadFloat32x8((*[8]float32)(im[at:]))}
}

func (x archComplex) store(re, im []float32, at int) {
	x.re.Store((*[8]float32)(re[at:]))
	x.im.Store((*[8]float32)(im[at:]))
}

func (x archComplex) sumDiff(y archComplex) (sum, diff archComplex) {
	return archComplex{x.re.Add(y.re), x.im.Add(y.im)}, archComplex{x.re.Sub(y.re), x.im.Sub(y.im)}
}

// sumDiffI returns x − i·y and x + i·y.
func (x archComplex) sumDiffI(y archComplex) (minus, plus archComplex) {
	return archComplex{x.re.Add(y.im), x.im.Sub(y.re)}, archComplex{x.re.Sub(y.im), x.im.Add(y.re)}
}

// rotate returns x·(wr + i·wi). There is no multiply-subtract, so −wi is a vector of its own.
func (x archComplex) rotate(wr, wi float32) archComplex {
	re, im, minus := archsimd.BroadcastFloat32x8(wr), archsimd.BroadcastFloat32x8(wi), archsimd.BroadcastFloat32x8(-wi)
	return archComplex{x.re.MulAdd(re, x.im.Mul(minus)), x.im.MulAdd(re, x.re.Mul(im))}
}

// archForward4 is FFTForward with radix 4 and q > 1. Pointers to arrays have one bounds check each.
func archForward4(re, im, tw []float32, q int) {
	type lanes = [vek.FFTLanes]float32
	vectors := func(x []float32, j int) (a, b, c, d *lanes) {
		apart := q * vek.FFTLanes
		x = x[j*vek.FFTLanes:]
		return (*lanes)(x), (*lanes)(x[apart:]), (*lanes)(x[2*apart:]), (*lanes)(x[3*apart:])
	}
	for block := 4 * q * vek.FFTLanes; len(re) > 0; re, im = re[block:], im[block:] {
		for j := range q {
			w := (*[6]float32)(tw[6*j:])
			r0, r1, r2, r3 := vectors(re, j)
			i0, i1, i2, i3 := vectors(im, j)
			for at := 0; at < vek.FFTLanes; at += 8 {
				s0, s1 := archLoad(r0[:], i0[:], at).sumDiff(archLoad(r2[:], i2[:], at))
				s2, s3 := archLoad(r1[:], i1[:], at).sumDiff(archLoad(r3[:], i3[:], at))
				y0, y2 := s0.sumDiff(s2)
				y1, y3 := s1.sumDiffI(s3)
				y0.store(r0[:], i0[:], at)
				y1.rotate(w[0], w[1]).store(r1[:], i1[:], at)
				y2.rotate(w[2], w[3]).store(r2[:], i2[:], at)
				y3.rotate(w[4], w[5]).store(r3[:], i3[:], at)
			}
		}
	}
}

// archSSM is SSMBlock for 32 modes and a number of samples that is a multiple of 8. The states of a
// channel stay in registers as far as there are enough.
func archSSM(y, x vek.Matrix, hRe, hIm []float32, s *vek.SSM) {
	const modes, samples = 32, 64
	var sums [samples]archVec
	for h, d := range s.D {
		in, out := x.Row(h), y.Row(h)
		for at := h * modes; at < (h+1)*modes; at += 16 { // two vectors of modes
			h0, h1 := archLoad(hRe, hIm, at), archLoad(hRe, hIm, at+8)
			l0, l1 := archLoad(s.LambdaRe, s.LambdaIm, at), archLoad(s.LambdaRe, s.LambdaIm, at+8)
			c0, c1 := archLoad(s.CRe, s.CIm, at), archLoad(s.CRe, s.CIm, at+8)
			var zero archVec
			n0, n1, m0, m1 := zero.Sub(l0.im), zero.Sub(l1.im), zero.Sub(c0.im), zero.Sub(c1.im)
			for t, v := range in[:min(len(in), samples)] {
				u := archsimd.BroadcastFloat32x8(v)
				h0 = archComplex{h0.re.MulAdd(l0.re, h0.im.MulAdd(n0, u)), h0.im.MulAdd(l0.re, h0.re.Mul(l0.im))}
				h1 = archComplex{h1.re.MulAdd(l1.re, h1.im.MulAdd(n1, u)), h1.im.MulAdd(l1.re, h1.re.Mul(l1.im))}
				sum := h0.re.MulAdd(c0.re, h0.im.MulAdd(m0, h1.re.MulAdd(c1.re, h1.im.Mul(m1))))
				if at > h*modes {
					sum = sum.Add(sums[t])
				}
				sums[t] = sum
			}
			h0.store(hRe, hIm, at)
			h1.store(hRe, hIm, at+8)
		}
		for t := 0; t < len(in); t += 8 {
			r := (*[8]archVec)(sums[t:])
			low := r[0].AddPairsGrouped(r[1]).AddPairsGrouped(r[2].AddPairsGrouped(r[3]))
			high := r[4].AddPairsGrouped(r[5]).AddPairsGrouped(r[6].AddPairsGrouped(r[7]))
			var sum archVec
			sum = sum.SetLo(low.GetLo().Add(low.GetHi())).SetHi(high.GetLo().Add(high.GetHi()))
			v := archsimd.LoadFloat32x8((*[8]float32)(in[t:]))
			v.MulAdd(archsimd.BroadcastFloat32x8(d), sum.Add(sum)).Store((*[8]float32)(out[t:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

// The loops compute what the assembly computes.
func TestArchsimd(t *testing.T) {
	skipBelowAVX2(t)
	const q, n = 8, 2 * 4 * 8 * vek.FFTLanes
	re, im, tw := normals(generator(1), n), normals(generator(2), n), make([]float32, 6*q)
	vek.FFTTwiddles(tw, 4, q)
	wantRe, wantIm := slices.Clone(re), slices.Clone(im)
	vek.FFTForward(wantRe, wantIm, []vek.FFTPass{vek.NewFFTPass(4, q, tw)}, 0, nil)
	archForward4(re, im, tw, q)
	archNear(t, "re", re, wantRe)
	archNear(t, "im", im, wantIm)

	const channels, samples = 3, 64
	s := newSystems(generator(3), channels, 32)
	x, got, want := normals(generator(4), channels*samples), make([]float32, channels*samples), make([]float32, channels*samples)
	other := s.clone()
	vek.SSMBlock(span(want, channels, samples, 0, samples), span(x, channels, samples, 0, samples), s.hRe, s.hIm, &s.SSM, make([]float32, vek.SSMScratch))
	archSSM(span(got, channels, samples, 0, samples), span(x, channels, samples, 0, samples), other.hRe, other.hIm, &other.SSM)
	archNear(t, "y", got, want)
	archNear(t, "state", other.hRe, s.hRe)
}

func archNear(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i] - w)); !(d <= 1e-5*(1+math.Abs(float64(w)))) {
			t.Fatalf("%s[%d] = %v, expected %v", name, i, got[i], w)
		}
	}
}

func skipBelowAVX2(t testing.TB) {
	if !archsimd.X86.AVX2() || !archsimd.X86.FMA() {
		t.Skip("the processor has no AVX2")
	}
}

func BenchmarkArchsimd(b *testing.B) {
	skipBelowAVX2(b)
	const q, n = 16, 4 * 16 * vek.FFTLanes
	re, im, tw := make([]float32, n), make([]float32, n), make([]float32, 6*q)
	vek.FFTTwiddles(tw, 4, q)
	pass := []vek.FFTPass{vek.NewFFTPass(4, q, tw)}
	const channels, samples = 128, 64
	s := newSystems(generator(3), channels, 32)
	x, y := span(normals(generator(4), channels*samples), channels, samples, 0, samples), span(make([]float32, channels*samples), channels, samples, 0, samples)
	scratch := make([]float32, vek.SSMScratch)
	for _, op := range []struct {
		name                string
		assembly, intrinsic func()
	}{
		{"FFTForward4", func() { vek.FFTForward(re, im, pass, 0, nil) }, func() { archForward4(re, im, tw, q) }},
		{"SSMBlock", func() { vek.SSMBlock(y, x, s.hRe, s.hIm, &s.SSM, scratch) }, func() { archSSM(y, x, s.hRe, s.hIm, &s.SSM) }},
	} {
		b.Run(op.name+"/archsimd", func(b *testing.B) {
			for b.Loop() {
				op.intrinsic()
			}
		})
		vektest.BenchEachLevel(b, op.name+"/assembly", func(b *testing.B) {
			for b.Loop() {
				op.assembly()
			}
		})
	}
}
