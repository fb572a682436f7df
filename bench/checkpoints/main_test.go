package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestParse(t *testing.T) {
	for want, c := range map[string]struct {
		change  func(o *options)
		batches string
	}{
		"-data":                   {func(o *options) { o.data = "" }, "1"},
		"-images 0":               {func(o *options) { o.images = 0 }, "1"},
		"-threads 0":              {func(o *options) { o.threads = 0 }, "1"},
		"-batches 1,x: expected":  {nil, "1,x"},
		"-batches 101: expected ": {nil, "101"},
	} {
		o := options{data: "d", images: 100, threads: 1}
		if c.change != nil {
			c.change(&o)
		}
		must.Fail(t, o.parse(c.batches), want)
	}
	o := options{data: "d", images: 100, threads: 1}
	if err := o.parse("1,100"); err != nil || !slices.Equal(o.batches, []int{1, 100}) {
		t.Errorf("batches %v, error %v", o.batches, err)
	}
}

// archived packs files into a tar archive.
func archived(t *testing.T, names ...string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		must.Do(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(name)), Mode: 0o600, Typeflag: tar.TypeReg}))
		must.Get(w.Write([]byte(name)))(t)
	}
	must.Do(t, w.Close())
	return &b
}

func TestChoose(t *testing.T) {
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("train/dog/%d.jpg", 5-i), fmt.Sprintf("train/cat/%d.jpg", i))
	}
	all, err := readTar(archived(t, append(names, "train/cat/notes.txt")...))
	if err != nil || len(all) != 12 {
		t.Fatalf("%d pictures, error %v", len(all), err)
	}
	chosen := must.Get(choose(all, 5))(t)
	var got []string
	for _, p := range chosen {
		got = append(got, p.class+p.name)
		if want := "train/" + p.class + "/" + p.name; string(p.data) != want {
			t.Errorf("%s holds %q", want, p.data)
		}
	}
	if want := []string{"cat0.jpg", "cat2.jpg", "cat4.jpg", "dog0.jpg", "dog3.jpg"}; !slices.Equal(got, want) {
		t.Errorf("chosen %q, expected %q", got, want)
	}
	must.Reject(choose(all, 13))(t, "6 pictures of cat, expected 7")
	if _, err := choose(nil, 3); err == nil {
		t.Error("of nothing: no error")
	}
}

func TestCompare(t *testing.T) {
	theirs := [][]float32{{1, 2, 0}, {3, 2.9995, 0}, {0, 0, 5}, {1, 0, 0}}
	ours := [][]float32{{1, 2.25, 0}, {2.9996, 3, 0}, {5, 0, 0}, {1, 0, 0}}
	want := agreement{images: 4, difference: 5, decisive: 3, differ: 1, correct: 3, theirsCorrect: 3}
	if got := compare(ours, theirs, []int{1, 1, 2, 0}); got != want {
		t.Errorf("%+v, expected %+v", got, want)
	}
	nan := float32(math.NaN())
	if got := compare([][]float32{{nan, nan}}, [][]float32{{1, 0}}, []int{0}); !math.IsNaN(got.difference) || got.differ != 1 {
		t.Errorf("NaN: %+v", got)
	}
}

func TestResult(t *testing.T) {
	o := &options{batches: []int{1, 16}, rounds: 3, time: time.Second}
	rounds := map[int]float64{}
	var order []int
	constant := func(speed float64) measure {
		return func(batch int, d time.Duration) (float64, error) {
			if d != o.time {
				t.Errorf("measured for %v", d)
			}
			order = append(order, batch)
			rounds[batch]++
			return speed * float64(batch) * (1 + rounds[batch]/1000), nil
		}
	}
	r, err := measureAll(o, []column{{"s4d-fast", constant(8)}, {"s4d-fast, cached", constant(9)}, {"PyTorch", constant(2)}, {"PyTorch, cached", constant(1)}})
	if err != nil || !slices.Equal(order[:9], []int{1, 1, 1, 1, 16, 16, 16, 16, 1}) || len(order) != 24 {
		t.Fatalf("order %v, error %v", order, err)
	}
	got := (&result{agreement: agreement{images: 8, difference: 0.00012, decisive: 7, correct: 6, theirsCorrect: 5}, rates: r}).String()
	want := `largest difference of two logits: 0.00012
predictions that differ: 0 of 7 with a margin above 0.001
correct: 75.0 % (PyTorch 62.5 %)

| batch | s4d-fast | s4d-fast, cached | PyTorch | PyTorch, cached | ratio | ratio, cached |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| 1 | 8.04 | 9.05 | 2.01 | 1.01 | 4.0× | 9.0× |
| 16 | 129 | 145 | 32.2 | 16.1 | 4.0× | 9.0× |
| best | 129 | 145 | 32.2 | 16.1 | 4.0× | 9.0× |
`
	if got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	failing := column{"", func(int, time.Duration) (float64, error) { return 0, errors.New("tired") }}
	if _, err := measureAll(o, []column{failing}); err == nil {
		t.Error("no error")
	}
}

// made returns pictures of two classes in which every pixel has a different colour.
func made(t *testing.T, n int) []picture {
	t.Helper()
	var list []picture
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range 32 * 32 {
			v := at*(i+3)%251 + i
			img.Set(at%32, at/32, color.RGBA{uint8(v), uint8(2 * v), uint8(255 - v), 255})
		}
		var b bytes.Buffer
		must.Do(t, png.Encode(&b, img))
		list = append(list, picture{[]string{"cat", "dog"}[i%2], fmt.Sprintf("%d.png", i), b.Bytes()})
	}
	return list
}

func TestDecode(t *testing.T) {
	dir := t.TempDir()
	i := must.Get(decode(t.Context(), dir, made(t, 3)))(t)
	if !slices.Equal(i.labels, []int{0, 0, 1}) || len(i.x) != 3*3*1024 || i.length() != 1024 || i.channels() != 3 {
		t.Fatalf("labels %v, %d values, %+v", i.labels, len(i.x), i.data.Info)
	}
	// Picture 1, of a dog, is the third: its pixel 5.
	for c, want := range []float32{21, 42, 234} {
		if got := i.x[(2*3+c)*1024+5] * 255; math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("channel %d: %v, expected %v", c, got, want)
		}
	}
	if back := must.Get(readFloats(i.file))(t); !slices.Equal(back, i.x) {
		t.Errorf("the file holds %d values, expected the pictures' %d", len(back), len(i.x))
	}
}

// needsPyTorch skips a test if PyTorch is missing.
func needsPyTorch(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	if _, err := python(); err != nil {
		t.Skip(err)
	}
}

// The program's network in PyTorch, in float32, is the official one in float64.
func TestPyTorchGolden(t *testing.T) {
	needsPyTorch(t)
	dir := t.TempDir()
	input := &images{file: filepath.Join(dir, "pixels")}
	for i, v := range golden.CheckpointInput() { // PyTorch inverts this normalisation
		c := i / golden.CheckpointLen % golden.CheckpointInputs
		input.x = append(input.x, v*std[c]+mean[c])
	}
	must.Do(t, writeFloats(input.file, input.x))
	input.data = &dataset.Dataset{Info: dataset.Info{Channels: golden.CheckpointInputs, MaxLen: golden.CheckpointLen}}
	for _, g := range golden.Checkpoints(t) {
		p := must.Get(startTorch(t.Context(), g.Path(t), input, 1))(t)
		defer p.stop()
		theirs := must.Get(p.logits(dir, 10))(t)
		for i, row := range g.Logits { // the tolerance is for float32
			for k, want := range row {
				if got := float64(theirs[i][k]); !(math.Abs(got-want) <= 2e-4) {
					t.Errorf("%s: sequence %d, class %d: %v, expected %v", g.Name, i, k, got, want)
				}
			}
		}
	}
}

// The whole comparison, of a small network on generated pictures.
func TestMadeUp(t *testing.T) {
	needsPyTorch(t)
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 3, 2, 8, 2, 8
	m := must.Get(model.New(c, 1))(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.pth")
	must.Do(t, m.ExportPyTorch(path))
	i := must.Get(decode(t.Context(), dir, made(t, 6)))(t)
	o := &options{batches: []int{1, 6}, rounds: 1, threads: 1}
	r := must.Get(o.checkpoint(t.Context(), path, dir, i))(t)
	if !(r.difference > 0 && r.difference < 1e-4) || r.differ != 0 || r.correct != r.theirsCorrect {
		t.Errorf("%+v", r.agreement)
	}
	for b, row := range r.median {
		for k, v := range row {
			if !(v > 0) {
				t.Errorf("%s, batch %d: %v images a second", r.names[k], r.batches[b], v)
			}
		}
	}
}

// The real checkpoints on a few real images.
func TestReal(t *testing.T) {
	dir := os.Getenv("S4D_DATA")
	if dir == "" {
		t.Skip("S4D_DATA is not set: the real checkpoints and images are not at hand")
	}
	needsPyTorch(t)
	var out strings.Builder
	o := &options{data: dir, images: 10, threads: 1}
	must.Do(t, o.run(context.Background(), &out, nil))
	if got := out.String(); strings.Count(got, "predictions that differ: 0 of ") != 2 {
		t.Error(got)
	}
}
