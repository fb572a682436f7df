package pretrained_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/pretrained"
)

// A built-in model is loaded by its name and lists its labels.
func ExampleLoad() {
	m, err := pretrained.Load("digits")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Meta.SampleRate, "Hz:", m.Meta.Labels)
	// Output: 8000 Hz: [0 1 2 3 4 5 6 7 8 9 none]
}
