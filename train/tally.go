package train

import "github.com/s4d-fast/s4d-fast/train/dataset"

// A tally has the results of a batch as numbers, which ranks can sum: the values of sums, 1 + the
// index of the first example whose output is not finite, or 0, that output, and for each output of
// a regression its terms and squares.
type tally []float64

const (
	failedIndex = sumFields
	failedValue = sumFields + 1
	tallyFields = sumFields + 2 // and two per output
)

func tallySize(info dataset.Info) int {
	if info.Regression {
		return tallyFields + 2*info.Outputs
	}
	return tallyFields
}

// set writes the results of a batch. It overwrites scratch.
func (t tally) set(b *batch, scratch, logits []float32) {
	index, value := b.nonFinite(logits)
	s := b.loss(scratch, logits)
	values := s.values()
	t = append(t[:0], values[:]...)
	t = append(t, float64(index+1), float64(value))
	for _, o := range b.outputs {
		t = append(t, float64(o.Terms), o.Squares)
	}
}

// add adds the results of a later batch.
func (t tally) add(o tally) {
	first, value := t[failedIndex], t[failedValue]
	if i := o[failedIndex]; i > 0 && (first == 0 || i < first) {
		first, value = i, o[failedValue]
	}
	for i, v := range o {
		t[i] += v
	}
	t[failedIndex], t[failedValue] = first, value
}
