package task

import (
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// unpack extracts the members of an archive that match one of the patterns, or all if there are
// none.
func unpack(t *testing.T, archive string, patterns ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("unpacks an archive")
	}
	path, dir := filepath.Join(realData(t, "."), archive), t.TempDir()
	if matches, _ := filepath.Glob(path); matches == nil {
		t.Skipf("S4D_DATA holds no %s", archive)
	}
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("there is no xz")
	}
	args := append([]string{"-C", dir, "--wildcards", "-xJf", path}, patterns...)
	if out, err := exec.Command("tar", args...).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return dir
}

// A tenth of the training images of CIFAR-10 has the published means and standard deviations
// (docs/maths.md §5.2), in colour and in gray.
func TestRealCIFAR(t *testing.T) {
	dir := unpack(t, "cifar10-jpeg-train.tar.xz", "train/*5.jpg")
	d := mustLoad(t, "scifar", Options{Dir: dir})
	if d.Train.Len() != 4500 || d.Val.Len() != 500 || d.Channels != 3 || d.MaxLen != 1024 {
		t.Fatalf("%d and %d examples, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	if d.Test != nil {
		t.Fatalf("a test set of %d examples, expected none", d.Test.Len())
	}
	if want := []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}; !slices.Equal(d.Labels, want) {
		t.Errorf("labels %v", d.Labels)
	}
	near := func(what string, got float32, want float64) {
		t.Helper()
		if math.Abs(float64(got)-want) > 0.006 {
			t.Errorf("%s %v, published %v", what, got, want)
		}
	}
	for c, want := range [][2]float64{{0.4914, 0.247}, {0.4822, 0.243}, {0.4465, 0.261}} {
		near("mean", d.Mean[c], want[0])
		near("standard deviation", d.Std[c], want[1])
	}
	gray := mustLoad(t, "image", Options{Dir: dir})
	near("mean of gray", gray.Mean[0], 122.6/255)
	near("standard deviation of gray", gray.Std[0], 61.0/255)
}

func TestRealMNIST(t *testing.T) {
	dir := unpack(t, "mnist-png-train.tar.xz", "train/*5?.png") // with every last digit, since writers took turns
	d := mustLoad(t, "smnist", Options{Dir: dir})
	if n := d.Train.Len() + d.Val.Len(); n != 6000 || d.Val.Len() != 600 || d.Outputs != 10 || d.Channels != 1 || d.MaxLen != 784 {
		t.Fatalf("%d and %d examples, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	if math.Abs(float64(d.Mean[0])-0.1307) > 0.003 || math.Abs(float64(d.Std[0])-0.3081) > 0.003 {
		t.Errorf("mean %v, standard deviation %v; of all images 0.1307 and 0.3081", d.Mean[0], d.Std[0])
	}
}

// In the first 4095 characters of the published reviews, 131 characters occur at least 15 times.
// With the three reserved tokens the vocabulary has 134. (The official code has 135, docs/maths.md
// §5.3; whole reviews would give 136.)
func TestRealText(t *testing.T) {
	d := mustLoad(t, "text", Options{Dir: unpack(t, "aclImdb-train.tar.xz")})
	if d.Train.Len() != 22500 || d.Val.Len() != 2500 || d.MaxLen != 4096 || d.Vocab != 134 {
		t.Errorf("%d and %d examples, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	if d.Test != nil {
		t.Errorf("a test set of %d examples, expected none", d.Test.Len())
	}
	labels := [2]int{}
	var e dataset.Example
	for i := range d.Train.Len() {
		must.Do(t, d.Train.Example(&e, i, 0))
		labels[e.Label]++
	}
	if n := labels[0] - labels[1]; n < -200 || n > 200 {
		t.Errorf("%v reviews a class", labels)
	}
}
