package train

import "fmt"

// tally is what Evaluate adds up over batches.
type tally struct {
	sums
	outputs []sums     // regression: of each output, terms and squares
	failure *nonFinite // of the first example whose output is not finite
}

// tallyOf returns the results of a batch. It overwrites scratch.
func tallyOf(b *batch, scratch, logits []float32) tally {
	t := tally{failure: b.nonFinite(logits), sums: b.loss(scratch, logits)}
	t.outputs = append(t.outputs, b.outputs...)
	return t
}

// add adds the results of a later batch.
func (t *tally) add(o tally) {
	t.failure = t.failure.earlier(o.failure)
	t.sums.add(o.sums)
	for i, s := range o.outputs {
		t.outputs[i].add(s)
	}
}

// fields is the number of values that encode a tally.
func (t *tally) fields() int { return 2 + sumFields + 2*len(t.outputs) }

// encode appends the tally to dst, without the path of an example.
func (t *tally) encode(dst []float64) []float64 {
	failed, value := 0.0, 0.0
	if t.failure != nil {
		failed, value = float64(1+t.failure.index), float64(t.failure.value)
	}
	all := t.sums.values()
	dst = append(append(dst, failed, value), all[:]...)
	for _, s := range t.outputs {
		dst = append(dst, float64(s.Terms), s.Squares)
	}
	return dst
}

// decode is the inverse of encode.
func (t *tally) decode(v []float64) {
	if v[0] > 0 {
		t.failure = &nonFinite{index: int(v[0]) - 1, value: float32(v[1])}
	}
	t.sums = sumsOf(v[2:])
	for o := range t.outputs {
		at := v[2+sumFields+2*o:]
		t.outputs[o] = sums{Terms: int(at[0]), Squares: at[1]}
	}
}

// exchangeTallies replaces the tallies of all batches, of which this rank has those whose number is
// its rank modulo the number of ranks, by those that the ranks have.
func exchangeTallies(e Exchange, list []tally, outputs int) error {
	if e == nil {
		return nil
	}
	empty := tally{outputs: make([]sums, outputs)}
	var values []float64
	for i := range list {
		if i%e.Ranks() != e.Rank() {
			list[i] = tally{outputs: make([]sums, outputs)}
			values = append(values, make([]float64, empty.fields())...)
			continue
		}
		values = list[i].encode(values)
	}
	if err := e.SumStatistics(values); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for i := range list {
		if i%e.Ranks() != e.Rank() {
			list[i].decode(values[i*empty.fields():])
		}
	}
	return nil
}
