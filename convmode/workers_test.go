package convmode

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// TestWorkers checks that no bit depends on the number of workers.
func TestWorkers(t *testing.T) {
	networks := map[string]func(c *model.Config){
		"post-norm": func(c *model.Config) {},
		"pre-norm":  func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true },
		"batch norm, shared poles": func(c *model.Config) {
			c.Norm, c.SSM.NSSM, c.SSM.TrainB = model.NormBatch, 2, true
		},
		"every position": func(c *model.Config) { c.Pool, c.SSM.Bidirectional = model.PoolNone, true },
		"S5":             func(c *model.Config) { c.SSM, c.SSM.Bidirectional = s5(130), true },
		"LRU":            func(c *model.Config) { c.SSM, c.PreNorm = lru(50), true },
		"tokens":         func(c *model.Config) { c.Encoder, c.DInput = model.EncoderEmbedding, 11 },
	}
	sizes, channels := []int{1, 70}, 20
	if testing.Short() {
		sizes, channels = []int{3}, 6
	}
	for name, change := range networks {
		for _, size := range sizes {
			if size > 3 && name != "post-norm" && name != "batch norm, shared poles" && name != "S5" {
				continue // the large batch has one of each kind of layer and of normalisation
			}
			t.Run(fmt.Sprintf("%s/B=%d", name, size), func(t *testing.T) {
				c := tiny()
				c.Dropout, c.DModel = 0.2, channels
				change(&c)
				// 700 positions are two tiles, the last one shorter. The largest batch has 140,
				// more than maxGroups.
				b := newBatch(c, 3, size, 700, slices.Repeat([]int{700, 500, 1}, 24)[:size]...)
				var logits, inference, outputs []float32
				var grads *model.Weights
				var first *model.Model
				for _, workers := range []int{1, 3, 64} {
					m := newModel(t, c)
					n := newNet(t, m, Options{MaxBatch: size, MaxLen: 700, Workers: workers, Training: true})
					g := model.NewWeights(c)
					got := slices.Clone(n.ForwardTrain(b, Step{Seed: 5, Step: 2}))
					n.Backward(noise(9, logitCount(c, b)), g)
					n.UpdateStatistics()
					out, inf := blockOutput(n, 0), slices.Clone(n.Forward(b))
					if workers == 1 {
						logits, outputs, inference, grads, first = got, out, inf, g, m
						continue
					}
					sameBits(t, "logits", got, logits)
					sameBits(t, "block output", out, outputs)
					sameBits(t, "inference", inf, inference)
					for i, tensor := range grads.Tensors() {
						sameBits(t, "gradient of "+tensor.Name, g.Tensors()[i].Data, tensor.Data)
						sameBits(t, tensor.Name, m.Weights.Tensors()[i].Data, first.Weights.Tensors()[i].Data)
					}
				}
			})
		}
	}
}

// TestNoAllocation checks that a training step and an inference allocate nothing once their length
// has been seen.
func TestNoAllocation(t *testing.T) {
	both := s5(40)
	both.Bidirectional = true
	for norm, layer := range map[model.Norm]ssm.Config{model.NormLayer: {}, model.NormBatch: {}, model.NormNone: both} {
		c := tiny()
		c.Dropout, c.Norm, c.SSM.Init = 0.1, norm, ssm.DFouT
		if layer.Layer != "" {
			c.SSM = layer
		}
		n := newNet(t, newModel(t, c), Options{MaxBatch: 5, MaxLen: 200, Workers: 2, Training: true})
		long, short := newBatch(c, 1, 5, 200), newBatch(c, 2, 4, 90, 90, 3, 50, 1)
		g, d := model.NewWeights(c), noise(3, 5*c.DOutput)
		step := func() {
			for _, b := range []Batch{long, short} {
				n.ForwardTrain(b, Step{Seed: 1, Step: 1})
				n.Backward(d[:b.Size*c.DOutput], g)
				n.UpdateStatistics()
				n.Forward(b)
			}
		}
		step()
		must.Equal(t, testing.AllocsPerRun(4, step), 0, "norm %s: allocations per step", norm)
	}
}

// TestPlans checks that lengths share plans, and that a batch shorter than its plan gives the
// result of a Net of exactly its length.
func TestPlans(t *testing.T) {
	for length, want := range map[int]int{1: 1, 15: 15, 16: 16, 17: 18, 1000: 1024, 1024: 1024, 1025: 1152, 65536: 65536} {
		must.Equal(t, roundLength(length), want, "roundLength(%d)", length)
	}
	c := tiny()
	m := newModel(t, c)
	n := newNet(t, m, Options{MaxBatch: 2, MaxLen: 4096})
	for length := 1; length <= 4096; length += 37 {
		n.planFor(length)
	}
	if len(n.plans) > 8*12 {
		t.Errorf("%d plans for lengths up to 4096, expected at most eight per octave", len(n.plans))
	}
	for _, length := range []int{1, 2, 17, 129, 1025} {
		b := newBatch(c, 1, 2, length)
		got := slices.Clone(n.Forward(b))
		want := newNet(t, m, Options{MaxBatch: 2, MaxLen: length}).Forward(b)
		for i := range want {
			if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
				t.Errorf("length %d: logit %d = %v, expected %v", length, i, got[i], want[i])
			}
		}
	}
}
