package train

import (
	"context"
	"fmt"
)

// tally is what Evaluate adds up over batches.
type tally struct {
	sums
	outputs []sums     // regression: of each output, terms and squares
	failure *nonFinite // of the first example whose output is not finite
	err     error      // of reading the batch
}

func newTally(outputs int) *tally { return &tally{outputs: make([]sums, outputs)} }

// set sets t to the results of a batch. It overwrites scratch.
func (t *tally) set(b *batch, scratch, logits []float32) {
	t.failure = b.nonFinite(logits)
	t.sums = b.loss(scratch, logits)
	copy(t.outputs, b.outputs)
}

// add adds the results of a later batch.
func (t *tally) add(o *tally) {
	t.failure = t.failure.earlier(o.failure)
	t.sums.add(o.sums)
	for i, s := range o.outputs {
		t.outputs[i].add(s)
	}
}

// addAll adds the results of a batch of every rank, in their order, so that the bits are those of
// one process.
func (t *tally) addAll(ctx context.Context, team *team, own *tally) error {
	if team == nil || team.group == nil {
		if own.err != nil {
			return dataError{own.err}
		}
		t.add(own)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	v := own.values(ctx.Err() != nil)
	all, err := team.gather(v)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	stopped, unread := false, -1
	for rank := range team.ranks {
		of := newTally(len(t.outputs))
		stop, failed := of.setValues(all[rank*len(v) : (rank+1)*len(v)])
		stopped = stopped || stop
		if failed && unread < 0 {
			unread = rank
		}
		if rank == team.rank {
			of = own
		}
		t.add(of)
	}
	switch {
	case own.err != nil:
		return dataError{own.err}
	case unread >= 0:
		return dataError{fmt.Errorf("train: rank %d could not read its examples", unread)}
	case stopped:
		return errStopped
	}
	return nil
}

// values encodes the tally for an exchange between ranks.
func (t *tally) values(stop bool) []float64 {
	flags := [4]float64{}
	for i, is := range [...]bool{stop, t.err != nil, t.failure != nil} {
		if is {
			flags[i] = 1
		}
	}
	list := flags[:]
	if t.failure != nil {
		list[2], list[3] = float64(1+t.failure.index), float64(t.failure.value)
	}
	all := t.sums.values()
	list = append(list, all[:]...)
	for _, s := range t.outputs {
		list = append(list, float64(s.Terms), s.Squares)
	}
	return list
}

// setValues is the inverse of values, without the path of an example.
func (t *tally) setValues(v []float64) (stop, failed bool) {
	if v[2] > 0 {
		t.failure = &nonFinite{index: int(v[2]) - 1, value: float32(v[3])}
	}
	t.sums = sumsOf(v[4:])
	for o := range t.outputs {
		at := v[4+sumFields+2*o:]
		t.outputs[o] = sums{Terms: int(at[0]), Squares: at[1]}
	}
	return v[0] > 0, v[1] > 0
}

// ranks returns the number of processes that share the batches.
func (o *EvalOptions) ranks() int {
	if o.team == nil {
		return 1
	}
	return o.team.ranks
}

// ownBatches returns the number of batches, and those of this process: every batch whose number is
// its rank modulo the number of ranks.
func (o *EvalOptions) ownBatches(all [][]int) (count int, own [][]int) {
	if o.ranks() == 1 {
		return len(all), all
	}
	for i := o.team.rank; i < len(all); i += o.team.ranks {
		own = append(own, all[i])
	}
	return len(all), own
}
