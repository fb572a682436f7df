package convmode_test

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
)

// A step against the gradient lowers the loss ½·Σ logits² by rate·|gradient|² to first order.
func Example() {
	cfg := model.Default()
	cfg.DInput, cfg.DOutput, cfg.DModel, cfg.NLayers = 1, 3, 16, 2
	m, err := model.New(cfg, 1)
	if err != nil {
		panic(err)
	}
	net, err := convmode.New(m, convmode.Options{MaxBatch: 2, MaxLen: 64, Workers: 2, Training: true})
	if err != nil {
		panic(err)
	}
	defer net.Close()

	// Two ramps: one repeats every 8 samples; the other has 40 samples and repeats every 16.
	batch := convmode.Batch{Size: 2, Len: 64, X: make([]float32, 2*64), Lengths: []int{64, 40}}
	for t := range 64 {
		batch.X[t], batch.X[64+t] = float32(t%8)/8, float32(t%16)/16
	}
	loss := func(logits []float32) (sum float64) {
		for _, v := range logits {
			sum += float64(v) * float64(v) / 2
		}
		return sum
	}

	logits := slices.Clone(net.ForwardTrain(batch, convmode.Step{Seed: 1, Step: 0}))
	grads := model.NewWeights(cfg)
	net.Backward(logits, grads) // ∂loss/∂logits = logits

	const rate = 1e-3
	expected := 0.0
	for i, tensor := range grads.Tensors() {
		for j, g := range tensor.Data {
			m.Weights.Tensors()[i].Data[j] -= rate * g
			expected += rate * float64(g) * float64(g)
		}
	}
	fell := loss(logits) - loss(net.Forward(batch))
	fmt.Printf("decrease of the loss, relative to the first order: %.1f\n", fell/expected)
	// Output:
	// decrease of the loss, relative to the first order: 1.0
}
