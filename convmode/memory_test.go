package convmode

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The estimate is what New allocates, but for 3 % and a megabyte of plans.
func TestMemoryEstimate(t *testing.T) {
	for name, change := range map[string]func(c *model.Config, o *Options){
		"inference": func(c *model.Config, o *Options) { o.Training = false },
		"fixed":     func(c *model.Config, o *Options) { o.Training, o.Fixed = false, true },
		"glu":       func(c *model.Config, o *Options) {},
		"prenorm":   func(c *model.Config, o *Options) { c.PreNorm, c.FinalNorm = true, true },
		"linear":    func(c *model.Config, o *Options) { c.Mixing, c.Norm = model.MixingNone, model.NormNone },
		"half-glu2": func(c *model.Config, o *Options) { c.Mixing = model.MixingHalfGLU2 },
		"one long":  func(c *model.Config, o *Options) { o.MaxBatch, o.MaxLen = 1, 40000 },
		"two-sided": func(c *model.Config, o *Options) { c.SSM.Bidirectional = true },
		"s5":        func(c *model.Config, o *Options) { c.SSM = s5(32) },
		"lru":       func(c *model.Config, o *Options) { c.SSM, o.Training = lru(32), false },
		"s4":        func(c *model.Config, o *Options) { setS4(c, ssm.LegS, o.MaxLen) },
		"s4 longer": func(c *model.Config, o *Options) { setS4(c, ssm.LegS, o.MaxLen/2); o.Training, o.MaxBatch = false, 2 },
		"scan both": func(c *model.Config, o *Options) { c.SSM, c.SSM.Bidirectional = s5(32), true },
		"positions": func(c *model.Config, o *Options) { c.Pool, c.DOutput = model.PoolNone, 40 },
	} {
		c, o := model.Default(), Options{MaxBatch: 8, MaxLen: 5000, Workers: 2, Training: true}
		c.DModel, c.NLayers, c.SSM.DState = 16, 3, 16
		change(&c, &o)
		m := must.Get(model.New(c, 1))(t)
		var n *Net
		took := float64(must.Allocated(func() { n = must.Get(New(m, o))(t) }))
		n.Close()
		if got := o.Memory(c); got < 0.97*took-1.2e6 || got > 1.03*took {
			t.Errorf("%s: estimated %.3g bytes, took %.3g", name, got, took)
		}
	}
}
