package convmode

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
)

// MeanKernel returns the mean of |K_h[l]| over the channels h of a layer, [directions][taps]. It
// shows the memory and the periods of the layer (arXiv 2508.20441, Figures 1 and 7). The number of
// taps is length, at least 1, or SSM.LMax if kernels are truncated to fewer. Tap l of the second
// direction multiplies the sample l + 1 ahead. D is not included.
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

// ImpulseResponse returns the response of a network without pooling, [length]: its first output for
// an impulse of 1 at time 0 in its first channel, minus the output for zeros. A network without
// activation, norm and gate, such as that of the delay task, is a convolution with this kernel, D
// included (arXiv 2508.20441, Figure 4).
func ImpulseResponse(m *model.Model, length int) ([]float32, error) {
	c := m.Config
	if c.Encoder != model.EncoderLinear || c.Pool != model.PoolNone {
		return nil, fmt.Errorf("convmode: impulse response: encoder %q, pool %q, expected %q and %q", c.Encoder, c.Pool, model.EncoderLinear, model.PoolNone)
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
