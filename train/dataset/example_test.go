package dataset_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Two series of two channels, each with a class.
func ExampleFromSlices() {
	d, err := dataset.FromSlices(
		dataset.Info{Name: "motions", Channels: 2, Labels: []string{"rest", "walk"}},
		[]dataset.Example{
			{X: []float32{0, 1, 0, 5, 5, 5}, Label: 0}, // channel 0: 0, 1, 0; channel 1: 5, 5, 5
			{X: []float32{4, 7, 5, 5}, Label: 1},
		},
		nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Train.Len(), "series of up to", d.MaxLen, "samples,", d.Outputs, "classes")
	fmt.Println("mean", d.Mean)
	// Output:
	// 2 series of up to 3 samples, 2 classes
	// mean [2.4 5]
}

// The pixel order of psCIFAR is that of torch.manual_seed(0); torch.randperm(1024).
func ExampleRandPerm() {
	fmt.Println(dataset.RandPerm(1024, 0)[:8])
	// Output: [684 217 933 11 227 705 683 980]
}
