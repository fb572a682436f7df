package convmode

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The mean is that of the kernels by their definition, in both directions and for both lengths.
func TestMeanKernel(t *testing.T) {
	c := model.Default()
	c.DModel, c.NLayers, c.SSM.DState, c.SSM.Bidirectional, c.SSM.Init = 5, 2, 16, true, ssm.Lin
	for lmax, taps := range map[int]int{0: 300, 40: 40, 1000: 300} {
		c.SSM.LMax = lmax
		m := must.Get(model.New(c, 3))(t)
		want := m.SSMParams(1).Discretize(ssm.ZOH, 1).Kernel(taps)
		got := MeanKernel(m, 1, 300)
		if len(got) != 2 {
			t.Fatalf("l_max %d: %d directions, expected 2", lmax, len(got))
		}
		for dir := range got {
			if len(got[dir]) != taps {
				t.Fatalf("l_max %d, direction %d: %d taps, expected %d", lmax, dir, len(got[dir]), taps)
			}
			for l, v := range got[dir] {
				mean := 0.0
				for h := range c.DModel {
					mean += math.Abs(want[dir*c.DModel+h][l]) / float64(c.DModel)
				}
				if math.Abs(v-mean) > 1e-6 {
					t.Fatalf("l_max %d, direction %d: mean |K[%d]| = %v, expected %v", lmax, dir, l, v, mean)
				}
			}
		}
	}
}

// The kernel of an SSM of all channels is the response of each channel to an impulse in each.
func TestMeanScanKernel(t *testing.T) {
	const length = 40
	for _, layer := range []ssm.Config{
		{Layer: ssm.LayerS5, Init: ssm.LegS, Disc: ssm.ZOH, DState: 8, DtMin: 0.01, DtMax: 0.1, Bidirectional: true},
		{Layer: ssm.LayerLRU, Init: ssm.Ring, Disc: ssm.ZOH, DState: 6, RMax: 0.99},
	} {
		c := bare(3, layer)
		m := must.Get(model.New(c, 3))(t)
		got := MeanKernel(m, 0, length)
		for _, x := range [][]float32{m.Weights.EncoderWeight, m.Weights.EncoderBias, m.Weights.DecoderWeight, m.Weights.DecoderBias, m.Weights.Layers[0].D} {
			clear(x)
		}
		for i := range 3 {
			m.Weights.EncoderWeight[4*i], m.Weights.DecoderWeight[4*i] = 1, 1
		}
		// Channel i of sequence i has an impulse in the middle.
		b := Batch{Size: 3, Len: 2*length - 1, X: make([]float32, 9*(2*length-1))}
		for i := range 3 {
			b.X[(3*i+i)*b.Len+length-1] = 1
		}
		y := newNet(t, m, Options{MaxBatch: 3, MaxLen: b.Len}).Forward(b)
		for dir := range got {
			for l := 1; l < length; l++ { // at l = 0 the directions add up
				mean := 0.0
				for row := range 9 {
					mean += math.Abs(float64(y[row*b.Len+length-1+l*(1-2*dir)])) / 9
				}
				if math.Abs(got[dir][l]-mean) > 1e-5*got[dir][0] {
					t.Fatalf("%s, direction %d: mean |K[%d]| = %v, expected %v", layer.Layer, dir, l, got[dir][l], mean)
				}
			}
		}
	}
}

// The response of a linear network is the sum of its SSMs' kernels times encoder and decoder, with
// D at time 0.
func TestImpulseResponse(t *testing.T) {
	c := model.Default()
	c.DModel, c.NLayers, c.SSM.DState, c.DInput, c.DOutput = 3, 1, 8, 2, 2
	c.Norm, c.Residual, c.Activation, c.Mixing, c.Pool = model.NormNone, false, model.ActivationNone, model.MixingNone, model.PoolNone
	m := must.Get(model.New(c, 5))(t)
	const length = 70
	got := must.Get(ImpulseResponse(m, length))(t)
	kernels, p := m.SSMParams(0).Discretize(ssm.ZOH, 1).Kernel(length), m.SSMParams(0)
	for l, v := range got {
		want := 0.0
		for h := range c.DModel {
			k := kernels[h][l]
			if l == 0 {
				k += p.D[h]
			}
			want += float64(m.Weights.EncoderWeight[h*c.DInput]) * k * float64(m.Weights.DecoderWeight[h])
		}
		if math.Abs(float64(v)-want) > 1e-6 {
			t.Fatalf("response %v at %d, expected %v", v, l, want)
		}
	}
	c.Pool = model.PoolMean
	m = must.Get(model.New(c, 5))(t)
	if _, err := ImpulseResponse(m, length); err == nil {
		t.Error("a network with pooling: no error")
	}
}
