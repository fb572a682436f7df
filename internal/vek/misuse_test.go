package vek_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Arguments of calls that panic.
var (
	four, five  = make([]float32, 4), make([]float32, 5)
	many, group = make([]float32, 48), make([]float32, 64)
	doubles     = make([]float64, 3)
	modes       = make([]complex128, 3)
	twoByTwo    = vek.MatrixOf(four, 2, 2)
	oneByOne    = vek.MatrixOf(four, 1, 1)
	thin        = vek.MatrixOf(four, 2, 1)
	short       = vek.Matrix{Data: four, Rows: 2, Cols: 3, Stride: 3}
	narrow      = vek.Matrix{Data: five, Rows: 3, Cols: 2, Stride: 1}
	oneGroup    = vek.LookAhead{Taps: make([]float32, 2*vek.AheadSamples*vek.GroupChannels)}
)

var misuses = []struct {
	name string
	call func()
}{
	{"Add", func() { vek.Add(four, four, five) }},
	{"Axpy", func() { vek.Axpy(four, 1, five) }},
	{"Mul", func() { vek.Mul(four, five, four) }},
	{"Scale", func() { vek.Scale(four, 1, five) }},
	{"ScaleShift", func() { vek.ScaleShift(four, five, 1, 1) }},
	{"Dot", func() { vek.Dot(four, five) }},
	{"CentralDot", func() { vek.CentralDot(four, five, 1) }},
	{"CExp", func() { vek.CExp(four, four, four, five) }},
	{"GELU", func() { vek.GELU(four, five) }},
	{"GLU", func() { vek.GLU(four, four, five) }},
	{"GLUGrad", func() { vek.GLUGrad(four, five, four, four, four) }},
	{"CMulConjAdd", func() { vek.CMulConjAdd(five, four, four, four, four, four) }},
	{"AdamW", func() { vek.AdamW(four, four, four, five, vek.AdamWParams{}) }},
	{"AffineGrad", func() { vek.AffineGrad(four, four, five, 1, 1, 1) }},
	{"Softmax", func() { vek.Softmax(four, five) }},
	{"SoftmaxCrossEntropy", func() { vek.SoftmaxCrossEntropy(four, five, 0) }},
	{"SoftmaxCrossEntropy", func() { vek.SoftmaxCrossEntropy(four, four, 4) }},
	{"LookAhead", func() { oneGroup.Run(twoByTwo, oneByOne, [][]float32{many}, make([]int64, 1), many) }},
	{"LookAhead", func() { oneGroup.Run(short, short, [][]float32{many}, make([]int64, 1), many) }},
	{"LookAhead", func() { oneGroup.Run(thin, thin, [][]float32{many}, make([]int64, 1), many) }},
	{"LookAhead", func() { oneGroup.Run(thin, thin, [][]float32{many}, make([]int64, 1), four) }},
	{"Transpose", func() { vek.Transpose(thin, thin) }},
	{"Scan", func() { vek.Scan(twoByTwo, four, four, 0, 1, vek.FirstToLast) }},
	{"Scan", func() { vek.Scan(twoByTwo, four[:2], four[:2], 0, 2, vek.FirstToLast) }},
	{"Scan", func() { vek.Scan(short, four[:3], four[:3], 0, 1, vek.FirstToLast) }},
	{"ScanGrad", func() { vek.ScanGrad(twoByTwo, oneByOne, four[:2], four[:2], four[:2], 0, 1, vek.LastToFirst) }},
	{"LayerNorm", func() { vek.LayerNorm(twoByTwo, twoByTwo, four[:1], four[:2], four[:2], four[:2], 1) }},
	{"LayerNorm", func() { vek.LayerNorm(short, short, four[:2], four[:2], four[:3], four[:3], 1) }},
	{"LayerNormGrad", func() {
		vek.LayerNormGrad(twoByTwo, twoByTwo, twoByTwo, four[:2], four[:2], four[:2], four[:2], four[:2], four[:3])
	}},
	{"Embed", func() { vek.Embed(twoByTwo, oneByOne, []int32{0, 0}) }},
	{"Embed", func() { vek.Embed(twoByTwo, twoByTwo, []int32{0, 2}) }},
	{"EmbedGrad", func() { vek.EmbedGrad(twoByTwo, twoByTwo, []int32{-1, 0}) }},
	{"Gemm", func() { vek.Gemm(twoByTwo, twoByTwo, oneByOne, vek.Plain, many) }},
	{"Gemm", func() { vek.Gemm(twoByTwo, twoByTwo, twoByTwo, vek.Plain, nil) }},
	{"Gemm", func() { vek.Gemm(twoByTwo, short, narrow, vek.Plain, many) }},
	{"ComplexPowers", func() { vek.ComplexPowers(doubles[:2], doubles[:2], modes, 1) }},
	{"PowerRows", func() { vek.PowerRows(twoByTwo, modes[:2], modes[:2], 1, vek.AsIs) }},
	{"PowerRows", func() { vek.PowerRows(short, modes[:1], modes[:1], 1, vek.AsIs) }},
	{"PowerRows", func() { vek.PowerRows(twoByTwo, modes[:2], modes[:1], 1, vek.AsIs) }},
	{"PowerProduct", func() { vek.PowerProduct(twoByTwo, twoByTwo, oneByOne, many) }},
	{"PowerProduct", func() { vek.PowerProduct(twoByTwo, twoByTwo, twoByTwo, many) }},
	{"PowerSums", func() { vek.PowerSums(doubles, doubles, twoByTwo, twoByTwo, doubles[:2], doubles[:2]) }},
	{"MulIndex", func() { vek.MulIndex(four, five) }},
	{"NewFFTPass", func() { vek.NewFFTPass(6, 1, nil) }},
	{"NewFFTPass", func() { vek.NewFFTPass(4, 0, nil) }},
	{"NewFFTPass", func() { vek.NewFFTPass(3, 1, many[:3]) }},
	{"Turned", func() { vek.NewFFTPass(3, 1, many).Turned(1, 48) }},
	{"FFTForward", func() { vek.FFTForward(many[:16], many[:16], []vek.FFTPass{vek.NewFFTPass(3, 1, many)}, 0, nil) }},
	{"FFTInverse", func() {
		vek.FFTInverse(many[:16], many[:16], nil, nil, vek.AsIs, []vek.FFTPass{vek.NewFFTPass(3, 1, many)}, 0, nil)
	}},
	{"FFTPass", func() { p := vek.NewFFTPass(4, 1, many); p.ForwardPart(many, many, nil, nil, 1, 1) }},
	{"FFTForward", func() { vek.FFTForward(nil, nil, nil, 3, nil) }},
	{"FFTForward", func() { vek.FFTForward(four, four, nil, 1, many) }},
	{"FFTInverse", func() { vek.FFTInverse(many, many, nil, nil, vek.AsIs, nil, 1, many) }},
	{"FFTForward", func() { vek.FFTForward(group, group, nil, 1, make([]float32, 191)) }},
	{"FFTInverse", func() {
		vek.FFTInverse(group, group, group, group[1:], vek.AsIs, nil, 1, make([]float32, 192))
	}},
	{"GemmBias", func() { vek.GemmBias(twoByTwo, twoByTwo, twoByTwo, many[:1], make([]float32, 1<<12)) }},
	{"GELUSlope", func() { vek.GELUSlope(four, five, four) }},
	{"GELUTanh", func() { vek.GELUTanh(four, five) }},
	{"GELUTanhSlope", func() { vek.GELUTanhSlope(four, five, four) }},
	{"DFT", func() { vek.DFT(four, four, four) }},
	{"DFT", func() { vek.DFT(make([]float32, 161), make([]float32, 161), make([]float32, 322)) }},
}

func TestMisusePanics(t *testing.T) {
	for _, test := range misuses {
		message := func() (v any) {
			defer func() { v = recover() }()
			test.call()
			return nil
		}()
		if !strings.HasPrefix(fmt.Sprint(message), "vek: "+test.name+": ") {
			t.Errorf("%s: got panic %v", test.name, message)
		}
	}
}

func TestSetLevel(t *testing.T) {
	old := vek.CurrentLevel()
	err := vek.SetLevel("abacus")
	must.Fail(t, err, `"abacus"`, string(vek.Generic))
	must.Equal(t, vek.CurrentLevel(), old, "level after a rejected SetLevel")
}
