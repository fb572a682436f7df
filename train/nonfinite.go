package train

import (
	"errors"
	"fmt"
)

// errNotFinite marks an evaluation whose outputs or loss are NaN or infinite.
var errNotFinite = errors.New("not finite")

// nonFinite is the error of an example for which the network's output is NaN or infinite.
type nonFinite struct {
	Index int // of the example in its set
	Path  string
	Value float32
}

func (w *nonFinite) Error() string {
	return fmt.Sprintf("train: %s: the network's output is %v", exampleName(w.Index, w.Path), w.Value)
}

// exampleName returns how errors name an example of a set. The path may be empty.
func exampleName(index int, path string) string {
	if path == "" {
		return fmt.Sprintf("example %d", index)
	}
	return fmt.Sprintf("example %d (%s)", index, path)
}

// Is reports the error as one of the data: a run that computes it itself tests errNotFinite first.
func (*nonFinite) Is(target error) bool { return target == errNotFinite || target == ErrData }

// nonFinite returns an error for the first example, in the set's order, with an output that is not
// finite. Padding is ignored. Logits: [examples][Outputs], or [examples][Outputs][Len].
func (b *batch) nonFinite(logits []float32) (first *nonFinite) {
	width := b.rowLen()
	for r := range len(logits) / width {
		i := r / b.info.Outputs
		for _, v := range logits[r*width:][:b.validLen(i)] {
			if v-v != 0 && (first == nil || b.members[i] < first.Index) {
				first = &nonFinite{b.members[i], b.examples[i].Path, v}
			}
		}
	}
	return first
}

// cause names the first value that is NaN or infinite in a step whose loss is, in the order of the
// computation: a weight, or an output and its example.
func (t *Trainer) cause(s *stepper, b *batch) string {
	if err := t.model.Weights.Validate(); err != nil {
		return err.Error()
	}
	for i, sh := range s.shards.list {
		if place, sequence := sh.net.NonFinite(); sequence >= 0 {
			example := i*t.partition.size + sequence/sequencesPer(t.data.Info)
			return fmt.Sprintf("%s, in %s", place, exampleName(b.members[example], b.examples[example].Path))
		}
	}
	if t.partition.exchange.Ranks() > 1 {
		return "the outputs for the examples of this process are finite"
	}
	return "the output of the decoder is finite, but too large for the loss"
}
