package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// An image is a sequence of pixels, row after row (docs/maths.md §5.2). A tenth of the published
// training images, selected by PyTorch's random_split with seed 42, is the validation set. The
// published test images are the test set.
const imageSeed = 42

// permutationSeed is the seed of PyTorch's randperm that orders the pixels of permuted images
// (docs/maths.md §5.2).
const permutationSeed = 0

// imageTask is a task on square images.
type imageTask struct {
	name     string
	side     int // pixels
	channels int // three, or one of luminance
	permuted bool
	source   string
	// readPublished reads the published files. It returns nil, nil if the folder has another
	// layout.
	readPublished func(dir string, test bool, channels int) (*rawImages, error)
}

func (t imageTask) register() {
	d := Task{name: t.name, source: t.source, options: noOptions(t.load)}
	if !t.permuted {
		d.imageWidth = t.side
	}
	register(d)
}

// rawImages are decoded images of one size: [image][row][column][R, G, B], or [image][row][column]
// of gray ones.
type rawImages struct {
	pixels   []byte // nil: each image is read from its file when it is needed
	channels int
	labels   []uint8
	classes  []string
	paths    []string // nil if a file contains many images
}

// imageSet is a split: some of the images, with their pixels in an order.
type imageSet struct {
	images  *rawImages
	members []int
	order   []int // of the pixels; nil: as stored
	side    int   // pixels
}

func (t imageTask) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: dataset.Info{Channels: t.channels, MaxLen: t.side * t.side}}
	if t.channels == 3 {
		d.ChannelNames = []string{"red", "green", "blue"}
	}
	if src.includes(trainSplit) || src.includes(valSplit) {
		images, err := t.read(ctx, src, false)
		if err != nil {
			return nil, err
		}
		d.Labels = images.classes
		n := len(images.labels)
		parts := dataset.RandomSplit(imageSeed, n-n/10, n/10)
		if src.includes(trainSplit) {
			s := t.set(images, parts[0])
			d.Train = s
			if d.Mean, d.Std, err = dataset.MeanStdOfSet(s, t.channels, s.Len()); err != nil {
				return nil, err
			}
		}
		if src.includes(valSplit) && len(parts[1]) > 0 {
			d.Val = t.set(images, parts[1])
		}
	}
	if src.includes(testSplit) {
		images, err := t.read(ctx, src, true)
		switch {
		case err == nil:
			if d.Labels != nil && !slices.Equal(d.Labels, images.classes) {
				a, b := suggest.Difference(d.Labels, images.classes)
				return nil, fmt.Errorf("%s has the classes %s, %s the classes %s; expected the same", filepath.Join(src.Dir, "train"), a,
					filepath.Join(src.Dir, "test"), b)
			}
			d.Labels = images.classes
			d.Test = t.set(images, identity(len(images.labels)))
		case !errors.Is(err, os.ErrNotExist) || src.Split == "test":
			return nil, err
		}
	}
	d.Outputs = len(d.Labels)
	return d, nil
}

// read reads the training or the test images in one of the layouts.
func (t imageTask) read(ctx context.Context, src Source, test bool) (*rawImages, error) {
	images, err := t.readPublished(src.Dir, test, t.channels)
	if err != nil || images != nil {
		return images, err
	}
	part := "train"
	if test {
		part = "test"
	}
	dir := filepath.Join(src.Dir, part)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return readImageFolder(ctx, dir, t.side, t.channels, src)
}

func (t imageTask) set(images *rawImages, members []int) *imageSet {
	s := &imageSet{images: images, members: members, side: t.side}
	if t.permuted {
		s.order = dataset.RandPerm(s.Length(0), permutationSeed)
	}
	return s
}

func (s *imageSet) Len() int { return len(s.members) }

func (s *imageSet) Length(int) int { return s.side * s.side }

// Identity identifies an example by its file and, if they are in memory, its pixels.
func (s *imageSet) Identity(i int) dataset.Identity {
	k := s.members[i]
	id := dataset.Identity{Label: int(s.images.labels[k])}
	if s.images.pixels != nil {
		pixels, _ := s.pixels(k) // in memory: no error
		id.Samples = []any{pixels}
	}
	if s.images.paths != nil {
		id.Path = s.images.paths[k]
	}
	return id
}

// pixels returns those of image k. It reads the file of an image that is not in memory.
func (s *imageSet) pixels(k int) ([]byte, error) {
	size := s.Length(0) * s.images.channels
	if s.images.pixels != nil {
		return s.images.pixels[k*size:][:size], nil
	}
	one := rawImages{channels: s.images.channels, pixels: make([]byte, 0, size)}
	err := one.readImage(s.images.paths[k], s.side)
	return one.pixels, err
}

func (s *imageSet) Example(dst *dataset.Example, i, _ int) error {
	k, length := s.members[i], s.Length(i)
	pixels, err := s.pixels(k)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	*dst = dataset.Example{
		X: dataset.Resize(dst.X, s.images.channels*length), Tokens: dst.Tokens[:0], Len: length,
		Label: int(s.images.labels[k]), Target: dst.Target[:0],
	}
	if s.images.paths != nil {
		dst.Path = s.images.paths[k]
	}
	for c := range s.images.channels {
		s.channel(dst.X[c*length:(c+1)*length], pixels, c)
	}
	return nil
}

// channel writes one channel of an image, in [0, 1].
func (s *imageSet) channel(dst []float32, pixels []byte, c int) {
	for i := range dst {
		at := i
		if s.order != nil {
			at = s.order[i]
		}
		dst[i] = float32(pixels[at*s.images.channels+c]) / 255
	}
}

// addPixel appends a pixel, or its luminance.
func (r *rawImages) addPixel(red, green, blue byte) {
	if r.channels == 3 {
		r.pixels = append(r.pixels, red, green, blue)
	} else {
		r.pixels = append(r.pixels, luminance(red, green, blue))
	}
}

// luminance returns the luminance of ITU-R 601 in PIL's integer arithmetic (docs/maths.md §5.2).
func luminance(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 32768) >> 16)
}
