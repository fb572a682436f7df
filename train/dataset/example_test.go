package dataset_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The delay task generates its data. The target is the delayed input.
func ExampleLoad() {
	d, err := dataset.Load("delay", dataset.Options{Seed: 2, Length: 400, Delay: 100})
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

// The pixel order of psCIFAR is that of torch.manual_seed(0); torch.randperm(1024).
func ExampleRandPerm() {
	fmt.Println(dataset.RandPerm(1024, 0)[:8])
	// Output: [684 217 933 11 227 705 683 980]
}
