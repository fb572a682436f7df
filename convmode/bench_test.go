package convmode

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// BenchmarkTrainStep measures forward and backward of one batch, in sequences per second.
func BenchmarkTrainStep(b *testing.B) {
	for _, c := range []struct{ h, n, length, layers, batch, threads int }{
		{128, 64, 1024, 6, 16, 1},
		{128, 64, 1024, 6, 16, 2}, // the paper's sCIFAR network
	} {
		name := fmt.Sprintf("H=%d/N=%d/L=%d/layers=%d/B=%d/threads=%d", c.h, c.n, c.length, c.layers, c.batch, c.threads)
		vektest.BenchEachLevel(b, name, func(b *testing.B) {
			cfg := model.Default()
			cfg.DInput, cfg.DOutput, cfg.DModel, cfg.NLayers, cfg.Dropout = 3, 10, c.h, c.layers, 0.1
			cfg.SSM.DState, cfg.SSM.Init = c.n, ssm.Lin
			m := must.Get(model.New(cfg, 1))(b)
			net := must.Get(New(m, Options{MaxBatch: c.batch, MaxLen: c.length, Workers: c.threads, Training: true}))(b)
			defer net.Close()
			batch := Batch{Size: c.batch, Len: c.length, X: noise(1, c.batch*3*c.length)}
			grads := model.NewWeights(cfg)
			dLogits := noise(2, c.batch*10)
			b.ReportAllocs()
			for b.Loop() {
				net.ForwardTrain(batch, Step{Seed: 1})
				net.Backward(dLogits, grads)
			}
			b.ReportMetric(float64(b.N*c.batch)/b.Elapsed().Seconds(), "sequences/s")
		})
	}
}
