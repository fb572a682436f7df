package vek_test

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// Split vectors: the inputs are d, a and b, each (re, im).
var cmulConjAdd = pointwise{
	Outs: 2, Ins: 6, Updates: true, ULP: 3,
	Run: func(d, x [][]float32) { vek.CMulConjAdd(d[0], d[1], x[2], x[3], x[4], x[5]) },
	Truth: func(d, x []float64) {
		d[0], d[1] = x[0]+x[2]*x[4]+x[3]*x[5], x[1]+x[2]*x[5]-x[3]*x[4]
	},
	Scale: func(d, x []float64) {
		d[0], d[1] = abs(x[0], x[2]*x[4], x[3]*x[5]), abs(x[1], x[2]*x[5], x[3]*x[4])
	},
}

func TestCMulConjAdd(t *testing.T) { cmulConjAdd.Test(t) }

// The product with a rotation in place.
func TestCMulConjAddInPlace(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		const n = 37
		r := generator(1)
		aRe, aIm, bRe, bIm := normals(r, n), normals(r, n), normals(r, n), normals(r, n)
		wantRe, wantIm := slices.Clone(bRe), slices.Clone(bIm)
		vek.CMulConjAdd(wantRe, wantIm, aRe, aIm, slices.Clone(bRe), slices.Clone(bIm))
		vek.CMulConjAdd(bRe, bIm, aRe, aIm, bRe, bIm)
		sameBits(t, "re", bRe, wantRe)
		sameBits(t, "im", bIm, wantIm)
	})
}
