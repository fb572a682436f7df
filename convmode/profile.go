package convmode

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// MeanKernel returns the mean of |K_h[l]| over the channels h of a layer, [directions][taps]. It
// shows the memory and the periods of the layer (arXiv 2508.20441, Figures 1 and 7). The number of
// taps is length, at least 1, or SSM.LMax if kernels are truncated to fewer. Tap l of the second
// direction multiplies the sample l + 1 ahead. D is not included.
//
// For S5 and the LRU, the mean is over all pairs of an input and an output channel, and tap l of
// the second direction multiplies the sample l ahead.
func MeanKernel(m *model.Model, layer, length int) [][]float64 {
	if lmax := m.Config.SSM.LMax; lmax > 0 {
		length = min(length, lmax)
	}
	if m.Config.SSM.MIMO() {
		return meanScanKernel(m, layer, length)
	}
	source, plan := newKernelSource(m.Config, 1, nil), newKernelPlan(m.Config, 1, length)
	source.fill(&m.Weights.Layers[layer])
	mean := make([][]float64, m.Config.SSM.Directions())
	k := make([][]float32, 2)
	for dir := range mean {
		mean[dir], k[dir] = make([]float64, length), make([]float32, length)
	}
	scratch := make([]float32, plan.ScratchLen())
	for h := range m.Config.DModel {
		source.discretize(h)
		source.kernels(plan, scratch, h, k[0], k[1])
		for dir := range mean {
			for l, v := range k[dir] {
				mean[dir][l] += math.Abs(float64(v)) / float64(m.Config.DModel)
			}
		}
	}
	return mean
}

// meanScanKernel is MeanKernel for a layer with one SSM for all channels: K[l] = κ·Re(C·λ̄^l·B̄),
// [H][H].
func meanScanKernel(m *model.Model, layer, length int) [][]float64 {
	p := m.SSMParams(layer)
	d := ssm.NewScan(p.Config)
	p.DiscretizeScan(d, 1, 0, p.Modes())
	h, modes := p.DModel, p.Modes()
	input := make([]float32, 2*modes*h) // [Re B̄; Im B̄]
	for i, b := range d.BBar {
		input[i], input[modes*h+i] = float32(real(b)), float32(imag(b))
	}
	output, kernel := make([]float32, h*2*modes), make([]float32, h*h) // [Re Cλ̄^l, −Im Cλ̄^l]
	scratch := make([]float32, vek.GemmScratch(h, h, 2*modes))
	mean := make([][]float64, p.Directions())
	for dir := range mean {
		mean[dir] = make([]float64, length)
		c := slices.Clone(p.C[dir*h*modes : (dir+1)*h*modes])
		for l := range length {
			for i, v := range c {
				at := i/modes*2*modes + i%modes
				output[at], output[at+modes] = float32(real(v)), float32(-imag(v))
				c[i] = v * d.Lambda[i%modes]
			}
			vek.Gemm(vek.MatrixOf(kernel, h, h), vek.MatrixOf(output, h, 2*modes), vek.MatrixOf(input, 2*modes, h), vek.Plain, scratch)
			for _, v := range kernel {
				mean[dir][l] += math.Abs(float64(v)) * d.Factor / float64(h*h)
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
