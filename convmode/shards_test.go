package convmode

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/shard"
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

// meeting is where processes meet that are goroutines.
type meeting struct {
	mu     sync.Mutex
	turn   *sync.Cond
	values [][]float64
	count  int
	round  int
	all    []float64
}

func newMeeting(ranks int) *meeting {
	m := &meeting{values: make([][]float64, ranks)}
	m.turn = sync.NewCond(&m.mu)
	return m
}

// seat is the Gatherer of one process.
type seat struct {
	*meeting
	rank int
}

func (s seat) GatherShards(local []float64) []float64 {
	m, rank := s.meeting, s.rank
	m.mu.Lock()
	defer m.mu.Unlock()
	round := m.round
	m.values[rank] = slices.Clone(local)
	if m.count++; m.count == len(m.values) {
		m.all, m.count, m.round = slices.Concat(m.values...), 0, round+1
		m.turn.Broadcast()
	}
	for m.round == round {
		m.turn.Wait()
	}
	return slices.Clone(m.all)
}

// shardResult is what a step leaves.
type shardResult struct {
	logits []float32
	grads  []*model.Weights // of the shards
	model  *model.Model
	order  []int // of the calls of done
}

// stepShards runs a step of a batch that is divided into shards, on some processes.
func stepShards(t *testing.T, c model.Config, b Batch, dLogits []float32, shards, ranks int) shardResult {
	t.Helper()
	m := newMeeting(ranks)
	results := make([]shardResult, ranks)
	towers := c.Towers()
	outputs := len(dLogits) / (b.Size / towers) // of a sequence or a pair
	var wait sync.WaitGroup
	for rank := range ranks {
		wait.Go(func() {
			own := shard.Of(shards, ranks, rank)
			part := &Part{Size: b.Size}
			for s := own.Lo; s < own.Hi; s++ {
				part.Ends = append(part.Ends, towers*shard.Of(b.Size/towers, shards, s).Hi)
			}
			part.First = towers * shard.Of(b.Size/towers, shards, own.Lo).Lo
			lo, hi := part.First, part.Ends[len(part.Ends)-1]
			for i := range part.Ends {
				part.Ends[i] -= lo
			}
			mine := Batch{Size: hi - lo, Len: b.Len, Lengths: b.Lengths[lo:hi], Part: part}
			if b.X != nil {
				mine.X = b.X[lo*c.DInput*b.Len : hi*c.DInput*b.Len]
			} else {
				mine.Tokens = b.Tokens[lo*b.Len : hi*b.Len]
			}
			r := &results[rank]
			r.model = newModel(t, c)
			opt := Options{MaxBatch: mine.Size, MaxLen: b.Len, Workers: 1 + rank%2, Training: true}
			if ranks > 1 {
				opt.Gatherer = seat{m, rank}
			}
			n := must.Get(New(r.model, opt))(t)
			defer n.Close()
			r.logits = slices.Clone(n.ForwardTrain(mine, Step{Seed: 5, Step: 2}))
			for range part.Ends {
				r.grads = append(r.grads, model.NewWeights(c))
			}
			n.BackwardShards(dLogits[lo/towers*outputs:hi/towers*outputs], r.grads, func(i int) { r.order = append(r.order, i) })
		})
	}
	wait.Wait()
	all := results[0]
	for _, r := range results[1:] {
		all.logits = append(all.logits, r.logits...)
		all.grads = append(all.grads, r.grads...)
		sameBits(t, "weights of other processes", r.model.Weights.Flat(), all.model.Weights.Flat())
		must.Equal(t, fmt.Sprint(r.order), fmt.Sprint(all.order), "order of complete gradients")
	}
	return all
}

// TestShards checks that no bit of a shard depends on the number of processes, and that the
// gradients of the shards add up to those of the batch.
func TestShards(t *testing.T) {
	const size, shards, length = 14, 5, 70
	processes := []int{2, 3, 5}
	if testing.Short() {
		processes = []int{3}
	}
	for name, change := range shardNetworks {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			c.Dropout = 0.2
			change(&c)
			b := newBatch(c, 3, size, length, slices.Repeat([]int{70, 50, 1, 33, 70, 8, 61}, 2)...)
			dLogits := noise(9, logitCount(c, b))
			one := stepShards(t, c, b, dLogits, shards, 1)
			for _, ranks := range processes {
				got := stepShards(t, c, b, dLogits, shards, ranks)
				sameBits(t, "logits", got.logits, one.logits)
				sameBits(t, "weights and running statistics", got.model.Weights.Flat(), one.model.Weights.Flat())
				for i, g := range got.grads {
					for j, tensor := range g.Tensors() {
						sameBits(t, fmt.Sprintf("%d processes, shard %d: %s", ranks, i, tensor.Name), tensor.Data, one.grads[i].Tensors()[j].Data)
					}
				}
			}
			must.Equal(t, fmt.Sprint(one.order), "[2 1 0 -1]", "order of complete gradients")

			whole, m := model.NewWeights(c), newModel(t, c)
			n := newNet(t, m, Options{MaxBatch: size, MaxLen: length, Training: true})
			n.ForwardTrain(b, Step{Seed: 5, Step: 2})
			n.Backward(dLogits, whole)
			for i, tensor := range whole.Tensors() {
				sum := make([]float64, len(tensor.Data))
				for _, g := range one.grads {
					for j, v := range g.Tensors()[i].Data {
						sum[j] += float64(v)
					}
				}
				if d := relative(tensor.Data, sum); d > 2e-4 && norm2(sum) > 1e-4 {
					t.Errorf("gradient of %s: relative difference %.2g from the sum of the shards", tensor.Name, d)
				}
			}
			flat := make([]float64, len(m.Weights.Flat()))
			for i, v := range one.model.Weights.Flat() {
				flat[i] = float64(v)
			}
			if d := relative(m.Weights.Flat(), flat); d > 1e-6 || math.IsNaN(d) {
				t.Errorf("running statistics differ by %.2g", d)
			}
		})
	}
}

// TestCompleteGradients checks that done is called when the gradients of a part are complete.
func TestCompleteGradients(t *testing.T) {
	for name, change := range shardNetworks {
		c := tiny()
		change(&c)
		b := newBatch(c, 3, 4, 40)
		m, g := newModel(t, c), model.NewWeights(c)
		n := newNet(t, m, Options{MaxBatch: 4, MaxLen: 40, Training: true})
		n.ForwardTrain(b, Step{})
		seen := map[int][]float32{}
		n.BackwardShards(noise(9, logitCount(c, b)), []*model.Weights{g}, func(i int) { seen[i] = slices.Clone(g.Block(i)) })
		for i, then := range seen {
			sameBits(t, fmt.Sprintf("%s: gradients of block %d at its call of done", name, i), then, g.Block(i))
		}
		must.Equal(t, len(seen), c.NLayers+2, "%s: parts", name)
	}
}

func TestBadPart(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 4, MaxLen: 8, Training: true})
	for _, p := range []Part{
		{Size: 3, Ends: []int{4}}, {Size: 4, First: 1, Ends: []int{4}}, {Size: 4, First: -1, Ends: []int{4}},
		{Size: 4}, {Size: 4, Ends: []int{3}}, {Size: 4, Ends: []int{2, 2, 4}}, {Size: 4, Ends: []int{5}},
	} {
		b := newBatch(c, 1, 4, 8)
		b.Part = &p
		must.Fail(t, n.Check(b), "convmode: ")
	}
}
