package train

import (
	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// A shard computes one of train.shards parts of each batch.
type shard struct {
	net     *convmode.Net
	batch   batch     // the part of the current batch
	dlogits []float32 // gradient of the mean loss over the shard
	memory  []float32 // of dlogits
	column  []float32 // memory of batch.column
	sums    sums      // of the current batch
	values  [sumFields]float64
	grads   *model.Weights
}

// newShard builds the network and the gradients of a shard.
func (t *Trainer) newShard(s *convmode.Shard) (*shard, error) {
	opt := t.netOptions()
	opt.Shard = s
	net, err := convmode.New(t.model, opt)
	if err != nil {
		return nil, err
	}
	width := t.data.Outputs
	if t.data.PerPosition {
		width *= t.data.MaxLen
	}
	return &shard{
		net: net, grads: model.NewWeights(t.model.Config), memory: make([]float32, t.partition.size*width), column: make([]float32, t.data.Outputs),
	}, nil
}

// forward computes the loss of the shard's examples, and its gradient with respect to the logits.
func (s *shard) forward(b batch, step convmode.Step) {
	s.batch = b
	s.batch.column = s.column
	logits := s.net.ForwardTrain(s.batch.Batch, step)
	s.dlogits = s.memory[:len(logits)]
	s.sums = s.batch.loss(s.dlogits, logits)
}

// backward computes the gradients of the mean loss over a batch of so many terms, after forward.
func (s *shard) backward(terms int) {
	if d := s.dlogits; s.sums.Terms != terms { // from the mean over the shard
		vek.Scale(d, float32(float64(s.sums.Terms)/float64(max(terms, 1))), d)
	}
	s.grads.Zero()
	s.net.Backward(s.dlogits, s.grads)
}
