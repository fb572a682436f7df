package task

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

func init() {
	for _, t := range []imageTask{
		{name: "smnist"},
		{name: "psmnist", permuted: true},
	} {
		t.side, t.channels, t.readPublished = 28, 1, readMNIST
		t.source = "MNIST is published at yann.lecun.com/exdb/mnist: pass the folder of its four files, or a folder with images in train/DIGIT and test/DIGIT"
		t.register()
	}
}

// readMNIST reads the published files, with or without .gz, from the folder or from the subfolder
// that torchvision uses.
func readMNIST(dir string, test bool, _ int) (*rawImages, error) {
	part := "train"
	if test {
		part = "t10k"
	}
	pixels, ok, err := readIDX(dir, part+"-images-idx3-ubyte", 3)
	if err != nil || !ok {
		return nil, err
	}
	labels, ok, err := readIDX(dir, part+"-labels-idx1-ubyte", 1)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s-labels-idx1-ubyte is missing in the folder of the images: %w", part, os.ErrNotExist)
	case pixels.sizes[1] != 28 || pixels.sizes[2] != 28:
		return nil, fmt.Errorf("%s: images of %d×%d pixels, expected 28×28", pixels.path, pixels.sizes[1], pixels.sizes[2])
	case labels.sizes[0] != pixels.sizes[0]:
		return nil, fmt.Errorf("%s: %d labels, expected one for each of %d images", labels.path, labels.sizes[0], pixels.sizes[0])
	}
	for i, l := range labels.data {
		if l > 9 {
			return nil, fmt.Errorf("%s: label %d is %d, expected a digit", labels.path, i, l)
		}
	}
	return &rawImages{pixels: pixels.data, channels: 1, labels: labels.data, classes: strings.Split("0123456789", "")}, nil
}

// idx is an array of bytes in the IDX format of MNIST.
type idx struct {
	path  string
	sizes []int
	data  []byte
}

// readIDX reads the file name or name.gz. If neither exists, ok is false.
func readIDX(dir, name string, dimensions int) (x idx, ok bool, err error) {
	raw := filepath.Join("MNIST", "raw")
	path, ok := datafile.Find(dir, name, raw)
	if !ok {
		if path, ok = datafile.Find(dir, name+".gz", raw); !ok {
			return idx{}, false, nil
		}
	}
	err = datafile.Parse(path, func(in io.Reader) (err error) {
		if strings.HasSuffix(path, ".gz") {
			if in, err = gzip.NewReader(in); err != nil {
				return err
			}
		}
		x, err = parseIDX(in, dimensions)
		return err
	})
	x.path = path
	return x, true, err
}

// maxIDX bounds the bytes of data. No published set of digits is larger.
const maxIDX = 1 << 28

// parseIDX parses two zero bytes, the type 8 (bytes), the number of dimensions, four bytes for each
// of their sizes, and the data. It reads at most one byte more than the sizes state.
func parseIDX(r io.Reader, dimensions int) (x idx, err error) {
	head := make([]byte, 4+4*dimensions)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:4]) != string([]byte{0, 0, 8, byte(dimensions)}) {
		return x, fmt.Errorf("not an IDX file of bytes in %d dimensions", dimensions)
	}
	want := int64(1)
	for i := range dimensions {
		n := binary.BigEndian.Uint32(head[4+4*i:])
		x.sizes = append(x.sizes, int(n))
		if want *= int64(n); want < 1 || want > maxIDX {
			return x, fmt.Errorf("sizes %v, expected 1 to %d bytes", x.sizes, maxIDX)
		}
	}
	if x.data, err = io.ReadAll(io.LimitReader(r, want+1)); err == nil && int64(len(x.data)) != want {
		err = fmt.Errorf("sizes %v: the file does not have %d bytes of data", x.sizes, want)
	}
	return x, err
}
