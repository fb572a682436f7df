package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

func TestCompare(t *testing.T) {
	theirs := [][]float32{{1, 2, 0}, {3, 2.9995, 0}, {0, 0, 5}, {1, 0, 0}}
	ours := [][]float32{{1, 2.25, 0}, {2.9996, 3, 0}, {5, 0, 0}, {1, 0, 0}}
	want := agreement{images: 4, difference: 5, decisive: 3, differ: 1, correct: 3, theirsCorrect: 3}
	must.Equal(t, compare(ours, theirs, []int{1, 1, 2, 0}), want, "comparison")
	nan := float32(math.NaN())
	if got := compare([][]float32{{nan, nan}}, [][]float32{{1, 0}}, []int{0}); !math.IsNaN(got.difference) || got.differ != 1 {
		t.Errorf("NaN: %+v", got)
	}
}

func TestTable(t *testing.T) {
	o := &options{batches: []int{1, 16}, rounds: 3, time: time.Second}
	rounds := map[int]float64{}
	constant := func(speed float64) rate {
		return func(batch int, d time.Duration) (float64, error) {
			must.Equal(t, d, o.time, "time")
			rounds[batch]++
			return speed * float64(batch) * (1 + rounds[batch]/1000), nil
		}
	}
	all := must.Get(o.measureAll([4]rate{constant(8), constant(9), constant(2), constant(1)}))(t)
	must.Equal(t, "\n"+agreement{images: 8, difference: 0.00012, decisive: 7, correct: 6, theirsCorrect: 5}.String()+o.table(all), `
largest difference of two logits: 0.00012
predictions that differ: 0 of 7 with a margin above 0.001
correct: 75.0 % (PyTorch 62.5 %)

| batch | s4d-fast | s4d-fast, cached | PyTorch | PyTorch, cached | ratio | ratio, cached |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| 1 | 8.04 | 9.05 | 2.01 | 1.01 | 4.0× | 9.0× |
| 16 | 129 | 145 | 32.2 | 16.1 | 4.0× | 9.0× |
| best | 129 | 145 | 32.2 | 16.1 | 4.0× | 9.0× |
`, "result")
}

// made writes pictures of two classes in which every pixel has a different colour.
func made(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range 32 * 32 {
			v := at*(i+3)%251 + i
			img.Set(at%32, at/32, color.RGBA{uint8(v), uint8(2 * v), uint8(255 - v), 255})
		}
		folder := filepath.Join(dir, "test", []string{"cat", "dog"}[i%2])
		must.Do(t, os.MkdirAll(folder, 0o755))
		f := must.Get(os.Create(filepath.Join(folder, fmt.Sprintf("%d.png", i))))(t)
		must.Do(t, png.Encode(f, img))
		must.Do(t, f.Close())
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	made(t, dir, 3)
	i := must.Get(load(t.Context(), dir, filepath.Join(dir, "pixels"), 3))(t)
	if !slices.Equal(i.labels, []int{0, 0, 1}) || len(i.x) != 3*channels*length {
		t.Fatalf("labels %v, %d values", i.labels, len(i.x))
	}
	must.Equal(t, fmt.Sprint(must.Get(load(t.Context(), dir, i.file+"2", 2))(t).labels), "[0 0]", "labels of two")
	must.Reject(load(t.Context(), dir, i.file, 4))(t, "has 3")
	// Picture 1, of a dog, is the third: its pixel 5.
	for c, want := range []float32{21, 42, 234} {
		if got := i.x[(2*channels+c)*length+5] * 255; math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("channel %d: %v, expected %v", c, got, want)
		}
	}
	must.Equal(t, slices.Equal(must.Get(readFloats(i.file))(t), i.x), true, "the file has the pixels")
}

// needsPyTorch skips a test if PyTorch is missing.
func needsPyTorch(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	if _, _, err := bench.PyTorch(t.Context()); err != nil {
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
	for _, g := range golden.Checkpoints(t)[:1] { // TestReal has both
		p := must.Get(startTorch(t.Context(), g.Path(t), input, 1))(t)
		defer p.Stop()
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
	made(t, dir, 6)
	o := &options{batches: []int{1, 6}, rounds: 1, threads: 1}
	var out strings.Builder
	must.Do(t, o.checkpoint(t.Context(), &out, path, dir, must.Get(load(t.Context(), dir, filepath.Join(dir, "pixels"), 6))(t), true))
	var difference float64
	if _, text, _ := strings.Cut(out.String(), "logits: "); must.Get(fmt.Sscan(text, &difference))(t) != 1 || !(difference > 0 && difference < 1e-4) {
		t.Error(out.String())
	}
	must.Equal(t, strings.Count(out.String(), "×"), 6, "ratios in\n%s", out.String())
}

// The real checkpoints on a few real images.
func TestReal(t *testing.T) {
	dir := os.Getenv("S4D_DATA")
	if dir == "" {
		t.Skip("S4D_DATA is not set: the real checkpoints and images are not at hand")
	}
	needsPyTorch(t)
	data := t.TempDir()
	must.Do(t, os.Symlink(filepath.Join(dir, "checkpoints"), filepath.Join(data, "checkpoints")))
	must.Do(t, os.Mkdir(filepath.Join(data, "cifar10"), 0o755))
	must.Get(exec.Command("tar", "-xf", filepath.Join(dir, "cifar10-jpeg-train.tar.xz"), "-C", filepath.Join(data, "cifar10"),
		"--transform=s/^train/test/", "--wildcards", "train/*/0000.jpg").Output())(t)
	var out strings.Builder
	o := &options{data: data, images: 10, batches: bench.Numbers{1}, threads: 1}
	must.Do(t, o.run(t.Context(), &out, nil))
	if got := out.String(); strings.Count(got, "predictions that differ: 0 of ") != 2 {
		t.Error(got)
	}
}
