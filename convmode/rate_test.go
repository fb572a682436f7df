package convmode

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The output of a layer at step scale r equals its output in training for an input whose samples
// are repeated r times, taken at the last repetition (docs/maths.md §15), with zero-order hold.
func TestHeldInput(t *testing.T) {
	const length = 150
	for name, layer := range map[string]ssm.Config{
		"LRU":            lru(33),
		"LRU, slow":      {Layer: ssm.LayerLRU, DState: 16, Init: ssm.Ring, Disc: ssm.ZOH, RMin: 0.999, RMax: 0.9999, MaxPhase: 0.314},
		"S5":             s5(16),
		"S4D-DFouT":      {DState: 16, Init: ssm.DFouT, Disc: ssm.ZOH, XiMin: 0.001, XiMax: 0.1, AReal: 0.5},
		"S4D-Lin by ZOH": {DState: 16, Init: ssm.Lin, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1, AReal: 0.5},
	} {
		c := tiny()
		c.SSM, c.NLayers, c.Pool = layer, 1, model.PoolNone
		c.Activation, c.Mixing, c.Norm, c.Residual = model.ActivationNone, model.MixingNone, model.NormNone, false
		m := newModel(t, c)
		for _, r := range []int{2, 3} {
			b := newBatch(c, 4, 1, length)
			long := length * r
			held := Batch{Size: 1, Len: long, X: make([]float32, c.DInput*long)}
			for i := range held.X {
				held.X[i] = b.X[i/r]
			}
			trained := newNet(t, m, Options{MaxBatch: 1, MaxLen: long, Workers: 1}).Forward(held)
			var want []float64
			for i := range c.DOutput * length {
				want = append(want, float64(trained[i*r+r-1]))
			}
			got := newNet(t, m, Options{MaxBatch: 1, MaxLen: length, Workers: 1, StepScale: float64(r)}).Forward(b)
			if e := relative(got, want); e > 3e-6 {
				t.Errorf("%s, step scale %d: error %.1e of the output for the held input", name, r, e)
			}
		}
	}
}
