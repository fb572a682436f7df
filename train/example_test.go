package train_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Data in memory: a network learns to tell slow waves from fast ones. Nothing is written to disk.
func Example() {
	waves := func(from, n int) (examples []dataset.Example) {
		for i := from; i < from+n; i++ {
			e := dataset.Example{Label: i % 2, X: make([]float32, 50)}
			for t := range e.X {
				e.X[t] = float32(math.Sin(float64(i) + float64(t)*(0.2+0.3*float64(i%2))))
			}
			examples = append(examples, e)
		}
		return examples
	}
	data, err := dataset.FromSlices(dataset.Info{Channels: 1, Labels: []string{"slow", "fast"}}, waves(0, 64), waves(64, 32), nil)
	if err != nil {
		log.Fatal(err)
	}

	cfg := train.Default()
	cfg.Model.DModel, cfg.Model.NLayers, cfg.SSM.DState = 8, 1, 8
	cfg.Train.Epochs, cfg.Train.Batch = 20, 8
	cfg.SSM.Bidirectional = false // so that the model can process a stream
	ctx := context.Background()
	t, err := train.New(ctx, cfg, data, train.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Fit(ctx); err != nil {
		log.Fatal(err)
	}
	m := t.Best() // for package recurrent, or m.Save("waves.safetensors")
	r, err := train.Evaluate(ctx, m, data.Val, train.EvalOptions{Info: data.Info})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.N, "waves,", m.Meta.Labels, "more than 90 % right:", r.Accuracy > 0.9)
	// Output:
	// 32 waves, [slow fast] more than 90 % right: true
}
