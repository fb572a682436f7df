package tonemodel

import "github.com/s4d-fast/s4d-fast/ssm"

// Layers returns settings of S4, DSS, S5 and the LRU with DState 8.
func Layers() []ssm.Config {
	return []ssm.Config{
		{Layer: ssm.LayerS4, DState: 8, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerDSS, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, TrainB: true, LKernel: 8000, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerS5, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1},
		{Layer: ssm.LayerLRU, DState: 8, Init: ssm.Ring, Disc: ssm.ZOH},
	}
}
