package train

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// words is a set of one example with these tokens.
type words []int32

func (words) Len() int { return 1 }

func (w words) Example(dst *dataset.Example, _, _ int) error {
	*dst = dataset.Example{Tokens: w, Len: len(w), Path: "a.txt"}
	return nil
}

// A token outside the vocabulary is an error that names the example, before the network reads it.
func TestUnknownToken(t *testing.T) {
	b := newBatch(dataset.Info{Vocab: 4, Outputs: 2, MaxLen: 8}, &model.Meta{}, 1)
	for token, want := range map[int32]string{
		-1: "train: example 0 (a.txt): token 2 is -1, expected 0 to 3",
		4:  "train: example 0 (a.txt): token 2 is 4, expected 0 to 3",
	} {
		b.load(words{0, 3, token}, []int{0}, 0)
		must.Fail(t, b.err, want)
	}
	b.load(words{0, 3, 2}, []int{0}, 0)
	must.Do(t, b.err)
}
