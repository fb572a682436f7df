package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Images are read pixel by pixel, row after row (docs/maths.md §5.2). A tenth of the published training images, chosen by
// PyTorch's split of seed 42, is the validation set; the published test images are the test set.
const imageSeed = 42

// permutationSeed orders the pixels of permuted images: PyTorch's permutation of seed 0 (docs/maths.md §5.2).
const permutationSeed = 0

const (
	cifarSource = "CIFAR-10 is published at www.cs.toronto.edu/~kriz/cifar.html: unpack its binary version there, or put images into train/CLASS and test/CLASS"
	mnistSource = "MNIST is published at yann.lecun.com/exdb/mnist: put its four files there, or images into train/DIGIT and test/DIGIT"
)

// imageTask is one way to read a set of images.
type imageTask struct {
	name          string
	side          int  // images are squares
	colour        bool // three channels, else one of luminance
	permuted      bool
	source        string
	readPublished func(dir string, test bool) (*rawImages, error) // nil, nil where the folder has another layout
}

// cifar and mnist are the two sets.
func cifar(name string, colour, permuted bool) imageTask {
	return imageTask{name: name, side: 32, colour: colour, permuted: permuted, source: cifarSource, readPublished: readCIFAR}
}

func mnist(name string, permuted bool) imageTask {
	return imageTask{name: name, side: 28, permuted: permuted, source: mnistSource, readPublished: readMNIST}
}

// rawImages are decoded pictures of one size, [image][row][column][R, G, B] or, gray, without the last.
type rawImages struct {
	pixels   []byte
	channels int
	labels   []uint8
	classes  []string
	paths    []string // of images in files of their own
}

// imageSet is a split: some of the images, their pixels in an order.
type imageSet struct {
	images   *rawImages
	members  []int
	order    []int // nil: as they stand
	length   int   // pixels
	channels int   // of an example
}

func (t imageTask) load(opt Options) (*Dataset, error) {
	if opt.Dir == "" {
		return nil, fmt.Errorf("the folder of the data is missing; %s", t.source)
	}
	if err := opt.refuseRecorded(); err != nil {
		return nil, err
	}
	d := &Dataset{Info: Info{Task: t.name, Channels: 1, MaxLen: t.side * t.side}}
	if t.colour {
		d.Channels = 3
	}
	if opt.wants(train) || opt.wants(val) {
		images, err := t.read(opt, false)
		if err != nil {
			return nil, err
		}
		d.Labels = images.classes
		n := len(images.labels)
		parts := RandomSplit(imageSeed, n-n/10, n/10)
		if opt.wants(train) {
			s := t.set(images, parts[0])
			d.Train = s
			d.Mean, d.Std = s.moments()
		}
		if opt.wants(val) && len(parts[1]) > 0 {
			d.Val = t.set(images, parts[1])
		}
	}
	if opt.wants(test) {
		images, err := t.read(opt, true)
		switch {
		case err == nil:
			if d.Labels != nil && !slices.Equal(d.Labels, images.classes) {
				return nil, fmt.Errorf("%s has the classes %q, %s the classes %q: want the same", filepath.Join(opt.Dir, "train"), d.Labels,
					filepath.Join(opt.Dir, "test"), images.classes)
			}
			d.Labels = images.classes
			d.Test = t.set(images, identity(len(images.labels)))
		case !errors.Is(err, os.ErrNotExist) || opt.Split == "test":
			return nil, err
		}
	}
	d.Outputs = len(d.Labels)
	return d, nil
}

// read reads the training or the test images in whichever layout the folder has.
func (t imageTask) read(opt Options, test bool) (*rawImages, error) {
	images, err := t.readPublished(opt.Dir, test)
	if err != nil || images != nil {
		return images, err
	}
	part := "train"
	if test {
		part = "test"
	}
	dir := filepath.Join(opt.Dir, part)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("data folder: %w; %s", err, t.source)
	}
	return readImageFolder(dir, t.side, t.colour, opt)
}

func (t imageTask) set(images *rawImages, members []int) *imageSet {
	s := &imageSet{images: images, members: members, length: t.side * t.side, channels: 1}
	if t.colour {
		s.channels = 3
	}
	if t.permuted {
		s.order = RandPerm(s.length, permutationSeed)
	}
	return s
}

func (s *imageSet) Len() int { return len(s.members) }

func (s *imageSet) Length(int) int { return s.length }

func (s *imageSet) Example(dst *Example, i, _ int) error {
	if i < 0 || i >= len(s.members) {
		return outOfRange(i, len(s.members))
	}
	k := s.members[i]
	*dst = Example{
		X: resize(dst.X, s.channels*s.length), Tokens: dst.Tokens[:0], Len: s.length,
		Label: int(s.images.labels[k]), Target: dst.Target[:0],
	}
	if s.images.paths != nil {
		dst.Path = s.images.paths[k]
	}
	for c := range s.channels {
		s.channel(dst.X[c*s.length:(c+1)*s.length], k, c)
	}
	return nil
}

// channel writes one channel of image k, in [0, 1].
func (s *imageSet) channel(dst []float32, k, c int) {
	size := s.length * s.images.channels
	pixels := s.images.pixels[k*size : (k+1)*size]
	for i := range dst {
		at := i
		if s.order != nil {
			at = s.order[i]
		}
		var v byte
		switch p := pixels[at*s.images.channels:]; {
		case s.images.channels == s.channels:
			v = p[c]
		default:
			v = luminance(p[0], p[1], p[2])
		}
		dst[i] = float32(v) / 255
	}
}

// luminance is ITU-R 601's, in integers as PIL computes it (docs/maths.md §5.2).
func luminance(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 32768) >> 16)
}

// moments returns the mean and the standard deviation of every channel.
func (s *imageSet) moments() (mean, std []float32) {
	x := make([]float32, s.length)
	for c := range s.channels {
		var m moments
		for _, k := range s.members {
			s.channel(x, k, c)
			m.add(x)
		}
		center, spread := m.meanStd()
		mean, std = append(mean, center), append(std, spread)
	}
	return mean, std
}

var cifarClasses = strings.Fields("airplane automobile bird cat deer dog frog horse ship truck")

// readCIFAR reads the binary version: per image a byte of label and 32·32 bytes each of red, green and blue.
func readCIFAR(dir string, test bool) (*rawImages, error) {
	const pixels, perImage = 32 * 32, 1 + 3*32*32
	names := []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}
	if test {
		names = []string{"test_batch.bin"}
	}
	if _, ok := findFile(dir, names[0], "cifar-10-batches-bin"); !ok {
		return nil, nil
	}
	images := &rawImages{channels: 3, classes: cifarClasses}
	for _, name := range names {
		path, ok := findFile(dir, name, "cifar-10-batches-bin")
		if !ok {
			return nil, fmt.Errorf("%s: %w; %s", filepath.Join(dir, name), os.ErrNotExist, cifarSource)
		}
		data, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 || len(data)%perImage != 0 {
			return nil, fmt.Errorf("%s has %d bytes, want a multiple of %d", path, len(data), perImage)
		}
		for i := 0; len(data) > 0; i, data = i+1, data[perImage:] {
			if data[0] >= 10 {
				return nil, fmt.Errorf("%s: image %d has label %d, want one below 10", path, i, data[0])
			}
			images.labels = append(images.labels, data[0])
			planes := data[1:perImage]
			for i := range pixels {
				images.pixels = append(images.pixels, planes[i], planes[pixels+i], planes[2*pixels+i])
			}
		}
	}
	return images, nil
}
