package rocket

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

// The outputs of the kernel are computed by hand.
func TestFeatures(t *testing.T) {
	x := []float32{
		1, 2, 4, 3, 0,
		0, 1, 0, 0, 2,
	}
	second := []float32{1, -2, 1}
	for _, test := range []struct {
		name              string
		k                 kernel
		positive, highest float64
	}{
		{"the output 1, −3, −2", kernel{channels: []int{0}, weights: [][]float32{second}, dilation: 1}, 1.0 / 3, 1},
		{"0, 1, −3, −2, 3 with padding, and a bias", kernel{channels: []int{0}, weights: [][]float32{second}, bias: 0.5, dilation: 1, padding: 1}, 3.0 / 5, 3.5},
		{"1 − 8 + 0, with a dilation", kernel{channels: []int{0}, weights: [][]float32{second}, dilation: 2}, 0, -7},
		{"two channels: 1 − 2, −3 + 1, −2 + 2", kernel{channels: []int{1, 0}, weights: [][]float32{second, second}, dilation: 1}, 0, 0},
		{"longer than the series", kernel{channels: []int{0}, weights: [][]float32{second}, dilation: 3}, 0, 0},
	} {
		positive, highest := test.k.features(x, 5, make([]float32, 5))
		must.Equal(t, [2]float64{positive, highest}, [2]float64{test.positive, test.highest}, "%s", test.name)
	}
}

// The lengths, dilations and channels of kernels cover their ranges, and weights have mean 0.
func TestNewKernel(t *testing.T) {
	sizes, padded, widest, dilation := map[int]int{}, 0, 0, 0
	for i := range 1000 {
		k := newKernel(1, i, 5, 100)
		size := len(k.weights[0])
		sizes[size]++
		widest, dilation = max(widest, len(k.channels)), max(dilation, k.dilation)
		if k.padding > 0 {
			padded++
		}
		sum := 0.0
		for _, w := range k.weights[0] {
			sum += float64(w)
		}
		if math.Abs(sum) > 1e-5 || (size-1)*k.dilation > 99 || k.padding != 0 && k.padding != (size-1)*k.dilation/2 || k.bias < -1 || k.bias >= 1 {
			t.Fatalf("kernel %d: %+v, sum of weights %g", i, k, sum)
		}
	}
	if len(sizes) != 3 || sizes[7] < 280 || sizes[9] < 280 || sizes[11] < 280 || padded < 450 || padded > 550 || widest != 5 || dilation < 15 {
		t.Errorf("lengths %v, %d padded, at most %d channels and dilation %d", sizes, padded, widest, dilation)
	}
}

// The errors of samples that are left out are those of regressions without each sample, with an
// intercept that has no penalty.
func TestLeaveOneOut(t *testing.T) {
	const n, features, alpha = 6, 3, 0.7
	draw := random.New(2, random.Signal, 0, 0)
	x, y := newMatrix(n, features), newMatrix(n, 1)
	for i := range n {
		for f := range features {
			x.row(i)[f] = draw.Normal(uint64(i*features + f))
		}
		y.Data[i] = float64(2*(i%2) - 1)
	}
	normalise(x, true)
	normalise(y, false)
	q, qy, lambda := decompose(x, y)
	_, loss := leaveOneOut(q, qy, lambda, alpha)
	want := 0.0
	for out := range n {
		a, b := mat.NewDense(features+1, features+1, nil), mat.NewVecDense(features+1, nil)
		row := func(i int) *mat.VecDense {
			return mat.NewVecDense(features+1, append([]float64{1}, x.row(i)...))
		}
		for i := range n {
			if i != out {
				var outer mat.Dense
				outer.Outer(1, row(i), row(i))
				a.Add(a, &outer)
				b.AddScaledVec(b, y.Data[i], row(i))
			}
		}
		for f := 1; f <= features; f++ {
			a.Set(f, f, a.At(f, f)+alpha)
		}
		var w mat.VecDense
		must.Do(t, w.SolveVec(a, b))
		e := mat.Dot(&w, row(out)) - y.Data[out]
		want += e * e
	}
	if math.Abs(loss-want) > 1e-9 {
		t.Errorf("squared errors %.12f, expected %.12f", loss, want)
	}
}

// Classes and numbers of generated series are predicted. The number of threads does not matter.
func TestEvaluate(t *testing.T) {
	for _, regression := range []bool{false, true} {
		var train, test []dataset.Example
		for i := range 42 {
			draw, e := random.New(3, random.Signal, i, 0), dataset.Example{X: make([]float32, 2*40), Label: i % 3}
			for l := range 40 { // the classes are three frequencies of channel 1
				e.X[l], e.X[40+l] = float32(draw.Normal(uint64(l))), float32(math.Sin(float64(l)*(0.3+0.2*float64(e.Label))+6*draw.Float64(100)))
			}
			if regression {
				e.Target = []float32{10 * float32(e.Label)}
			}
			if i < 21 {
				train = append(train, e)
			} else {
				test = append(test, e)
			}
		}
		d := must.Get(dataset.FromSlices(dataset.Info{Channels: 2, Regression: regression}, train, nil, test))(t)
		got := must.Get(Evaluate(t.Context(), d, d.Train, d.Test, 1, 1))(t)
		if !regression && got < 0.95 || regression && got > 3 {
			t.Errorf("regression %t: %g", regression, got)
		}
		must.Equal(t, must.Get(Evaluate(t.Context(), d, d.Train, d.Test, 1, 3))(t), got, "with three threads")
	}
}

// The published accuracy of ROCKET on OSULeaf is 94.1 %, the mean of ten seeds.
func TestRealArchive(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set: it names a folder that holds ucr")
	}
	path := filepath.Join(root, "ucr", "OSULeaf", "OSULeaf")
	train, test := must.Get(rows.ReadTS(path+"_TRAIN.ts"))(t), must.Get(rows.ReadTS(path+"_TEST.ts"))(t)
	d := must.Get(dataset.FromSlices(dataset.Info{Channels: train.Channels, Labels: train.Classes}, train.Examples, nil, test.Examples))(t)
	if got := must.Get(Evaluate(t.Context(), d, d.Train, d.Test, 0, 0))(t); got < 0.92 {
		t.Errorf("accuracy %.4f, expected at least 0.92", got)
	}
}
