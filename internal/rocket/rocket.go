// Package rocket predicts the class or the number of whole time series by random convolutional
// kernels and ridge regression: the baseline of Dempster, Petitjean and Webb (arXiv 1910.13051).
package rocket

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The numbers of kernels and of training series. With more series, a random choice is trained on,
// because the time increases with the third power.
const (
	Kernels   = 10_000
	MaxSeries = 4000
)

// kernel is a dilated convolution with a bias. Of several channels it reads a random choice, and
// adds their convolutions.
type kernel struct {
	channels          []int
	weights           [][]float32 // [channels][7, 9 or 11]
	bias              float32
	dilation, padding int
}

// newKernel draws kernel i for series of up to so many positions (section 3.1).
func newKernel(seed uint64, i, channels, length int) kernel {
	draw, normal := random.Sampler{Stream: random.New(seed, random.Weights, i, 0)}, random.New(seed, random.Weights, i, 1)
	size := 7 + 2*draw.Below(3)
	used := int(math.Exp2(draw.Uniform() * math.Log2(float64(min(channels, size)+1))))
	k := kernel{
		channels: random.New(seed, random.Weights, i, 2).Perm(channels)[:used], bias: float32(2*draw.Uniform() - 1),
		dilation: int(math.Exp2(draw.Uniform() * max(0, math.Log2(float64(length-1)/float64(size-1))))),
	}
	if draw.Below(2) == 1 {
		k.padding = (size - 1) * k.dilation / 2
	}
	for c := range k.channels {
		w, mean := make([]float32, size), 0.0
		for j := range w {
			v := normal.Normal(uint64(c*size + j))
			w[j], mean = float32(v), mean+v/float64(size)
		}
		for j := range w {
			w[j] -= float32(mean)
		}
		k.weights = append(k.weights, w)
	}
	return k
}

// features returns the proportion of positive values in the output of a kernel, and its maximum.
// Both are 0 if the series is too short for an output. x is [channels][length], and scratch has
// memory for the output.
func (k *kernel) features(x []float32, length int, scratch []float32) (positive, highest float64) {
	size := len(k.weights[0])
	n := length + 2*k.padding - (size-1)*k.dilation
	if n <= 0 {
		return 0, 0
	}
	out := scratch[:n]
	vek.Fill(out, k.bias)
	for c, channel := range k.channels {
		row := x[channel*length:][:length]
		for j, w := range k.weights[c] {
			shift := j*k.dilation - k.padding // out[i] += w·row[i+shift]
			if lo, hi := max(0, -shift), min(n, length-shift); lo < hi {
				vek.Axpy(out[lo:hi], w, row[lo+shift:hi+shift])
			}
		}
	}
	most, count := out[0], 0
	for _, v := range out {
		if v > most {
			most = v
		}
		bits := int32(math.Float32bits(v))
		count += int(uint32(-bits&^bits) >> 31) // 1 if v > 0: no processor predicts a branch here
	}
	return float64(count) / float64(n), float64(most)
}

// transform returns the features of some series of a set, [series][2·Kernels], and their targets.
// Each channel is normalised by its moments in the training set. The classes of a classification
// are targets of ±1, one against the rest.
func transform(ctx context.Context, set dataset.Set, members []int, d *dataset.Dataset, kernels []kernel, pool *par.Pool) (x, y matrix, err error) {
	x, y = newMatrix(len(members), 2*len(kernels)), newMatrix(len(members), d.Outputs)
	scratch := make([][]float32, pool.Workers())
	for w := range scratch {
		scratch[w] = make([]float32, d.MaxLen)
	}
	var e dataset.Example
	for i, member := range members {
		if err := cmp.Or(ctx.Err(), set.Example(&e, member, 0)); err != nil {
			return x, y, err
		}
		for c := range d.Channels {
			row := e.X[c*e.Len : (c+1)*e.Len]
			vek.ScaleShift(row, row, 1/d.Std[c], -d.Mean[c]/d.Std[c])
		}
		const block = 100 // kernels
		pool.For((len(kernels)+block-1)/block, func(w, item int) {
			for k := item * block; k < min((item+1)*block, len(kernels)); k++ {
				positive, highest := kernels[k].features(e.X, e.Len, scratch[w])
				x.row(i)[2*k], x.row(i)[2*k+1] = positive, highest
			}
		})
		for o := range d.Outputs {
			target := -1.0
			if d.Regression {
				target = float64(e.Target[o])
			} else if o == e.Label {
				target = 1
			}
			y.row(i)[o] = target
		}
	}
	return x, y, nil
}

// Evaluate trains on one set of d and returns the result on another one: the accuracy, or the root
// mean square error of a regression.
func Evaluate(ctx context.Context, d *dataset.Dataset, train, test dataset.Set, seed uint64, workers int) (float64, error) {
	kernels := make([]kernel, Kernels)
	for i := range kernels {
		kernels[i] = newKernel(seed, i, d.Channels, d.MaxLen)
	}
	pool := par.New(workers)
	defer pool.Close()
	members := dataset.Order(train.Len(), seed, 0)
	x, y, err := transform(ctx, train, members[:min(len(members), MaxSeries)], d, kernels, pool)
	if err != nil {
		return 0, err
	}
	r := newRidge(x, y)
	right, squares := 0, 0.0
	for i := range test.Len() {
		x, y, err := transform(ctx, test, []int{i}, d, kernels, pool)
		if err != nil {
			return 0, err
		}
		got, want := r.predict(x.row(0)), y.row(0)
		if floats.MaxIdx(got) == floats.MaxIdx(want) {
			right++
		}
		distance := floats.Distance(got, want, 2)
		squares += distance * distance
	}
	if d.Regression {
		return math.Sqrt(squares / float64(test.Len()*d.Outputs)), nil
	}
	return float64(right) / float64(test.Len()), nil
}
