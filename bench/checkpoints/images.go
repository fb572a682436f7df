package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
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

// picture is the file of an image.
type picture struct {
	class, name string
	data        []byte
}

// images are decoded pictures, [image][channel][position] in [0, 1], with their labels.
type images struct {
	data   *dataset.Dataset
	x      []float32
	labels []int
	file   string // x in little-endian float32
}

// length is the number of positions, channels the number of colours.
func (i *images) length() int   { return i.data.MaxLen }
func (i *images) channels() int { return i.data.Channels }

// fromArchive returns n of an archive's pictures.
func fromArchive(ctx context.Context, name string, n int) ([]picture, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	xz := exec.CommandContext(ctx, "xz", "-dc", name)
	out, err := xz.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := xz.Start(); err != nil {
		return nil, err
	}
	all, err := readTar(out)
	if err = errors.Join(err, xz.Wait()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return choose(all, n)
}

// readTar returns the pictures of an archive.
func readTar(r io.Reader) ([]picture, error) {
	var all []picture
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(h.Name, ".jpg") {
			continue
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		all = append(all, picture{path.Base(path.Dir(h.Name)), path.Base(h.Name), data})
	}
}

// choose returns n pictures, the same number per class, or one more of the first classes if n is
// not a multiple. Within a class they are evenly spaced in the order of names.
func choose(all []picture, n int) ([]picture, error) {
	byClass := map[string][]picture{}
	var classes []string
	for _, p := range all {
		if byClass[p.class] == nil {
			classes = append(classes, p.class)
		}
		byClass[p.class] = append(byClass[p.class], p)
	}
	slices.Sort(classes)
	var chosen []picture
	for i, class := range classes {
		list := byClass[class]
		slices.SortFunc(list, func(a, b picture) int { return strings.Compare(a.name, b.name) })
		want := (n + len(classes) - 1 - i) / len(classes)
		if want > len(list) {
			return nil, fmt.Errorf("%d pictures of %s, expected %d", len(list), class, want)
		}
		for k := range want {
			chosen = append(chosen, list[k*len(list)/want])
		}
	}
	if len(chosen) != n {
		return nil, fmt.Errorf("no pictures in folders of classes")
	}
	return chosen, nil
}

// decode writes pictures to dir, reads them as `s4d-fast eval` does, and writes their pixels to a
// file there.
func decode(ctx context.Context, dir string, pictures []picture) (*images, error) {
	for _, p := range pictures {
		folder := filepath.Join(dir, "test", p.class)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, p.name), p.data, 0o600); err != nil {
			return nil, err
		}
	}
	tk, err := task.Lookup("scifar")
	if err != nil {
		return nil, err
	}
	data, err := tk.Load(ctx, task.Source{Dir: dir, Split: "test"})
	if err != nil {
		return nil, err
	}
	i := &images{data: data, file: filepath.Join(dir, "pixels")}
	var e dataset.Example
	for k := range data.Test.Len() {
		if err := data.Test.Example(&e, k, 0); err != nil {
			return nil, err
		}
		i.x, i.labels = append(i.x, e.X...), append(i.labels, e.Label)
	}
	return i, writeFloats(i.file, i.x)
}
