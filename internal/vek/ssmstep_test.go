package vek_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// checkStep advances states by a sample and compares the bits with an SSMBlock of each state. x and
// y have gap columns that belong to no state.
func checkStep(t *testing.T, call *vektest.Call, seed uint64, channels, modes, count, gap int, alias bool) {
	t.Helper()
	r := generator(seed)
	s := newSystems(r, channels, modes)
	stride := count + gap
	x := normals(r, channels*stride)
	want, starts := make([]float32, len(x)), make([][]float32, count)
	copy(want, x)
	wantStates := make([][]float32, count)
	for i := range starts {
		starts[i] = normals(r, 2*channels*modes)
		of := s.clone()
		copy(of.hRe, starts[i])
		copy(of.hIm, starts[i][channels*modes:])
		of.run(want, x, stride, i, i+1)
		wantStates[i] = append(of.hRe, of.hIm...)
	}
	call.Again()
	in := call.InOut(x)
	y := in
	if !alias {
		y = call.InOut(x)
	}
	states := make([][]float32, count)
	for i := range states {
		states[i] = call.InOut(starts[i])
	}
	scratch := call.Scratch(vek.SSMScratch)
	ssm := vek.SSM{LambdaRe: call.In(s.LambdaRe), LambdaIm: call.In(s.LambdaIm), CRe: call.In(s.CRe), CIm: call.In(s.CIm), D: call.In(s.D)}
	call.Do(func() {
		vek.SSMStep(span(y, channels, stride, 0, count), span(in, channels, stride, 0, count), states, &ssm, scratch)
	})
	what := fmt.Sprintf("H=%d M=%d, %d states", channels, modes, count)
	sameBits(t, what+": y", y, want)
	for i := range states {
		sameBits(t, what+": a state", states[i], wantStates[i])
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestSSMStep(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, call *vektest.Call) {
		for i, modes := range []int{0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65} {
			for _, count := range []int{0, 1, 2, 7, 8, 9, 17} {
				checkStep(t, call, 1, 1+(i+count)%4, modes, count, i%3, i%2 == 0)
			}
		}
		checkStep(t, call, 2, 131, 5, 1, 0, false)
		checkStep(t, call, 2, 67, 33, 3, 1, true)
	})
}

// An element is one step of one mode of one state.
func BenchmarkSSMStep(b *testing.B) {
	const h, m = 128, 32
	for _, n := range []int{1, 8, 64, 1000} {
		r := generator(8)
		s, x, y, scratch := newSystems(r, h, m), normals(r, h*n), make([]float32, h*n), make([]float32, vek.SSMScratch)
		states := make([][]float32, n)
		for i := range states {
			states[i] = normals(r, 2*h*m)
		}
		in, out := span(x, h, n, 0, n), span(y, h, n, 0, n)
		benchElements(b, fmt.Sprintf("H=%d/M=%d/states=%d", h, m, n), h*m*n, func() {
			vek.SSMStep(out, in, states, &s.SSM, scratch)
		})
	}
}
