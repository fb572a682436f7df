package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// The images have 32×32 pixels.
const (
	channels = 3
	length   = 32 * 32
)

// images are decoded pictures, [image][channel][position] in [0, 1], with their labels.
type images struct {
	x      []float32
	labels []int
	file   string // x in little-endian float32
}

// load reads n of the test images of CIFAR-10 in a folder as `s4d-fast eval` does, evenly spaced in
// their order, and writes their pixels to a file.
func load(ctx context.Context, folder, file string, n int) (*images, error) {
	tk, err := task.Lookup("scifar")
	if err != nil {
		return nil, err
	}
	data, err := tk.Load(ctx, task.Source{Dir: folder, Split: "test"})
	if err != nil {
		return nil, err
	}
	all := data.Test.Len()
	if n > all {
		return nil, fmt.Errorf("-images %d: %s has %d", n, folder, all)
	}
	i := &images{file: file}
	var e dataset.Example
	for k := range n {
		if err := data.Test.Example(&e, k*all/n, 0); err != nil {
			return nil, err
		}
		i.x, i.labels = append(i.x, e.X...), append(i.labels, e.Label)
	}
	return i, writeFloats(file, i.x)
}

func writeFloats(file string, x []float32) error {
	b, _ := binary.Append(nil, binary.LittleEndian, x) // of a fixed size: cannot fail
	return os.WriteFile(file, b, 0o600)
}

func readFloats(file string) ([]float32, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x := make([]float32, len(b)/4)
	_, err = binary.Decode(b, binary.LittleEndian, x)
	return x, err
}
