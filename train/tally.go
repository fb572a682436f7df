package train

import "github.com/s4d-fast/s4d-fast/train/dataset"

// A tally has the results of a batch as numbers, which ranks can sum: the values of sums, 1 if the
// output of an example is not finite, otherwise 0, and for each output of a regression its terms
// and squares.
type tally []float64

const (
	failedField = sumFields
	tallyFields = sumFields + 1 // and two per output
)

func tallySize(info dataset.Info) int {
	if info.Regression {
		return tallyFields + 2*info.Outputs
	}
	return tallyFields
}

// set writes the results of a batch. It overwrites scratch. It returns an error for the first
// example whose output is not finite.
func (t tally) set(b *batch, scratch, logits []float32) *nonFinite {
	s, failed := b.loss(scratch, logits), b.nonFinite(logits)
	values := s.values()
	copy(t, values[:])
	if failed != nil {
		t[failedField] = 1
	}
	for o, sums := range b.outputs {
		t[tallyFields+2*o], t[tallyFields+2*o+1] = float64(sums.Terms), sums.Squares
	}
	return failed
}

// add adds the results of a later batch.
func (t tally) add(o tally) {
	for i, v := range o {
		t[i] += v
	}
}
