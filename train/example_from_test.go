package train_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A network that tells two pitches apart learns a third one: training starts from its weights. The
// decoder is new, because the labels differ.
func ExampleOptions_from() {
	pitches := func(labels []string, frequencies ...float64) *dataset.Dataset {
		var sets [2][]dataset.Example
		for i := range 60 * len(frequencies) {
			e := dataset.Example{Label: i % len(frequencies), X: make([]float32, 50)}
			for t := range e.X {
				e.X[t] = float32(math.Sin(float64(i) + float64(t)*frequencies[e.Label]))
			}
			part := i / len(frequencies) % 3 / 2 // one in three for validation
			sets[part] = append(sets[part], e)
		}
		d, err := dataset.FromSlices(dataset.Info{Channels: 1, Labels: labels}, sets[0], sets[1], nil)
		if err != nil {
			log.Fatal(err)
		}
		return d
	}
	ctx := context.Background()
	fit := func(cfg train.Config, data *dataset.Dataset, opt train.Options) *train.Trainer {
		t, err := train.New(ctx, cfg, data, opt)
		if err != nil {
			log.Fatal(err)
		}
		if err := t.Fit(ctx); err != nil {
			log.Fatal(err)
		}
		return t
	}

	cfg := train.Default()
	cfg.Model.DModel, cfg.Model.NLayers, cfg.SSM.DState = 8, 1, 8
	cfg.Train.Epochs, cfg.Train.Batch = 15, 8
	base := fit(cfg, pitches([]string{"low", "high"}, 0.2, 0.5), train.Options{}).Best()

	cfg.SetFrom(base) // the same network
	more := fit(cfg, pitches([]string{"low", "high", "highest"}, 0.2, 0.5, 0.9), train.Options{From: base})
	fmt.Println(more.Best().Meta.Labels, "more than 90 % right:", *more.BestEpoch().ValAccuracy > 0.9)
	// Output:
	// [low high highest] more than 90 % right: true
}
