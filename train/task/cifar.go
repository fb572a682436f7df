package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

func init() {
	for _, t := range []imageTask{
		{name: "image", help: "CIFAR-10 in gray, pixel by pixel (Long Range Arena)."},
		{name: "scifar", help: "CIFAR-10 in colour, pixel by pixel.", colour: true},
		{name: "pscifar", help: "CIFAR-10 in colour, with the pixels in another, fixed order.", colour: true, permuted: true},
	} {
		t.side, t.readPublished = 32, readCIFAR
		t.source = "CIFAR-10 is published at www.cs.toronto.edu/~kriz/cifar.html: pass the folder of its binary version, or a folder with images in train/CLASS and test/CLASS"
		t.register()
	}
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
	if _, ok := datafile.Find(dir, names[0], "cifar-10-batches-bin"); !ok {
		return nil, nil
	}
	images := &rawImages{channels: 3, classes: cifarClasses}
	for _, name := range names {
		path, ok := datafile.Find(dir, name, "cifar-10-batches-bin")
		if !ok {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), os.ErrNotExist)
		}
		data, err := datafile.Read(path, 64<<20)
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
