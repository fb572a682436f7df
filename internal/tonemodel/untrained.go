package tonemodel

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Layers returns settings of S4, DSS, S5 and the LRU with DState 8.
func Layers() []ssm.Config {
	return []ssm.Config{
		{Layer: ssm.LayerS4, DState: 8, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerDSS, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, TrainB: true, LKernel: 8000, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerS5, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerLRU, DState: 8, Init: ssm.Ring, Disc: ssm.ZOH},
	}
}

// Untrained returns a network of two such layers with random weights, and the input and labels of
// the model like. Its thresholds are low, so it finds many events.
func Untrained(like *model.Model, layer ssm.Config) (*model.Model, error) {
	c := model.Default()
	c.DInput, c.DOutput, c.Pool, c.DModel, c.NLayers, c.SSM = like.Config.DInput, 3, like.Config.Pool, 4, 2, layer
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	m.Meta = like.Meta
	m.Meta.Detection = &model.Detection{Threshold: 0.1, OffThreshold: 0.1, Confirm: 1}
	m.Weights.DecoderBias[2] -= 2 // makes the label "none" unlikely
	return m, nil
}
