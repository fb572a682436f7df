package task

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

func init() {
	for _, t := range []imageTask{
		{name: "image", channels: 1},
		{name: "scifar", channels: 3},
		{name: "pscifar", channels: 3, permuted: true},
	} {
		t.side, t.readPublished = 32, readCIFAR
		t.source = "CIFAR-10 is published at www.cs.toronto.edu/~kriz/cifar.html: pass the folder of its binary version, or a folder with images in train/CLASS and test/CLASS"
		t.register()
	}
}

var cifarClasses = strings.Fields("airplane automobile bird cat deer dog frog horse ship truck")

// maxCIFAR bounds the bytes of a file; the published files have 31 MB.
const maxCIFAR = 64 << 20

// readCIFAR reads the binary version.
func readCIFAR(dir string, test bool, channels int) (*rawImages, error) {
	names := []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}
	if test {
		names = []string{"test_batch.bin"}
	}
	if _, ok := datafile.Find(dir, names[0], "cifar-10-batches-bin"); !ok {
		return nil, nil
	}
	images := &rawImages{channels: channels, classes: cifarClasses}
	for _, name := range names {
		path, ok := datafile.Find(dir, name, "cifar-10-batches-bin")
		if !ok {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), os.ErrNotExist)
		}
		data, err := atomicfile.System().ReadFile(path, maxCIFAR)
		if err != nil {
			return nil, err
		}
		if err := images.addCIFAR(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return images, nil
}

// addCIFAR appends the images of a file. An image is one byte of label and 32·32 bytes each of red,
// green and blue.
func (r *rawImages) addCIFAR(data []byte) error {
	const pixels, perImage = 32 * 32, 1 + 3*32*32
	n := len(data) / perImage
	if n == 0 || len(data)%perImage != 0 {
		return fmt.Errorf("%d bytes, expected a multiple of %d", len(data), perImage)
	}
	r.pixels, r.labels = slices.Grow(r.pixels, n*r.channels*pixels), slices.Grow(r.labels, n)
	for i := range n {
		image := data[i*perImage:][:perImage]
		if image[0] >= 10 {
			return fmt.Errorf("image %d: label %d, expected 0 to 9", i, image[0])
		}
		r.labels = append(r.labels, image[0])
		for at := range pixels {
			r.addPixel(image[1+at], image[1+pixels+at], image[1+2*pixels+at])
		}
	}
	return nil
}
