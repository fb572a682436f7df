package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// shade returns the value of a pixel of a generated image.
func shade(img, at int) byte { return byte(img*31 + at*7) }

// grayPNG returns a generated image of side × side pixels.
func grayPNG(t *testing.T, img, side int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, side, side))
	for at := range side * side {
		m.SetGray(at%side, at/side, color.Gray{Y: shade(img, at)})
	}
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, m))
	return b.Bytes()
}

// pathfinderImages writes images in the published layout, with a number of images per metadata
// file. Image i has label i/2 mod 2.
func pathfinderImages(t *testing.T, dir string, side int, batches ...int) (level string) {
	t.Helper()
	level = filepath.Join(dir, "curv_contour_length_14")
	img := 0
	for b, n := range batches {
		var lines strings.Builder
		for i := range n {
			name := fmt.Sprintf("sample_%d.png", i)
			write(t, filepath.Join(level, "imgs", fmt.Sprint(b), name), grayPNG(t, img, side))
			fmt.Fprintf(&lines, "imgs/%d %s %d %d 1.0 14 4 2 0.5 1 1\n", b, name, i, img/2%2)
			img++
		}
		write(t, filepath.Join(level, "metadata", fmt.Sprintf("%d.npy", b)), []byte(lines.String()))
	}
	return level
}

func TestPathfinder(t *testing.T) {
	dir := t.TempDir()
	release := filepath.Join(dir, "lra_release", "lra_release")
	one := []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 13} // 10.npy comes after 2.npy
	level := pathfinderImages(t, filepath.Join(release, "pathfinder32"), 32, one...)
	write(t, filepath.Join(level, "metadata", "._0.npy"), []byte("of another system"))
	calls := 0
	d := mustLoad(t, "pathfinder", Options{Dir: dir, Progress: func(done, total int) { calls++ }})
	if d.Train.Len() != 19 || d.Val.Len() != 2 || d.Test.Len() != 2 || d.Channels != 1 || d.Outputs != 2 || d.MaxLen != 1024 || calls != 23 {
		t.Fatalf("%d, %d, %d examples, %d calls; %+v", d.Train.Len(), d.Val.Len(), d.Test.Len(), calls, d.Info)
	}
	if !slices.Equal(d.Mean, []float32{0.5}) || !slices.Equal(d.Std, []float32{0.5}) {
		t.Errorf("mean %v, standard deviation %v: expected ½ and ½", d.Mean, d.Std)
	}
	parts := dataset.RandomSplit(42, 19, 2, 2)
	e := dataset.Example{Label: 7, Target: []float32{1}, Tokens: []int32{2}}
	for s, set := range []dataset.Set{d.Train, d.Val, d.Test} {
		for i, k := range parts[s] {
			must.Do(t, set.Example(&e, i, 0))
			if e.Label != k/2%2 || e.Len != 1024 || len(e.X) != 1024 {
				t.Fatalf("image %d: label %d, length %d of %d, expected label %d, 1024 of 1024", k, e.Label, e.Len, len(e.X), k/2%2)
			}
			if len(e.Target) != 0 || len(e.Tokens) != 0 {
				t.Fatalf("image %d: target %v, tokens %v, expected none", k, e.Target, e.Tokens)
			}
			for at, v := range e.X {
				if want := float32(shade(k, at)) / 255; v != want {
					t.Fatalf("image %d (%s): pixel %d is %v, expected %v", k, e.Path, at, v, want)
				}
			}
		}
	}
	for _, inner := range []string{"lra_release", "lra_release/lra_release", "lra_release/lra_release/pathfinder32"} {
		if again := mustLoad(t, "pathfinder", Options{Dir: filepath.Join(dir, inner), Split: "test"}); again.Train != nil || again.Mean != nil || again.Test.Len() != 2 {
			t.Errorf("%s: the test set alone: %+v", inner, again)
		}
	}
}

// Larger images belong to other tasks. A few images are all training images.
func TestPathX(t *testing.T) {
	dir := t.TempDir()
	for task, side := range map[string]int{"pathx128": 128, "pathx256": 256} {
		pathfinderImages(t, filepath.Join(dir, fmt.Sprintf("pathfinder%d", side)), side, 3)
		d := mustLoad(t, task, Options{Dir: dir})
		must.Equal(t, d.Train.Len(), 3, "%s: training examples", task)
		if d.Val != nil || d.Test != nil {
			t.Errorf("%s: validation set %v, test set %v, expected none", task, d.Val, d.Test)
		}
		must.Equal(t, d.MaxLen, side*side, "%s: MaxLen", task)
		if got, want := dataset.Lengths(d.Train), []int{side * side, side * side, side * side}; !slices.Equal(got, want) {
			t.Errorf("%s: lengths %v, expected %v", task, got, want)
		}
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 1, 0))
		if k, at := dataset.RandomSplit(42, 3)[0][1], 77*side+5; e.X[at] != float32(shade(k, at))/255 {
			t.Errorf("%s: row 77, column 5 of image %d is %v", task, k, e.X[at])
		}
	}
}

func TestBadPathfinder(t *testing.T) {
	dir := t.TempDir()
	opt := Options{Dir: dir}
	mustFail(t, "no folder named", "pathfinder", Options{}, "requires --data", "lra_release.gz")
	mustFail(t, "empty", "pathfinder", opt, "is empty", "long-range-arena", "s4d-fast data pathfinder")
	level := pathfinderImages(t, dir, 32, 2, 2)
	metadata := filepath.Join(level, "metadata", "1.npy")
	mustFail(t, "another size", "pathx128", opt, "sample_0.png", "32×32 pixels, expected 128×128")
	mustFail(t, "another folder", "pathfinder", Options{Dir: level}, "neither curv_contour_length_14/metadata nor pathfinder32/curv", "lra_release.gz")
	for text, want := range map[string]string{
		"imgs/0 sample_0.png 0 1\nimgs/0 sample_1.png\n":   "1.npy: line 2: expected a folder",
		"../../imgs/0 sample_0.png 0 1\n":                  "1.npy: line 1: expected a folder",
		"imgs/0 ../1/sample_0.png 0 1\n":                   "1.npy: line 1: expected a folder",
		"imgs/0 sample_0.png 0 2\n":                        `1.npy: line 1: label "2", expected 0 or 1`,
		"imgs/0 sample_0.png 0 yes\n":                      `1.npy: line 1: label "yes"`,
		"\x93NUMPY" + strings.Repeat("x", 1<<17):           "1.npy: ",
		"imgs/0 sample_0.png 0 1\nimgs/0 sample_9.png 0 1": "sample_9.png",
	} {
		write(t, metadata, []byte(text))
		mustFail(t, fmt.Sprintf("%.50q", text), "pathfinder", opt, want)
	}
	write(t, metadata, []byte("imgs/1 sample_0.png 0 0\n"))
	small := filepath.Join(level, "imgs", "1", "sample_0.png")
	for content, want := range map[string]string{
		string(grayPNG(t, 0, 16)):      "16×16 pixels, expected 32×32",
		string(grayPNG(t, 0, 32)[:60]): "png: invalid format",
		"no picture":                   "unknown format",
	} {
		write(t, small, []byte(content))
		d := mustLoad(t, "pathfinder", opt)
		all := must.Get(d.Split("all"))(t)
		failed := 0
		for i := range all.Len() {
			var e dataset.Example
			if err := all.Example(&e, i, 0); err != nil {
				failed++
				must.Fail(t, err, small, want)
			}
		}
		must.Equal(t, failed, 1, "%s: images fail", want)
	}
	write(t, small, nil)
	mustFail(t, "an empty image", "pathfinder", opt, small+" is empty")
	write(t, metadata, nil)
	write(t, filepath.Join(level, "metadata", "0.npy"), nil)
	mustFail(t, "empty metadata", "pathfinder", opt, "lists no images")
	write(t, filepath.Join(level, "metadata", "combined.npy"), nil)
	mustFail(t, "no number", "pathfinder", opt, "combined.npy", "expected a number")

	whole := t.TempDir()
	pathfinderImages(t, whole, 32, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := load("pathfinder", Options{Dir: whole, Context: ctx}); !errors.Is(err, train.ErrInterrupted) {
		t.Errorf("cancelled: error %v", err)
	}
}
