package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// archive is the name of the archive with CIFAR-10's training images, train/CLASS/NAME.jpg.
const archive = "cifar10-jpeg-train.tar.xz"

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

// extract extracts n of an archive's pictures to test/CLASS in a folder.
func extract(ctx context.Context, archive, dir string, n int) error {
	list, err := tar(ctx, nil, "-tf", archive)
	if err != nil {
		return err
	}
	chosen, err := choose(strings.Fields(list), n)
	if err != nil {
		return err
	}
	if _, err := tar(ctx, chosen, "-xf", archive, "-C", dir, "--files-from=-"); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "train"), filepath.Join(dir, "test"))
}

// tar runs tar with lines of input, and returns what it prints.
func tar(ctx context.Context, input []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "tar", args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(input, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("tar %s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// choose returns n pictures, the same number per class, or one more of the first classes if n is
// not a multiple. Within a class they are evenly spaced in the order of names.
func choose(names []string, n int) (chosen []string, err error) {
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".jpg") })
	slices.Sort(names)
	byClass := map[string][]string{}
	var classes []string
	for _, name := range names {
		class := path.Dir(name)
		if byClass[class] == nil {
			classes = append(classes, class)
		}
		byClass[class] = append(byClass[class], name)
	}
	for i, class := range classes {
		list, want := byClass[class], (n+len(classes)-1-i)/len(classes)
		if want > len(list) {
			return nil, fmt.Errorf("%d pictures in %s, expected %d", len(list), class, want)
		}
		for k := range want {
			chosen = append(chosen, list[k*len(list)/want])
		}
	}
	return chosen, nil
}

// decode reads the pictures in a folder as `s4d-fast eval` does, and writes their pixels to a file
// there.
func decode(ctx context.Context, dir string) (*images, error) {
	tk, err := task.Lookup("scifar")
	if err != nil {
		return nil, err
	}
	data, err := tk.Load(ctx, task.Source{Dir: dir, Split: "test"})
	if err != nil {
		return nil, err
	}
	i := &images{file: filepath.Join(dir, "pixels")}
	var e dataset.Example
	for k := range data.Test.Len() {
		if err := data.Test.Example(&e, k, 0); err != nil {
			return nil, err
		}
		i.x, i.labels = append(i.x, e.X...), append(i.labels, e.Label)
	}
	return i, writeFloats(i.file, i.x)
}

// writeFloats writes little-endian float32s.
func writeFloats(file string, x []float32) error {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, x) // to memory: cannot fail
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// readFloats reads little-endian float32s.
func readFloats(file string) ([]float32, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x := make([]float32, len(b)/4)
	_, err = binary.Decode(b, binary.LittleEndian, x)
	return x, err
}
