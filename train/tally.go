package train

// tally is what Evaluate adds up over batches. Its fields are exported for package gob.
type tally struct {
	Sums    sums
	Outputs []sums     // regression: of each output, terms and squares
	Failure *nonFinite // of the first example whose output is not finite
}

// tallyOf returns the results of a batch. It overwrites scratch.
func tallyOf(b *batch, scratch, logits []float32) tally {
	t := tally{Failure: b.nonFinite(logits), Sums: b.loss(scratch, logits)}
	t.Outputs = append(t.Outputs, b.outputs...)
	return t
}

// add adds the results of a later batch.
func (t *tally) add(o tally) {
	t.Failure = t.Failure.earlier(o.Failure)
	t.Sums.add(o.Sums)
	for i, s := range o.Outputs {
		t.Outputs[i].add(s)
	}
}
