package convmode

import (
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// shardNetworks are the kinds of networks that sum over a batch in different ways.
var shardNetworks = map[string]func(c *model.Config){
	"post-norm":  func(c *model.Config) {},
	"pre-norm":   func(c *model.Config) { c.PreNorm, c.FinalNorm, c.Mixing = true, true, model.MixingHalfGLU2 },
	"no norm":    func(c *model.Config) { c.Norm = model.NormNone },
	"batch norm": func(c *model.Config) { c.Norm, c.SSM.NSSM, c.SSM.TrainB = model.NormBatch, 2, true },
	"batch norm pre": func(c *model.Config) {
		c.Norm, c.PreNorm, c.FinalNorm, c.SSM.Bidirectional = model.NormBatch, true, true, true
	},
	"batch norm both": func(c *model.Config) { c.Norm, c.FinalNorm, c.SSM.Init = model.NormBatch, true, ssm.DFouT },
	"every position":  func(c *model.Config) { c.Pool, c.SSM.Bidirectional = model.PoolNone, true },
	"S4": func(c *model.Config) {
		c.SSM = s4Config(ssm.LegS, 200, true).SSM
	},
	"DSS":    func(c *model.Config) { c.SSM.Layer, c.SSM.LKernel = ssm.LayerDSS, 200 },
	"S5":     func(c *model.Config) { c.SSM, c.SSM.Bidirectional = s5(130), true },
	"LRU":    func(c *model.Config) { c.SSM, c.PreNorm, c.Norm = lru(50), true, model.NormBatch },
	"tokens": func(c *model.Config) { c.Encoder, c.DInput = model.EncoderEmbedding, 11 },
	"pairs": func(c *model.Config) {
		c.Encoder, c.DInput, c.Pairs, c.Norm = model.EncoderEmbedding, 11, true, model.NormBatch
	},
}

// statistics adds sums of shards that are goroutines.
type statistics struct {
	mu    sync.Mutex
	turn  *sync.Cond
	terms [][]float64
	round int
}

// sum is Shard.Sum for one of so many shards.
func (s *statistics) sum(shards int, values []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms = append(s.terms, values)
	if round := s.round; len(s.terms) < shards {
		for s.round == round {
			s.turn.Wait()
		}
		return
	}
	total := make([]float64, len(values))
	for _, v := range s.terms {
		for i := range total {
			total[i] += v[i]
		}
	}
	for _, v := range s.terms {
		copy(v, total)
	}
	s.terms, s.round = nil, s.round+1
	s.turn.Broadcast()
}

// TestShards checks that the logits of shards are those of the batch, that their gradients add up
// to its gradients, and that running statistics are equal.
func TestShards(t *testing.T) {
	const shards, size, length = 2, 8, 70 // sequences of a shard
	for name, change := range shardNetworks {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			c.Dropout = 0.2
			change(&c)
			b := newBatch(c, 3, shards*size, length, slices.Repeat([]int{70, 50, 1, 33, 70, 8, 61, 11}, shards)...)
			dLogits, step := noise(9, logitCount(c, b)), Step{Seed: 5, Step: 2}
			m, grads := newModel(t, c), model.NewWeights(c)
			n := newNet(t, m, Options{MaxBatch: b.Size, MaxLen: length, Training: true})
			want := slices.Clone(n.ForwardTrain(b, step))
			n.Backward(dLogits, grads)
			n.UpdateStatistics()

			all := statistics{}
			all.turn = sync.NewCond(&all.mu)
			per := len(dLogits) / shards
			var logits, statistics [shards][]float32
			var of [shards]*model.Weights
			var wait sync.WaitGroup
			for i := range shards {
				m := newModel(t, c)
				n := newNet(t, m, Options{MaxBatch: size, MaxLen: length, Workers: 1 + i, Training: true,
					Shard: &Shard{Index: i, Count: shards, Sum: func(v []float64) { all.sum(shards, v) }}})
				part := Batch{Size: size, Len: length, Lengths: b.Lengths[i*size : (i+1)*size]}
				if b.X != nil {
					part.X = b.X[i*len(b.X)/shards : (i+1)*len(b.X)/shards]
				} else {
					part.Tokens = b.Tokens[i*size*length : (i+1)*size*length]
				}
				of[i] = model.NewWeights(c)
				wait.Go(func() {
					logits[i] = slices.Clone(n.ForwardTrain(part, step))
					n.Backward(dLogits[i*per:(i+1)*per], of[i])
					n.UpdateStatistics()
					statistics[i] = m.Weights.Flat()
				})
			}
			wait.Wait()
			within(t, "logits", slices.Concat(logits[:]...), widen(want), 1e-5)
			sameBits(t, "running statistics of the shards", statistics[1], statistics[0])
			within(t, "running statistics", statistics[0], widen(m.Weights.Flat()), 1e-6)
			for i, tensor := range grads.Tensors() {
				sum := widen(of[0].Tensors()[i].Data)
				for j, v := range of[1].Tensors()[i].Data {
					sum[j] += float64(v)
				}
				if d := relative(tensor.Data, sum); d > 2e-4 && norm2(sum) > 1e-4 {
					t.Errorf("gradient of %s: relative difference %.2g from the sum of the shards", tensor.Name, d)
				}
			}
		})
	}
}
