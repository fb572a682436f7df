package train

import (
	"math/bits"
	"sync"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// partition says which shards of every batch this process computes. They have equal size, and each
// rank has equally many of them (docs/maths.md §21).
type partition struct {
	exchange Exchange
	total    int // shards of a batch
	first    int // of this process
	count    int // of this process
	size     int // examples of a shard
}

// newPartition divides batches of so many examples.
func newPartition(e Exchange, batch, shards int) (partition, error) {
	ranks := e.Ranks()
	switch {
	case bits.OnesCount(uint(shards)) != 1:
		return partition{}, configErrorf("train.shards %d: expected a power of two", shards)
	case ranks > shards:
		return partition{}, configErrorf("train.shards %d: expected at least %d, the number of ranks", shards, ranks)
	case batch%shards != 0:
		return partition{}, configErrorf("train.shards %d: expected a divisor of train.batch, which is %d", shards, batch)
	}
	count := shards / ranks
	return partition{exchange: e, total: shards, first: e.Rank() * count, count: count, size: batch / shards}, nil
}

// examples returns the number of examples of this process in a batch.
func (p *partition) examples() int { return p.count * p.size }

// addPairs leaves in terms[0] the sum of all terms, (t0 + t1) + (t2 + t3) of four.
func addPairs[T any](terms []T, add func(to, from T)) {
	for d := 1; d < len(terms); d *= 2 {
		for i := 0; i+d < len(terms); i += 2 * d {
			add(terms[i], terms[i+d])
		}
	}
}

// shards are those of this process. They compute at the same time.
type shards struct {
	partition
	list    []*shard
	threads chan struct{} // has an element per shard that computes, at most one per thread

	// The current step.
	batch *batch
	step  convmode.Step
	sums  sums        // of all shards
	terms [][]float64 // [count] of the current sum
	err   error       // of exchanging sums

	mu      sync.Mutex
	summed  sync.Cond // the sums that shards wait for are complete
	waiting int       // shards
	round   int       // number of sums
}

func newShards(t *Trainer) (*shards, error) {
	s := &shards{partition: t.partition, terms: make([][]float64, t.partition.count)}
	s.threads, s.summed.L = make(chan struct{}, min(s.count, t.cfg.Workers)), &s.mu
	for i := range s.count {
		part := &convmode.Shard{Index: s.first + i, Count: s.total, Sum: func(values []float64) { s.sumStatistics(i, values) }}
		sh, err := t.newShard(part)
		if err != nil {
			s.close()
			return nil, err
		}
		sh.shards, sh.index = s, i
		s.list = append(s.list, sh)
	}
	return s, nil
}

func (s *shards) close() {
	for _, sh := range s.list {
		sh.net.Close()
	}
}

// each calls f for every shard, at the same time as far as there are threads.
func (s *shards) each(f func(*shard)) {
	if s.count == 1 { // without allocations
		s.run(f, s.list[0])
		return
	}
	var all sync.WaitGroup
	for _, sh := range s.list {
		all.Go(func() { s.run(f, sh) })
	}
	all.Wait()
}

func (s *shards) run(f func(*shard), sh *shard) {
	s.threads <- struct{}{}
	f(sh)
	<-s.threads
}

// sumStatistics replaces the values of all shards by their sums. It waits for all of them.
func (s *shards) sumStatistics(i int, values []float64) {
	<-s.threads
	s.mu.Lock()
	s.terms[i] = values
	if s.waiting++; s.waiting == s.count {
		s.addTerms()
		s.waiting, s.round = 0, s.round+1
		s.summed.Broadcast()
	} else {
		for round := s.round; s.round == round; {
			s.summed.Wait()
		}
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
	if s.err == nil {
		s.err = s.exchange.SumStatistics(s.terms[0])
	}
	for _, v := range s.terms[1:] {
		copy(v, s.terms[0])
	}
}

// forward computes the loss of every shard of a batch. It returns the sums over all shards.
func (s *shards) forward(b *batch, step convmode.Step) (sums, error) {
	s.batch, s.step = b, step
	s.each((*shard).forward)
	for i, sh := range s.list {
		sh.values = sh.sums.values()
		s.terms[i] = sh.values[:]
	}
	s.addTerms()
	s.sums = sumsOf(s.terms[0])
	return s.sums, s.err
}

// backward returns the gradients of the mean loss over all shards.
func (s *shards) backward() (*model.Weights, error) {
	s.each((*shard).backward)
	grads := s.list[0].grads
	addPairs(s.list, func(to, from *shard) { vek.Add(to.grads.Flat(), to.grads.Flat(), from.grads.Flat()) })
	if s.err == nil {
		s.err = s.exchange.SumGradients(grads.Flat())
	}
	return grads, s.err
}

// nonFinite returns where a shard's forward pass first computed NaN or an infinity, and the index
// of the example in the batch, or "" and −1.
func (s *shards) nonFinite() (place string, example int) {
	for i, sh := range s.list {
		if place, sequence := sh.net.NonFinite(); sequence >= 0 {
			return place, i*s.size + sequence*s.size/sh.batch.Size
		}
	}
	return "", -1
}

// A shard computes one of train.shards parts of each batch.
type shard struct {
	shards  *shards
	index   int // among those of this process
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
func (s *shard) forward() {
	all := s.shards
	s.batch = all.batch.slice(s.index*all.size, (s.index+1)*all.size)
	s.batch.column = s.column
	logits := s.net.ForwardTrain(s.batch.Batch, all.step)
	s.dlogits = s.memory[:len(logits)]
	s.sums = s.batch.loss(s.dlogits, logits)
}

// backward computes the gradients of the mean loss over the batch, after forward.
func (s *shard) backward() {
	terms := s.shards.sums.Terms
	if d := s.dlogits; s.sums.Terms != terms { // from the mean over the shard
		vek.Scale(d, float32(float64(s.sums.Terms)/float64(max(terms, 1))), d)
	}
	s.grads.Zero()
	s.net.Backward(s.dlogits, s.grads)
}
