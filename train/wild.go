package train

import (
	"errors"
	"fmt"
	"math"
)

// errNotFinite marks results of an evaluation that are no numbers.
var errNotFinite = errors.New("not finite")

// wildOutput is the error of a network that answers an example with NaN or infinity.
type wildOutput struct {
	index int // of the example in its set
	path  string
	value float32
}

func (w *wildOutput) Error() string {
	name := fmt.Sprintf("example %d", w.index)
	if w.path != "" {
		name += " (" + w.path + ")"
	}
	return fmt.Sprintf("train: %s: the network's output is %v", name, w.value)
}

func (*wildOutput) Is(target error) bool { return target == errNotFinite }

// earlier returns the one of two whose example comes first in the set; either may be nil.
func (w *wildOutput) earlier(o *wildOutput) *wildOutput {
	if w == nil || o != nil && o.index < w.index {
		return o
	}
	return w
}

// wildOutput finds the first example in the set's order whose outputs are not all finite, padding left out; or nil.
// Logits: [examples][Outputs], or [examples][Outputs][Len].
func (b *batch) wildOutput(logits []float32) (first *wildOutput) {
	width := b.rowLen()
	for r := range len(logits) / width {
		i := r / b.info.Outputs
		for _, v := range logits[r*width:][:b.counted(i)] {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				first = first.earlier(&wildOutput{b.members[i], b.examples[i].Path, v})
				break
			}
		}
	}
	return first
}
