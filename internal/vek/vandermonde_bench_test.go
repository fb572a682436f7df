package vek_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// benchPoles returns the logarithms of decaying oscillations, and memory for two real numbers per
// oscillation.
func benchPoles() (log []complex128, re, im []float64) {
	for i := range benchModes {
		log = append(log, complex(-0.01, 0.03*float64(i)))
	}
	return log, make([]float64, benchModes), make([]float64, benchModes)
}

func BenchmarkComplexPowers(b *testing.B) {
	log, re, im := benchPoles()
	benchElements(b, fmt.Sprintf("M=%d", benchModes), benchModes, func() { vek.ComplexPowers(re, im, log, 3) })
}

func BenchmarkPowerRows(b *testing.B) {
	log, _, _ := benchPoles()
	rows := benchFactor(2 * benchModes)
	benchElements(b, fmt.Sprintf("M=%d/L=%d", benchModes, benchPowers), benchModes*benchPowers,
		func() { vek.PowerRows(rows, log, log, 1, vek.Conjugated) })
}

func BenchmarkPowerProduct(b *testing.B) {
	anchors, table := benchFactor(2*benchModes), benchFactor(2*benchModes)
	k := vek.MatrixOf(make([]float32, benchPowers*benchPowers), benchPowers, benchPowers)
	scratch := make([]float32, vek.GemmScratch(benchPowers, benchPowers, 2*benchModes))
	benchElements(b, fmt.Sprintf("M=%d/L=%d", benchModes, benchPowers*benchPowers), benchPowers*benchPowers,
		func() { vek.PowerProduct(k, anchors, table, scratch) })
}

func BenchmarkPowerSums(b *testing.B) {
	log, re, im := benchPoles()
	lamRe, lamIm := slices.Clone(re), slices.Clone(im)
	vek.ComplexPowers(lamRe, lamIm, log, 1)
	xRe, xIm := benchFactor(benchPowers), benchFactor(benchPowers)
	benchElements(b, fmt.Sprintf("M=%d/L=%d", benchModes, benchPowers), benchModes*benchPowers,
		func() { vek.PowerSums(re, im, xRe, xIm, lamRe, lamIm) })
}

// benchFactor returns a matrix of benchPowers columns with the stride of a Vandermonde product's
// factors.
func benchFactor(rows int) vek.Matrix {
	stride := vek.RoundToPanels(benchPowers) + 16
	return vek.Matrix{Data: make([]float32, rows*stride), Rows: rows, Cols: benchPowers, Stride: stride}
}

func BenchmarkMulIndex(b *testing.B) { benchUnary(b, vek.MulIndex) }
