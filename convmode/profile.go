package convmode

import (
	"math"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
)

// MeanKernel returns the mean over a layer's channels h of |K_h[l]|, [directions][taps], which shows how far back the layer
// looks and at which period (paper, Figures 1 and 7). The taps are those of a convolution over length ≥ 1 samples:
// as many, or SSM.LMax where kernels are truncated to fewer. Tap l of the second direction meets the sample l + 1 ahead.
// D is no part of it.
func MeanKernel(m *model.Model, layer, length int) [][]float64 {
	if lmax := m.Config.SSM.LMax; lmax > 0 {
		length = min(length, lmax)
	}
	d := m.SSMParams(layer).Discretize(m.Config.SSM.Disc, 1)
	plan := fftkernel.NewVandermonde(d.M, length)
	k, scratch := make([]float32, length), make([]float32, plan.ScratchLen())
	mean := make([][]float64, d.Directions)
	for dir := range mean {
		mean[dir] = make([]float64, length)
		for h := range d.H {
			row := (dir*d.H + h) * d.M
			plan.Kernel(k, d.LogLambda[h*d.M:(h+1)*d.M], d.W[row:row+d.M], scratch)
			for l, v := range k {
				mean[dir][l] += math.Abs(float64(v)) / float64(d.H)
			}
		}
	}
	return mean
}
