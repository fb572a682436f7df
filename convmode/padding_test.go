package convmode

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/model"
)

// TestPaddingDoesNotMatter checks that the contents of the padding change neither the logits nor,
// with a norm per position, the gradients.
func TestPaddingDoesNotMatter(t *testing.T) {
	for name, change := range map[string]func(c *model.Config){
		"mean":          func(c *model.Config) {},
		"mean-max":      func(c *model.Config) { c.Pool = model.PoolMeanMax },
		"last":          func(c *model.Config) { c.Pool = model.PoolLast },
		"pre-norm":      func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true },
		"bidirectional": func(c *model.Config) { c.SSM.Bidirectional = true },
	} {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			change(&c)
			n := newNet(t, newModel(t, c), Options{MaxBatch: 3, MaxLen: 64, Workers: 2, Training: true})
			clean := newBatch(c, 1, 3, 64, 64, 30, 5)
			dirty := clean
			dirty.X = slices.Clone(clean.X)
			for b, length := range clean.Lengths {
				for ch := range c.DInput {
					row := dirty.X[(b*c.DInput+ch)*64:][:64]
					for i := length; i < 64; i++ {
						row[i] = 1000
					}
				}
			}
			run := func(b Batch) ([]float32, *model.Weights) {
				g := model.NewWeights(c)
				logits := slices.Clone(n.ForwardTrain(b, Step{}))
				n.Backward(noise(2, len(logits)), g)
				return logits, g
			}
			want, wantGrads := run(clean)
			got, gotGrads := run(dirty)
			sameBits(t, "logits", got, want)
			for i, tensor := range wantGrads.Tensors() {
				sameBits(t, "gradient of "+tensor.Name, gotGrads.Tensors()[i].Data, tensor.Data)
			}
		})
	}
}

// TestNeighbours checks that a sequence with large or infinite values does not change the others of
// its batch.
func TestNeighbours(t *testing.T) {
	c := tiny()
	m := newModel(t, c)
	n := newNet(t, m, Options{MaxBatch: 2, MaxLen: 64})
	b := newBatch(c, 1, 1, 64)
	alone := slices.Clone(n.Forward(b))
	for name, factor := range map[string]float32{"loud": 1e4, "infinite": float32(math.Inf(1)), "NaN": float32(math.NaN())} {
		pair := Batch{Size: 2, Len: 64, X: slices.Concat(b.X, b.X)}
		for i := range b.X {
			pair.X[len(b.X)+i] *= factor
		}
		got := n.Forward(pair)
		for k, want := range alone {
			if d := math.Abs(float64(got[k] - want)); !(d <= 1e-5) {
				t.Errorf("next to a sequence that is %s: logit %d = %v, expected %v", name, k, got[k], want)
			}
		}
	}
}
