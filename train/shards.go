package train

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// partition says which part of every batch this process computes. A batch has train.shards shards
// of equal size, and each rank has equally many of them (docs/maths.md §22).
type partition struct {
	exchange Exchange // nil: this process has all shards
	count    int      // shards of a batch
	first    int      // of the own shards
	own      int      // number of own shards
	size     int      // examples of a shard
}

// newPartition divides batches of so many examples.
func newPartition(e Exchange, batch, shards int) (partition, error) {
	ranks, rank := 1, 0
	if e != nil {
		ranks, rank = e.Ranks(), e.Rank()
	}
	switch {
	case bits.OnesCount(uint(ranks)) != 1:
		return partition{}, configErrorf("%d ranks: expected a power of two", ranks)
	case bits.OnesCount(uint(shards)) != 1:
		return partition{}, configErrorf("train.shards %d: expected a power of two", shards)
	case ranks > shards:
		return partition{}, configErrorf("train.shards %d: expected at least %d, the number of ranks", shards, ranks)
	case batch%shards != 0:
		return partition{}, configErrorf("train.shards %d: expected a divisor of train.batch, which is %d", shards, batch)
	}
	own := shards / ranks
	return partition{exchange: e, count: shards, first: rank * own, own: own, size: batch / shards}, nil
}

// examples returns the number of examples of this process in a batch.
func (p *partition) examples() int { return p.own * p.size }

// addPairs leaves in terms[0] the sum of all terms, (t0 + t1) + (t2 + t3) of four.
func addPairs[T any](terms []T, add func(to, from T)) {
	for d := 1; d < len(terms); d *= 2 {
		for i := 0; i+d < len(terms); i += 2 * d {
			add(terms[i], terms[i+d])
		}
	}
}

// A shard computes one shard of each batch.
type shard struct {
	index   int // among the own shards
	net     *convmode.Net
	batch   batch     // the part of the current batch
	dlogits []float32 // gradient of the mean loss over the shard
	memory  []float32 // of dlogits
	column  []float32 // memory of batch.column
	sums    sums      // of the current batch
	values  [sumFields]float64
	grads   *model.Weights
}

// shards are the own shards of a process. They compute at the same time.
type shards struct {
	partition
	list    []*shard
	threads chan struct{} // holds a token per shard that computes, at most one per thread
	wait    sync.WaitGroup
	pool    *par.Pool // adds gradients

	// The current step. The methods are values made once, so that a step allocates nothing.
	forwardShard, backwardShard func(*shard)
	batch                       *batch
	step                        convmode.Step
	total                       sums

	mu      sync.Mutex // guards the fields below
	turn    *sync.Cond
	terms   [][]float64 // [own] sums of the BatchNorm that the shards have reached, or of the losses
	waiting int         // shards that have reached it
	round   int         // sums before it
	err     error       // of exchanging them
}

// newShards builds the networks and gradients of the trainer's own shards.
func newShards(t *Trainer) (*shards, error) {
	own := t.partition.own
	s := &shards{
		partition: t.partition, threads: make(chan struct{}, min(own, t.cfg.Workers)), pool: par.New(t.cfg.Workers), terms: make([][]float64, own),
	}
	s.turn, s.forwardShard, s.backwardShard = sync.NewCond(&s.mu), s.computeForward, s.computeBackward
	width := t.data.Outputs
	if t.data.PerPosition {
		width *= t.data.MaxLen
	}
	for i := range s.own {
		opt := t.netOptions()
		opt.Shard = &convmode.Shard{Index: s.first + i, Count: s.count, Sum: func(values []float64) { s.sumStatistics(i, values) }}
		net, err := convmode.New(t.model, opt)
		if err != nil {
			s.close()
			return nil, err
		}
		s.list = append(s.list, &shard{
			index: i, net: net, grads: model.NewWeights(t.model.Config), memory: make([]float32, s.size*width), column: make([]float32, t.data.Outputs),
		})
	}
	return s, nil
}

func (s *shards) close() {
	for _, own := range s.list {
		own.net.Close()
	}
	s.pool.Close()
}

// each calls f for every own shard, at the same time as far as there are threads.
func (s *shards) each(f func(*shard)) {
	for _, own := range s.list[1:] {
		s.wait.Go(func() { s.run(own, f) })
	}
	s.run(s.list[0], f)
	s.wait.Wait()
}

func (s *shards) run(own *shard, f func(*shard)) {
	s.threads <- struct{}{}
	f(own)
	<-s.threads
}

// sumStatistics replaces the values of all shards by their sums. It returns when all shards have
// called it.
func (s *shards) sumStatistics(own int, values []float64) {
	<-s.threads
	s.mu.Lock()
	s.terms[own] = values
	round := s.round
	if s.waiting++; s.waiting == s.own {
		s.addTerms()
		s.waiting, s.round = 0, round+1
		s.turn.Broadcast()
	}
	for s.round == round {
		s.turn.Wait()
	}
	s.mu.Unlock()
	s.threads <- struct{}{}
}

// addTerms replaces the terms of all shards by their sum.
func (s *shards) addTerms() {
	addPairs(s.terms, func(to, from []float64) {
		for i, v := range from {
			to[i] += v
		}
	})
	if s.exchange != nil && s.err == nil {
		if s.err = s.exchange.SumStatistics(s.terms[0]); s.err != nil {
			s.err = fmt.Errorf("train: %w", s.err)
		}
	}
	for _, v := range s.terms[1:] {
		copy(v, s.terms[0])
	}
}

// forward computes the loss of every shard of a batch, and its gradient with respect to the logits.
// It returns the sums over all shards.
func (s *shards) forward(b *batch, step convmode.Step) (sums, error) {
	s.batch, s.step = b, step
	s.each(s.forwardShard)
	for i, own := range s.list {
		own.values = own.sums.values()
		s.terms[i] = own.values[:]
	}
	s.addTerms()
	s.total = sumsOf(s.terms[0])
	return s.total, s.err
}

func (s *shards) computeForward(own *shard) {
	own.batch = s.batch.slice(own.index*s.size, (own.index+1)*s.size)
	own.batch.column = own.column
	logits := own.net.ForwardTrain(own.batch.Batch, s.step)
	own.dlogits = own.memory[:len(logits)]
	own.sums = own.batch.loss(own.dlogits, logits)
}

// backward returns the gradients of the mean loss over all shards.
func (s *shards) backward() (*model.Weights, error) {
	s.each(s.backwardShard)
	if s.err != nil {
		return nil, s.err
	}
	s.addGradients()
	if s.exchange != nil {
		if err := s.exchange.SumGradients(s.list[0].grads.Flat()); err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	return s.list[0].grads, nil
}

func (s *shards) computeBackward(own *shard) {
	// From the mean over the shard to that over the batch.
	if d := own.dlogits; own.sums.Terms != s.total.Terms {
		vek.Scale(d, float32(float64(own.sums.Terms)/float64(max(s.total.Terms, 1))), d)
	}
	own.grads.Zero()
	own.net.Backward(own.dlogits, own.grads)
}

// addGradients adds the gradients of the own shards to those of the first.
func (s *shards) addGradients() {
	if s.own == 1 {
		return
	}
	terms := make([][]float32, s.own)
	for i, own := range s.list {
		terms[i] = own.grads.Flat()
	}
	const chunk = 1 << 14 // floats
	s.pool.For((len(terms[0])+chunk-1)/chunk, func(_, item int) {
		parts := make([][]float32, s.own)
		for i, t := range terms {
			parts[i] = t[item*chunk : min((item+1)*chunk, len(t))]
		}
		addPairs(parts, func(to, from []float32) { vek.Add(to, to, from) })
	})
}

// nonFinite returns where a shard's forward pass first computed NaN or an infinity, and the index
// of the example in the batch, or "" and −1.
func (s *shards) nonFinite() (place string, example int) {
	for _, own := range s.list {
		if place, sequence := own.net.NonFinite(); sequence >= 0 {
			return place, own.index*s.size + sequence*s.size/own.batch.Size
		}
	}
	return "", -1
}

// sumFields is the number of values of sums.values.
const sumFields = 7

// values returns the sums as float64 numbers, which are exact.
func (s *sums) values() [sumFields]float64 {
	return [...]float64{float64(s.Examples), float64(s.Terms), s.Loss, float64(s.Correct), s.Squares, s.Power, s.Deviation}
}

// sumsOf is the inverse of sums.values.
func sumsOf(v []float64) sums {
	return sums{Examples: int(v[0]), Terms: int(v[1]), Loss: v[2], Correct: int(v[3]), Squares: v[4], Power: v[5], Deviation: v[6]}
}
