package train_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/train"
)

// A network learns to repeat a signal ten samples later. The error is relative to that of the
// output 0.
func Example() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	cfg, err := train.Preset("delay")
	if err != nil {
		panic(err)
	}
	for _, set := range []string{
		"data.length=40", "data.delay=10", "data.train_size=1024", "data.eval_size=64",
		"ssm.d_state=16", "ssm.xi_min=0.1", "ssm.xi_max=0.1",
		"optim.lr=0.01", "optim.ssm_lr=0.01", "train.epochs=4", "train.batch=16",
	} {
		if err := cfg.Set(set); err != nil {
			panic(err)
		}
	}
	cfg.Out = filepath.Join(dir, "run")
	t, err := train.New(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	defer t.Close()
	if err := t.Fit(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println("steps:", t.Step())
	fmt.Println("less than 1 % wrong:", *t.Best().RelativeMSE < 0.01)
	// Output:
	// steps: 256
	// less than 1 % wrong: true
}
