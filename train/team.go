package train

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/internal/shard"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// team is the part of a run that this process has: its shards of every batch, and what it exchanges
// with other processes.
type team struct {
	group    Group // nil: this process has all shards
	rank     int
	ranks    int
	shards   int            // of a batch
	own      shard.Span     // of this process
	examples shard.Span     // of this process in a batch
	part     *convmode.Part // nil: one shard
	spans    []shard.Span   // examples of each own shard, from the first of this process

	grads []*model.Weights // of each own shard
	order []shard.Addition // of own shards, which leaves the sums of the nodes
	nodes []int            // own shards that hold them
	sends [][]float32      // argument of Sum

	counts []int // of values per rank, in exchanges of values per shard
	values []float64
	all    []float64
}

// newTeam returns the part of this process in a run with batches of so many examples.
func newTeam(g Group, batch, shards, towers int) (team, error) {
	t := team{group: g, ranks: 1, shards: shards}
	if g != nil {
		t.rank, t.ranks = g.Rank(), g.Ranks()
	}
	if t.ranks > shards {
		return t, configErrorf("train.shards %d: expected at least %d, the number of ranks", shards, t.ranks)
	}
	t.own = shard.Of(shards, t.ranks, t.rank)
	of := func(s int) shard.Span { return shard.Of(batch, shards, s) }
	t.examples = shard.Span{Lo: of(t.own.Lo).Lo, Hi: of(t.own.Hi - 1).Hi}
	for s := t.own.Lo; s < t.own.Hi; s++ {
		t.spans = append(t.spans, shard.Span{Lo: of(s).Lo - t.examples.Lo, Hi: of(s).Hi - t.examples.Lo})
	}
	if shards > 1 {
		t.part = &convmode.Part{First: towers * t.examples.Lo, Size: towers * batch}
		for _, s := range t.spans {
			t.part.Ends = append(t.part.Ends, towers*s.Hi)
		}
	}
	for _, node := range shard.Cover(shards, t.own) {
		first := node.Lo - t.own.Lo
		t.nodes = append(t.nodes, first)
		for _, a := range shard.Additions(shard.Leaves(node)) {
			t.order = append(t.order, shard.Addition{To: first + a.To, From: first + a.From})
		}
	}
	t.counts = make([]int, t.ranks)
	return t, nil
}

// newGrads allocates the gradients.
func (t *team) newGrads(c model.Config) {
	t.grads = nil
	for range t.spans {
		t.grads = append(t.grads, model.NewWeights(c))
	}
	t.sends = make([][]float32, len(t.nodes))
}

// groupFailure is what a call of Group panics with inside a pass of the network.
type groupFailure struct{ error }

// catch sets err to the error of a groupFailure. It is deferred.
func catch(err *error) {
	switch v := recover().(type) {
	case nil:
	case groupFailure:
		*err = fmt.Errorf("train: %w", v.error)
	default:
		panic(v)
	}
}

// GatherShards is that of convmode.Gatherer.
func (t *team) GatherShards(values []float64) []float64 {
	if t.group == nil {
		return values
	}
	per, total := len(values)/t.own.Len(), 0
	for r := range t.counts {
		t.counts[r] = per * shard.Of(t.shards, t.ranks, r).Len()
		total += t.counts[r]
	}
	if cap(t.all) < total {
		t.all = make([]float64, total)
	}
	all := t.all[:total]
	if err := t.group.Gather(all, values, t.counts); err != nil {
		panic(groupFailure{err})
	}
	return all
}

// gather returns the values of all ranks, each of which passes as many.
func (t *team) gather(values []float64) ([]float64, error) {
	if t.group == nil {
		return values, nil
	}
	for r := range t.counts {
		t.counts[r] = len(values)
	}
	all := make([]float64, t.ranks*len(values))
	return all, t.group.Gather(all, values, t.counts)
}

// loss computes the loss of a batch over all shards, and the gradient of its mean.
func (t *team) loss(b *batch, dlogits, logits []float32) sums {
	if t.part == nil {
		return b.loss(dlogits, logits)
	}
	t.values = t.values[:0]
	per := len(logits) / len(b.members)
	for _, s := range t.spans {
		own := b.slice(s.Lo, s.Hi)
		of := own.loss(dlogits[per*s.Lo:per*s.Hi], logits[per*s.Lo:per*s.Hi])
		v := of.values()
		t.values = append(t.values, v[:]...)
	}
	all := t.GatherShards(t.values)
	var total sums
	for i := 0; i < len(all); i += sumFields {
		total.add(sumsOf(all[i : i+sumFields]))
	}
	for i, s := range t.spans { // from the mean over a shard to that over the batch
		terms := t.values[i*sumFields+1]
		d := dlogits[per*s.Lo : per*s.Hi]
		vek.Scale(d, float32(terms/float64(max(total.Terms, 1))), d)
	}
	return total
}

// sumChunk is the length in floats of the items in which gradients are added.
const sumChunk = 1 << 14

// sumBlock adds the gradients of a block over the own shards, and starts to add those of all ranks.
func (t *team) sumBlock(pool *par.Pool, block int) {
	if t.part == nil {
		return
	}
	size := len(t.grads[0].Block(block))
	if size == 0 {
		return
	}
	if len(t.order) > 0 {
		pool.For((size+sumChunk-1)/sumChunk, func(_, item int) {
			lo, hi := item*sumChunk, min((item+1)*sumChunk, size)
			for _, a := range t.order {
				to, from := t.grads[a.To].Block(block)[lo:hi], t.grads[a.From].Block(block)[lo:hi]
				vek.Add(to, to, from)
			}
		})
	}
	if t.group == nil {
		return
	}
	for i, s := range t.nodes {
		t.sends[i] = t.grads[s].Block(block)
	}
	t.group.Sum(t.sends, t.shards)
}

// wait waits for the sums of all blocks.
func (t *team) wait() error {
	if t.group == nil {
		return nil
	}
	if err := t.group.Wait(); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// errStopped is the error of a rank whose run another rank stops.
var errStopped = errors.New("another rank was interrupted")

// share sets the state of the other ranks to that of the first, and checks that they have the same
// configuration, kernel level and data.
func (t *Trainer) share() error {
	if t.team.group == nil {
		return nil
	}
	var parts [4]bytes.Buffer // configuration, checkpoint, model of the best epoch, level
	if t.team.rank == 0 {
		text, err := t.cfg.Encode()
		if err != nil {
			return err
		}
		parts[0].Write(text)
		f, err := t.checkpointData()
		if err != nil {
			return err
		}
		if _, err := f.WriteTo(&parts[1]); err != nil {
			return err
		}
		if t.best != nil {
			if _, err := t.best.WriteTo(&parts[2]); err != nil {
				return err
			}
		}
		parts[3].WriteString(string(vek.CurrentLevel()))
	}
	var first [len(parts)][]byte
	for i := range parts {
		all, err := t.team.group.GatherBytes(parts[i].Bytes())
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		first[i] = all[0]
	}
	if t.team.rank == 0 {
		return nil
	}
	return t.adopt(first[0], first[1], first[2], string(first[3]))
}

// adopt sets the state of this rank to that of the first one.
func (t *Trainer) adopt(config, checkpoint, best []byte, level string) error {
	if own := vek.CurrentLevel(); level != string(own) {
		return configErrorf("level %q: rank 0 has %q, and results differ between levels: select one level for all ranks", own, level)
	}
	recorded := Default()
	if err := recorded.Merge(config, "the configuration of rank 0"); err != nil {
		return err
	}
	here, there := t.portable(t.cfg), t.portable(recorded)
	if diff := here.difference(&there); diff != "" {
		return configErrorf("the configuration differs from that of rank 0: %s", diff)
	}
	f, err := safetensors.Read(bytes.NewReader(checkpoint))
	if err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	s, err := stateOf(f)
	if err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	if err := s.Data.compare(t.fingerprint); err != nil {
		return configErrorf("the data differ from those of rank 0: %w", err)
	}
	if err := t.restore(f, s); err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	if len(best) > 0 {
		if t.best, err = model.Read(bytes.NewReader(best)); err != nil {
			return dataError{fmt.Errorf("train: the best model of rank 0: %w", err)}
		}
	}
	return nil
}
