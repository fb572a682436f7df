package convmode

import (
	"fmt"
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

// ImpulseResponse returns what a network without pooling answers, in its first output, to a sample of 1 among zeros at time
// 0 in its first channel, less what it answers to zeros alone, [length]. A network without activation, norm and gate,
// as that of the delay task, is one convolution, and this its kernel, D included (paper, Figure 4).
func ImpulseResponse(m *model.Model, length int) ([]float32, error) {
	c := m.Config
	if c.Encoder != model.EncoderLinear || c.Pool != model.PoolNone {
		return nil, fmt.Errorf("convmode: impulse response: encoder %q, pool %q: want %q and %q", c.Encoder, c.Pool, model.EncoderLinear, model.PoolNone)
	}
	n, err := New(m, Options{MaxBatch: 2, MaxLen: length})
	if err != nil {
		return nil, err
	}
	defer n.Close()
	x := make([]float32, 2*c.DInput*length)
	x[0] = 1
	y := n.Forward(Batch{Size: 2, Len: length, X: x})
	k := make([]float32, length)
	for l := range k {
		k[l] = y[l] - y[c.DOutput*length+l]
	}
	return k, nil
}
