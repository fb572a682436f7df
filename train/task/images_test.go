package task

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, data, 0o644))
}

// pixel returns the colour of a pixel of a generated image.
func pixel(img, at, c int) byte { return byte(img*7 + at*3 + c*50) }

// cifarFiles writes files in the binary layout of CIFAR-10, with n images each.
func cifarFiles(t *testing.T, dir string, n int) {
	t.Helper()
	img := 0
	for _, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"} {
		var b []byte
		for range n {
			b = append(b, byte(img%10))
			for c := range 3 {
				for at := range 1024 {
					b = append(b, pixel(img, at, c))
				}
			}
			img++
		}
		write(t, filepath.Join(dir, name+".bin"), b)
	}
}

func TestCIFAR(t *testing.T) {
	dir := t.TempDir()
	cifarFiles(t, filepath.Join(dir, "cifar-10-batches-bin"), 4)
	d := mustLoad(t, "scifar", Options{Dir: dir})
	if d.Train.Len() != 18 || d.Val.Len() != 2 || d.Test.Len() != 4 || d.Channels != 3 || d.Outputs != 10 || d.MaxLen != 1024 || d.Labels[3] != "cat" {
		t.Fatalf("%d, %d, %d examples; %+v", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Info)
	}
	split := dataset.RandomSplit(42, 18, 2)
	var e, gray, mixed dataset.Example
	must.Do(t, d.Val.Example(&e, 1, 0))
	k := split[1][1]
	if e.Label != k%10 {
		t.Fatalf("image %d: label %d, expected %d", k, e.Label, k%10)
	}
	if e.Len != 1024 || len(e.X) != 3*1024 {
		t.Fatalf("image %d: length %d, %d samples, expected 1024 and 3072", k, e.Len, len(e.X))
	}
	must.Do(t, mustLoad(t, "image", Options{Dir: dir}).Val.Example(&gray, 1, 0))
	must.Do(t, mustLoad(t, "pscifar", Options{Dir: dir}).Val.Example(&mixed, 1, 0))
	order := dataset.RandPerm(1024, 0)
	if !slices.Equal(order[:4], []int{684, 217, 933, 11}) {
		t.Errorf("permutation %v …", order[:4])
	}
	for at := range 1024 {
		for c := range 3 {
			if want := float32(pixel(k, at, c)) / 255; e.X[c*1024+at] != want {
				t.Fatalf("pixel %d, channel %d is %v, expected %v", at, c, e.X[c*1024+at], want)
			}
			if got, want := mixed.X[c*1024+at], e.X[c*1024+order[at]]; got != want {
				t.Fatalf("permuted pixel %d, channel %d is %v, expected %v", at, c, got, want)
			}
		}
		luma := 0.299*float64(e.X[at]) + 0.587*float64(e.X[1024+at]) + 0.114*float64(e.X[2048+at])
		if math.Abs(float64(gray.X[at])-luma) > 0.6/255 {
			t.Fatalf("gray pixel %d is %v, expected %v", at, gray.X[at], luma)
		}
	}
	checkMoments(t, d)
}

// checkMoments recomputes Mean and Std from the examples.
func checkMoments(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	var e dataset.Example
	for c := range d.Channels {
		var sum, squares, n float64
		for i := range d.Train.Len() {
			must.Do(t, d.Train.Example(&e, i, 0))
			for _, v := range e.X[c*e.Len : (c+1)*e.Len] {
				sum, squares, n = sum+float64(v), squares+float64(v)*float64(v), n+1
			}
		}
		mean := sum / n
		if std := math.Sqrt(squares/n - mean*mean); math.Abs(mean-float64(d.Mean[c])) > 1e-6 || math.Abs(std-float64(d.Std[c])) > 1e-6 {
			t.Errorf("channel %d: mean %v, standard deviation %v; expected %v, %v", c, d.Mean[c], d.Std[c], mean, std)
		}
	}
}

// pngFiles writes n images per class to dir/CLASS.
func pngFiles(t *testing.T, dir string, side, n int, classes ...string) {
	t.Helper()
	img := 0
	for _, class := range classes {
		for range n {
			m := image.NewRGBA(image.Rect(0, 0, side, side))
			for at := range side * side {
				m.SetRGBA(at%side, at/side, color.RGBA{pixel(img, at, 0), pixel(img, at, 1), pixel(img, at, 2), 255})
			}
			var b bytes.Buffer
			must.Do(t, png.Encode(&b, m))
			write(t, filepath.Join(dir, class, fmt.Sprintf("%03d.png", img)), b.Bytes())
			img++
		}
	}
}

func TestImageFolders(t *testing.T) {
	dir := t.TempDir()
	pngFiles(t, filepath.Join(dir, "train"), 32, 10, "apple", "pear")
	pngFiles(t, filepath.Join(dir, "test"), 32, 1, "apple", "pear")
	calls := 0
	d := mustLoad(t, "scifar", Options{Dir: dir, Progress: func(done, total int) { calls++ }})
	if d.Train.Len() != 18 || d.Val.Len() != 2 || d.Test.Len() != 2 || !slices.Equal(d.Labels, []string{"apple", "pear"}) || calls != 22 {
		t.Fatalf("%d, %d, %d examples, labels %v, %d calls", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Labels, calls)
	}
	var e dataset.Example
	must.Do(t, d.Test.Example(&e, 1, 0))
	if e.Label != 1 || filepath.Base(e.Path) != "001.png" || e.X[1024+5] != float32(pixel(1, 5, 1))/255 {
		t.Errorf("label %d, path %s, pixel %v", e.Label, e.Path, e.X[1024+5])
	}
	checkMoments(t, d)
	if only := mustLoad(t, "image", Options{Dir: dir, Split: "test"}); only.Train != nil || only.Mean != nil || only.Test.Len() != 2 {
		t.Errorf("test split alone: %+v", only)
	}
}

// idxFile returns a file in MNIST's IDX format.
func idxFile(sizes []uint32, data []byte) []byte {
	b := []byte{0, 0, 8, byte(len(sizes))}
	for _, n := range sizes {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return append(b, data...)
}

func TestMNIST(t *testing.T) {
	dir := t.TempDir()
	pixels, labels := make([]byte, 20*784), make([]byte, 20)
	for i := range labels {
		labels[i] = byte(i % 10)
		for at := range 784 {
			pixels[i*784+at] = pixel(i, at, 0)
		}
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(idxFile([]uint32{20, 28, 28}, pixels))
	z.Close()
	raw := filepath.Join(dir, "MNIST", "raw")
	write(t, filepath.Join(raw, "train-images-idx3-ubyte.gz"), zipped.Bytes())
	write(t, filepath.Join(raw, "train-labels-idx1-ubyte"), idxFile([]uint32{20}, labels))
	d := mustLoad(t, "smnist", Options{Dir: dir})
	if d.Train.Len() != 18 || d.Val.Len() != 2 || d.Test != nil || d.Channels != 1 || d.MaxLen != 784 || d.Outputs != 10 {
		t.Fatalf("%d, %d examples, test %v; %+v", d.Train.Len(), d.Val.Len(), d.Test, d.Info)
	}
	k := dataset.RandomSplit(42, 18, 2)[0][7]
	var e, mixed dataset.Example
	must.Do(t, d.Train.Example(&e, 7, 0))
	if e.Label != k%10 || e.X[100] != float32(pixel(k, 100, 0))/255 {
		t.Errorf("example 7: label %d, pixel %v; expected image %d", e.Label, e.X[100], k)
	}
	must.Do(t, mustLoad(t, "psmnist", Options{Dir: dir}).Train.Example(&mixed, 7, 0))
	for at, from := range dataset.RandPerm(784, 0)[:8] {
		want := []int{60, 361, 167, 578, 107, 772, 313, 626}[at]
		must.Equal(t, from, want, "place from which permuted pixel %d comes", at)
		must.Equal(t, mixed.X[at], e.X[want], "permuted pixel %d", at)
	}
	write(t, filepath.Join(raw, "train-labels-idx1-ubyte"), idxFile([]uint32{19}, labels[:19]))
	mustFail(t, "a label short", "smnist", Options{Dir: dir}, "19 labels, expected one for each of 20 images")
	labels[3] = 11
	write(t, filepath.Join(raw, "train-labels-idx1-ubyte"), idxFile([]uint32{20}, labels))
	mustFail(t, "no digit", "smnist", Options{Dir: dir}, "label 3 is 11")
}

func TestBadImages(t *testing.T) {
	dir := t.TempDir()
	mustFail(t, "no folder named", "image", Options{}, "requires --data", "www.cs.toronto.edu")
	mustFail(t, "empty", "smnist", Options{Dir: dir}, "train", "MNIST is published")
	pngFiles(t, filepath.Join(dir, "train"), 16, 1, "cat")
	mustFail(t, "small", "image", Options{Dir: dir}, "000.png", "16×16 pixels, expected 32×32")
	write(t, filepath.Join(dir, "train", "cat", "000.png"), []byte("no picture"))
	mustFail(t, "no picture", "image", Options{Dir: dir}, "000.png", "unknown format")
	folders := t.TempDir()
	pngFiles(t, filepath.Join(folders, "train"), 32, 10, "cat", "dog")
	pngFiles(t, filepath.Join(folders, "test"), 32, 1, "cat", "horse")
	mustFail(t, "other classes to test", "image", Options{Dir: folders}, filepath.Join(folders, "train"), filepath.Join(folders, "test"), `["cat" "dog"]`, `["cat" "horse"]`)
	cifarFiles(t, dir, 1)
	write(t, filepath.Join(dir, "data_batch_2.bin"), make([]byte, 3072))
	mustFail(t, "cut", "scifar", Options{Dir: dir}, "data_batch_2.bin: 3072 bytes, expected a multiple of 3073")
	write(t, filepath.Join(dir, "data_batch_2.bin"), append([]byte{10}, make([]byte, 3072)...))
	mustFail(t, "label", "scifar", Options{Dir: dir}, "image 0: label 10, expected 0 to 9", "data_batch_2.bin")
	os.Remove(filepath.Join(dir, "data_batch_2.bin"))
	mustFail(t, "a file short", "scifar", Options{Dir: dir}, "data_batch_2.bin")
}

func FuzzIDX(f *testing.F) {
	f.Add(idxFile([]uint32{1, 2, 2}, make([]byte, 4)))
	f.Add(idxFile([]uint32{1 << 31, 1 << 31, 4}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var x idx
		var err error
		must.Allocates(t, 8*len(data)+1<<16, func() { x, err = parseIDX(bytes.NewReader(data), 3) }, "%d bytes", len(data))
		if err == nil && !bytes.Equal(idxFile([]uint32{uint32(x.sizes[0]), uint32(x.sizes[1]), uint32(x.sizes[2])}, x.data), data) {
			t.Errorf("%v: %d bytes of data in %d", x.sizes, len(x.data), len(data))
		}
	})
}
