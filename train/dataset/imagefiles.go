package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/jpeg" // decoders of the formats that image folders have
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readImageFolder reads dir/CLASS/*.png or *.jpg. Classes and files are in alphabetical order.
func readImageFolder(dir string, side int, colour bool, opt Options) (*rawImages, error) {
	classes, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	images := &rawImages{channels: 1}
	if colour {
		images.channels = 3
	}
	for _, c := range classes {
		inner := filepath.Join(dir, c.Name())
		if !isFolder(inner) || strings.HasPrefix(c.Name(), ".") {
			continue
		}
		files, err := os.ReadDir(inner)
		if err != nil {
			return nil, err
		}
		if len(images.classes) == 256 {
			return nil, fmt.Errorf("%s contains more than 256 classes, the limit", dir)
		}
		for _, f := range files {
			if ext := strings.ToLower(filepath.Ext(f.Name())); slices.Contains([]string{".png", ".jpg", ".jpeg"}, ext) && f.Name()[0] != '.' {
				images.paths = append(images.paths, filepath.Join(inner, f.Name()))
				images.labels = append(images.labels, uint8(len(images.classes)))
			}
		}
		images.classes = append(images.classes, c.Name())
	}
	if len(images.paths) == 0 {
		return nil, fmt.Errorf("%s contains no .png or .jpg files in one folder per class", dir)
	}
	for i, path := range images.paths {
		if err := opt.Context.Err(); err != nil {
			return nil, err
		}
		if err := images.readImage(path, side); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(i+1, len(images.paths))
		}
	}
	return images, nil
}

// readImage appends the pixels of an image file. Errors name the file.
func (r *rawImages) readImage(path string, side int) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	if err := r.decode(data, side); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// decode appends the pixels of an encoded image.
func (r *rawImages) decode(data []byte, side int) error {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if cfg.Width != side || cfg.Height != side { // before memory for the pixels is allocated
		return fmt.Errorf("%d×%d pixels, expected %d×%d", cfg.Width, cfg.Height, side, side)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, green, blue, _ := img.At(x, y).RGBA()
			p := [3]byte{byte(red >> 8), byte(green >> 8), byte(blue >> 8)}
			if r.channels == 3 {
				r.pixels = append(r.pixels, p[:]...)
			} else {
				r.pixels = append(r.pixels, luminance(p[0], p[1], p[2]))
			}
		}
	}
	return nil
}

// readMNIST reads the published files, with or without .gz, from the folder or from the subfolder
// that torchvision uses.
func readMNIST(dir string, test bool) (*rawImages, error) {
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
		return nil, fmt.Errorf("%s-labels-idx1-ubyte is missing in the folder of the images; %s", part, mnistSource)
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
	path, ok := findFile(dir, name, raw)
	if !ok {
		if path, ok = findFile(dir, name+".gz", raw); !ok {
			return idx{}, false, nil
		}
	}
	f, err := openFile(path)
	if err != nil {
		return idx{}, false, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return idx{}, false, fmt.Errorf("%s: %w", path, err)
		}
	}
	const most = 1 << 28 // more than any set of digits
	data, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return idx{}, false, fmt.Errorf("%s: %w", path, err)
	}
	x, err = parseIDX(data, dimensions)
	if err != nil {
		return idx{}, false, fmt.Errorf("%s: %w", path, err)
	}
	x.path = path
	return x, true, nil
}

// parseIDX parses two zero bytes, the type 8 (bytes), the number of dimensions, four bytes for each
// of their sizes, and the data.
func parseIDX(data []byte, dimensions int) (idx, error) {
	header := 4 + 4*dimensions
	if len(data) < header || data[0] != 0 || data[1] != 0 || data[2] != 8 || int(data[3]) != dimensions {
		return idx{}, fmt.Errorf("not an IDX file of bytes in %d dimensions", dimensions)
	}
	x := idx{data: data[header:]}
	want := uint64(1)
	for i := range dimensions {
		n := binary.BigEndian.Uint32(data[4+4*i:])
		x.sizes = append(x.sizes, int(n))
		if want *= uint64(n); want > 1<<40 {
			break
		}
	}
	if uint64(len(x.data)) != want || want == 0 {
		return idx{}, fmt.Errorf("%d bytes of data, expected those of sizes %v", len(x.data), x.sizes)
	}
	return x, nil
}
