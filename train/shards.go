package train

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// partition says which shards of every batch this process computes. They have equal size, and each
// rank has equally many of them (docs/maths.md §21).
type partition struct {
	exchange Exchange
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
	return partition{exchange: e, first: e.Rank() * count, count: count, size: batch / shards}, nil
}

// shards are those of this process. They compute one after another, each on all threads.
type shards struct {
	partition
	list  []*shard
	batch *batch // the current one
	step  convmode.Step
	sums  sums // of all shards of the batch
}

// A shard computes one of train.shards parts of each batch, as a coroutine: next continues it up to
// the next sum over shards, and returns its term, or nil after a forward or a backward pass.
type shard struct {
	convmode.Shard
	net   *convmode.Net
	grads *model.Weights
	next  func() (term []float64, alive bool)
	stop  func()
	term  []float64 // of the current sum, which replaces it
}

func newShards(t *Trainer) (*shards, error) {
	s := &shards{partition: t.partition}
	for i := range s.count {
		sh := &shard{Shard: convmode.Shard{Index: s.first + i, Count: s.count * s.exchange.Ranks()}, grads: model.NewWeights(t.model.Config)}
		sh.next, sh.stop = iter.Pull(func(yield func(term []float64) bool) { s.compute(i, sh, yield) })
		opt, err := t.netOptions(), error(nil)
		opt.Shard = &sh.Shard
		if sh.net, err = convmode.New(t.model, opt); err != nil {
			s.close()
			return nil, err
		}
		s.list = append(s.list, sh)
	}
	return s, nil
}

func (s *shards) close() {
	for _, sh := range s.list {
		sh.stop()
		sh.net.Close()
	}
}

// compute runs the passes of shard i of this process, until yield returns false.
func (s *shards) compute(i int, sh *shard, yield func(term []float64) bool) {
	var dlogits []float32 // gradient of the mean loss over all shards
	var values [sumFields]float64
	sh.Sum = func(values []float64) { yield(values) }
	for again := true; again; again = yield(nil) {
		b := s.batch.slice(i*s.size, (i+1)*s.size)
		logits := sh.net.ForwardTrain(b.Batch, s.step)
		dlogits = slices.Grow(dlogits[:0], len(logits))[:len(logits)]
		own := b.loss(dlogits, logits)
		values = own.values()
		yield(values[:])
		s.sums = sumsOf(values[:])
		if own.Terms != s.sums.Terms { // from the mean over the shard
			vek.Scale(dlogits, float32(float64(own.Terms)/float64(max(s.sums.Terms, 1))), dlogits)
		}
		if !yield(nil) {
			return
		}
		sh.grads.Zero()
		sh.net.Backward(dlogits, sh.grads)
	}
}

// addPairs leaves in the first shard the sum over all, (0 + 1) + (2 + 3) of four.
func (s *shards) addPairs(add func(to, from *shard)) {
	for d := 1; d < s.count; d *= 2 {
		for i := 0; i+d < s.count; i += 2 * d {
			add(s.list[i], s.list[i+d])
		}
	}
}

// advance continues all shards to the end of their forward or backward pass.
func (s *shards) advance() (err error) {
	for {
		for _, sh := range s.list {
			sh.term, _ = sh.next()
		}
		sum := s.list[0].term
		if sum == nil {
			return err
		}
		s.addPairs(func(to, from *shard) {
			for i, v := range from.term {
				to.term[i] += v
			}
		})
		if err == nil {
			err = s.exchange.SumStatistics(sum)
		}
		for _, sh := range s.list[1:] {
			copy(sh.term, sum)
		}
	}
}

// backward returns the gradients of the mean loss over all shards, after forward.
func (s *shards) backward() (*model.Weights, error) {
	err := s.advance()
	s.addPairs(func(to, from *shard) { vek.Add(to.grads.Flat(), to.grads.Flat(), from.grads.Flat()) })
	grads := s.list[0].grads
	if err == nil {
		err = s.exchange.SumGradients(grads.Flat())
	}
	return grads, err
}
