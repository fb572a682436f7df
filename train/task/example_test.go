package task_test

import (
	"context"
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// A network learns to repeat a signal ten samples later. The error is relative to that of the
// output 0.
func Example() {
	ctx := context.Background()
	tk, err := task.Lookup("delay")
	if err != nil {
		log.Fatal(err)
	}
	cfg := tk.Preset()
	for _, set := range []string{
		"data.length=40", "data.delay=10", "data.train_size=1024", "data.eval_size=64",
		"ssm.d_state=16", "ssm.xi_min=0.1", "ssm.xi_max=0.1",
		"optim.lr=0.01", "optim.ssm_lr=0.01", "train.epochs=4", "train.batch=16",
	} {
		if err := cfg.Set(set); err != nil {
			log.Fatal(err)
		}
	}
	data, err := tk.Load(ctx, task.From(cfg))
	if err != nil {
		log.Fatal(err)
	}
	t, err := train.New(ctx, cfg, data, train.Options{}) // without a run folder
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Fit(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("steps:", t.Step())
	fmt.Println("less than 1 % wrong:", *t.BestEpoch().RelativeMSE < 0.01)
	// Output:
	// steps: 256
	// less than 1 % wrong: true
}

// The delay task generates its data. The target is the delayed input.
func ExampleTask_Load() {
	tk, err := task.Lookup("delay")
	if err != nil {
		log.Fatal(err)
	}
	d, err := tk.Load(context.Background(), task.Source{Seed: 2, Options: map[string]any{"length": 400, "delay": 100}})
	if err != nil {
		log.Fatal(err)
	}
	var e dataset.Example
	if err := d.Train.Example(&e, 0, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d training sequences of %d samples at %g Hz\n", d.Train.Len(), e.Len, d.SampleRate)
	fmt.Printf("input   %.3f\n", e.X[:5])
	fmt.Printf("target  %.3f … %.3f\n", e.Target[:2], e.Target[100:105])
	// Output:
	// 16384 training sequences of 400 samples at 4000 Hz
	// input   [0.000 -0.588 -0.690 -0.303 -0.387]
	// target  [0.000 0.000] … [0.000 -0.588 -0.690 -0.303 -0.387]
}
