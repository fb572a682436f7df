package vek_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

func TestMisusePanics(t *testing.T) {
	x, y := make([]float32, 4), make([]float32, 5)
	three, f := make([]float32, 48), make([]float64, 3)
	z := make([]complex128, 3)
	two := vek.MatrixOf(x, 2, 2)
	one := vek.MatrixOf(x, 1, 1)
	thin := vek.MatrixOf(x, 2, 1)
	short := vek.Matrix{Data: x, Rows: 2, Cols: 3, Stride: 3}
	narrow := vek.Matrix{Data: y, Rows: 3, Cols: 2, Stride: 1}
	ssm, long := vek.SSM{LambdaRe: x, LambdaIm: x, CRe: x, CIm: x, D: x[:2]}, make([]float32, vek.SSMScratch)
	tests := []struct {
		message string // how it starts, after "vek: "
		call    func()
	}{
		{"Add: ", func() { vek.Add(x, x, y) }},
		{"Axpy: ", func() { vek.Axpy(x, 1, y) }},
		{"Mul: ", func() { vek.Mul(x, y, x) }},
		{"Scale: ", func() { vek.Scale(x, 1, y) }},
		{"ScaleShift: ", func() { vek.ScaleShift(x, y, 1, 1) }},
		{"Dot: ", func() { vek.Dot(x, y) }},
		{"CentralDot: ", func() { vek.CentralDot(x, y, 1) }},
		{"CExp: ", func() { vek.CExp(x, x, x, y) }},
		{"GELU: ", func() { vek.GELU(x, y) }},
		{"GELUGrad: ", func() { vek.GELUGrad(x, x, y) }},
		{"GLU: ", func() { vek.GLU(x, x, y) }},
		{"GLUGrad: ", func() { vek.GLUGrad(x, y, x, x, x) }},
		{"CMul: ", func() { vek.CMul(x, x, x, x, x, y) }},
		{"CMulConj: ", func() { vek.CMulConj(x, y, x, x, x, x) }},
		{"CMulConjAdd: ", func() { vek.CMulConjAdd(y, x, x, x, x, x) }},
		{"AdamW: ", func() { vek.AdamW(x, x, x, y, vek.AdamWParams{}) }},
		{"AffineGrad: ", func() { vek.AffineGrad(x, x, y, 1, 1, 1) }},
		{"Softmax: lengths", func() { vek.Softmax(x, y) }},
		{"SoftmaxCrossEntropy: lengths", func() { vek.SoftmaxCrossEntropy(x, y, 0) }},
		{"SoftmaxCrossEntropy: label", func() { vek.SoftmaxCrossEntropy(x, x, 4) }},
		{"SSMBlock: 2×2 from 1×1, expected 2 channels", func() { vek.SSMBlock(two, one, x, x, &ssm, long) }},
		{"SSMBlock: lengths", func() { vek.SSMBlock(two, two, x, y, &ssm, long) }},
		{"SSMBlock: 2×3", func() { vek.SSMBlock(short, short, x, x, &ssm, long) }},
		{"SSMStep: 2×2 from 2×2, expected 2 channels of 1 states", func() { vek.SSMStep(two, two, [][]float32{long}, &ssm, long) }},
		{"SSMStep: state 0 has", func() { vek.SSMStep(thin, thin, [][]float32{long}, &ssm, long) }},
		{"SSMStep: scratch", func() { vek.SSMStep(thin, thin, [][]float32{long[:2*len(x)]}, &ssm, x) }},
		{"SSMBlock: scratch", func() { vek.SSMBlock(two, two, x, x, &ssm, x) }},
		{"Scan: 4 values for rows of 2", func() { vek.Scan(two, x, x, 0, 1, false) }},
		{"Scan: modes 0 to 2 of 1", func() { vek.Scan(two, x[:2], x[:2], 0, 2, false) }},
		{"Scan: 2×3", func() { vek.Scan(short, x[:3], x[:3], 0, 1, false) }},
		{"ScanGrad: 2×2 with states of 1×1", func() { vek.ScanGrad(two, one, x[:2], x[:2], x[:2], 0, 1, true) }},
		{"LayerNorm: ", func() { vek.LayerNorm(two, two, x[:1], x[:2], x[:2], x[:2], 1) }},
		{"LayerNorm: 2×3", func() { vek.LayerNorm(short, short, x[:2], x[:2], x[:3], x[:3], 1) }},
		{"LayerNormGrad: ", func() { vek.LayerNormGrad(two, two, two, x[:2], x[:2], x[:2], x[:2], x[:2], x[:3]) }},
		{"Embed: 2×2", func() { vek.Embed(two, one, []int32{0, 0}) }},
		{"Embed: token 2", func() { vek.Embed(two, two, []int32{0, 2}) }},
		{"EmbedGrad: token -1", func() { vek.EmbedGrad(two, two, []int32{-1, 0}) }},
		{"Gemm: shapes", func() { vek.Gemm(two, two, one, false, false, false, three) }},
		{"Gemm: scratch", func() { vek.Gemm(two, two, two, false, false, false, nil) }},
		{"Gemm: 2×3 with stride 3 in 4 floats", func() { vek.Gemm(two, short, narrow, false, false, false, three) }},
		{"ComplexPowers: ", func() { vek.ComplexPowers(f[:2], f[:2], z, 1) }},
		{"PowerRows: 2 rows for 2 weights", func() { vek.PowerRows(two, z[:2], z[:2], 1, false) }},
		{"PowerRows: 2×3", func() { vek.PowerRows(short, z[:1], z[:1], 1, false) }},
		{"PowerRows: 2 rows for 2 weights and 1", func() { vek.PowerRows(two, z[:2], z[:1], 1, false) }},
		{"PowerProduct: shapes", func() { vek.PowerProduct(two, two, one, three) }},
		{"PowerProduct: table", func() { vek.PowerProduct(two, two, two, three) }},
		{"PowerSums: lengths", func() { vek.PowerSums(f, f, two, two, f[:2], f[:2]) }},
		{"MulIndex: ", func() { vek.MulIndex(x, y) }},
		{"NewFFTPass: radix", func() { vek.NewFFTPass(6, 1, nil) }},
		{"NewFFTPass: q", func() { vek.NewFFTPass(4, 0, nil) }},
		{"NewFFTPass: twiddles", func() { vek.NewFFTPass(3, 1, three[:3]) }},
		{"FFTForward: data", func() { vek.FFTForward(three[:16], three[:16], []vek.FFTPass{vek.NewFFTPass(3, 1, three)}, 0, nil) }},
		{"FFTInverse: data", func() {
			vek.FFTInverse(three[:16], three[:16], nil, nil, false, []vek.FFTPass{vek.NewFFTPass(3, 1, three)}, 0, nil)
		}},
		{"FFTForwardHalf: ", func() { vek.FFTForwardHalf(vek.NewFFTPass(3, 1, three), three, three, three, three) }},
		{"FFTInverseHalf: ", func() { vek.FFTInverseHalf(vek.NewFFTPass(5, 1, three), nil, nil, nil, nil) }},
		{"FFTForward: radix", func() { vek.FFTForward(nil, nil, nil, 3, nil) }},
		{"FFTForward: ", func() { vek.FFTForward(x, x, nil, 1, three) }},
		{"FFTInverse: ", func() { vek.FFTInverse(three, three, nil, nil, false, nil, 1, three) }},
		{"FFTForward: ", func() { vek.FFTForward(three[:16], three[:16], nil, 1, make([]float32, 71)) }},
		{"FFTInverse: a product", func() {
			vek.FFTInverse(three[:16], three[:16], three[:16], three[:15], false, nil, 1, make([]float32, 72))
		}},
		{"GemmBias: ", func() { vek.GemmBias(two, two, two, three[:1], make([]float32, 1<<12)) }},
		{"GELUSlope: ", func() { vek.GELUSlope(x, y, x) }},
		{"GELUTanh: ", func() { vek.GELUTanh(x, y) }},
		{"GELUTanhSlope: ", func() { vek.GELUTanhSlope(x, y, x) }},
		{"DFT: ", func() { vek.DFT(x, x, x) }},
		{"DFT: ", func() { vek.DFT(three[:41], three[:41], make([]float32, 82)) }},
	}
	for _, test := range tests {
		message := func() (v any) {
			defer func() { v = recover() }()
			test.call()
			return nil
		}()
		if !strings.HasPrefix(fmt.Sprint(message), "vek: "+test.message) {
			t.Errorf("got panic %v, expected one that starts with %q", message, "vek: "+test.message)
		}
	}
}

func TestSetLevel(t *testing.T) {
	old := vek.CurrentLevel()
	err := vek.SetLevel("abacus")
	must.Fail(t, err, `"abacus"`, string(vek.Generic))
	if vek.CurrentLevel() != old {
		t.Errorf("level %v after a rejected SetLevel, expected %v", vek.CurrentLevel(), old)
	}
}
