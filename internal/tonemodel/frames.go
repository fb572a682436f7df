package tonemodel

import (
	"math"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// New returns the model that reads the frames of a filter bank and labels every frame, with
// the labels "low", "high" and "none". Two bands hold the pitches. The first layer rectifies their
// levels and the second averages them over about 0.2 s, so that a label begins and ends about that
// long after its tone.
func New() (*model.Model, error) {
	f := filterbank.Config{SampleRate: SampleRate, Window: 200, Hop: 80, Bands: 12, Low: 60, High: 3800, Compression: filterbank.Log}
	c := model.Default()
	c.DModel, c.DInput, c.DOutput, c.NLayers, c.Pool = 2, f.Bands, 3, 2, model.PoolNone
	c.Norm, c.Mixing, c.Residual = model.NormNone, model.MixingNone, false
	c.SSM = ssm.Config{DState: 2, Init: ssm.Lin, Disc: ssm.ZOH, AReal: 0.5, DtMin: 0.1, DtMax: 0.1}
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	m.Meta = model.Meta{Labels: []string{"low", "high", "none"}, SampleRate: SampleRate, Filterbank: &f}
	for range f.Bands { // levels are logarithms: a tone is about 4 above the mean, noise 5 below
		m.Meta.InputMean, m.Meta.InputStd = append(m.Meta.InputMean, -8), append(m.Meta.InputStd, 1)
	}
	w := m.Weights
	w.Zero()
	const decay = 0.045 // per frame
	for h, band := range []int{2, 7} {
		w.EncoderWeight[h*f.Bands+band] = 1
		w.Layers[0].D[h] = 1
		w.Layers[1].Decay[h] = float32(math.Log(decay))
		w.Layers[1].C[2*h] = decay / 2 // so that a constant keeps its value
	}
	copy(w.DecoderWeight, []float32{6, -6, -6, 6, 0, 0})
	copy(w.DecoderBias, []float32{-12, -12, 0})
	return m, nil
}
