package train

import (
	"errors"
	"fmt"
	"math"
)

// errNotFinite marks an evaluation whose outputs or loss are NaN or infinite.
var errNotFinite = errors.New("not finite")

// nonFinite is the error of an example for which the network's output is NaN or infinite.
type nonFinite struct {
	index int // of the example in its set
	path  string
	value float32
}

func (w *nonFinite) Error() string {
	name := fmt.Sprintf("example %d", w.index)
	if w.path != "" {
		name += " (" + w.path + ")"
	}
	return fmt.Sprintf("train: %s: the network's output is %v", name, w.value)
}

func (*nonFinite) Is(target error) bool { return target == errNotFinite }

// earlier returns the error whose example comes first in the set. Either may be nil.
func (w *nonFinite) earlier(o *nonFinite) *nonFinite {
	if w == nil || o != nil && o.index < w.index {
		return o
	}
	return w
}

// nonFinite returns the error of the first example, in the set's order, with an output that is not
// finite, or nil. Padding is ignored. Logits: [examples][Outputs], or [examples][Outputs][Len].
func (b *batch) nonFinite(logits []float32) (first *nonFinite) {
	width := b.rowLen()
	for r := range len(logits) / width {
		i := r / b.info.Outputs
		for _, v := range logits[r*width:][:b.validLen(i)] {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				first = first.earlier(&nonFinite{b.members[i], b.examples[i].Path, v})
				break
			}
		}
	}
	return first
}
