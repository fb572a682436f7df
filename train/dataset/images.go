package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An image is a sequence of pixels, row after row (docs/maths.md §5.2). A tenth of the published
// training images, selected by PyTorch's random_split with seed 42, is the validation set. The
// published test images are the test set.
const imageSeed = 42

// permutationSeed is the seed of PyTorch's randperm that orders the pixels of permuted images
// (docs/maths.md §5.2).
const permutationSeed = 0

const (
	cifarSource = "CIFAR-10 is published at www.cs.toronto.edu/~kriz/cifar.html: pass the folder of its binary version, or a folder with images in train/CLASS and test/CLASS"
	mnistSource = "MNIST is published at yann.lecun.com/exdb/mnist: pass the folder of its four files, or a folder with images in train/DIGIT and test/DIGIT"
)

// imageTask is a task on square images.
type imageTask struct {
	name     string
	side     int  // pixels
	colour   bool // three channels, otherwise one of luminance
	permuted bool
	source   string
	// readPublished reads the published files. It returns nil, nil if the folder has another
	// layout.
	readPublished func(dir string, test bool) (*rawImages, error)
}

func cifar(name string, colour, permuted bool) imageTask {
	return imageTask{name: name, side: 32, colour: colour, permuted: permuted, source: cifarSource, readPublished: readCIFAR}
}

func mnist(name string, permuted bool) imageTask {
	return imageTask{name: name, side: 28, permuted: permuted, source: mnistSource, readPublished: readMNIST}
}

// rawImages are decoded images of one size: [image][row][column][R, G, B], or [image][row][column]
// of gray ones.
type rawImages struct {
	pixels   []byte
	channels int
	labels   []uint8
	classes  []string
	paths    []string // nil if a file contains many images
}

// imageSet is a split: some of the images, with their pixels in an order.
type imageSet struct {
	images   *rawImages
	members  []int
	order    []int // of the pixels; nil: as stored
	length   int   // pixels of an image
	channels int   // channels of an example
}

func (t imageTask) load(opt Options) (*Dataset, error) {
	if opt.Dir == "" {
		return nil, fmt.Errorf("the folder of the data is missing; %s", t.source)
	}
	if err := opt.rejectClipOptions(); err != nil {
		return nil, err
	}
	d := &Dataset{Info: Info{Task: t.name, Channels: 1, MaxLen: t.side * t.side}}
	if t.colour {
		d.Channels = 3
	}
	if opt.includes(train) || opt.includes(val) {
		images, err := t.read(opt, false)
		if err != nil {
			return nil, err
		}
		d.Labels = images.classes
		n := len(images.labels)
		parts := RandomSplit(imageSeed, n-n/10, n/10)
		if opt.includes(train) {
			s := t.set(images, parts[0])
			d.Train = s
			d.Mean, d.Std = s.moments()
		}
		if opt.includes(val) && len(parts[1]) > 0 {
			d.Val = t.set(images, parts[1])
		}
	}
	if opt.includes(test) {
		images, err := t.read(opt, true)
		switch {
		case err == nil:
			if d.Labels != nil && !slices.Equal(d.Labels, images.classes) {
				return nil, fmt.Errorf("%s has the classes %q, %s the classes %q; expected the same", filepath.Join(opt.Dir, "train"), d.Labels,
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

// read reads the training or the test images in one of the layouts.
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

// luminance returns the luminance of ITU-R 601 in PIL's integer arithmetic (docs/maths.md §5.2).
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

// readCIFAR reads the binary version. An image is one byte of label and 32·32 bytes each of red,
// green and blue.
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
			return nil, fmt.Errorf("%s: %d bytes, expected a multiple of %d", path, len(data), perImage)
		}
		for i := 0; len(data) > 0; i, data = i+1, data[perImage:] {
			if data[0] >= 10 {
				return nil, fmt.Errorf("%s: image %d: label %d, expected 0 to 9", path, i, data[0])
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
