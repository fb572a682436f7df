package loss_test

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/loss"
)

// values returns n normal numbers.
func values(n int) []float32 {
	draw := random.New(5, random.Noise, 0, 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(2 * draw.Normal(uint64(i)))
	}
	return x
}

// check compares a loss with its value and its gradient with central differences, in the mean.
func check(t *testing.T, y []float32, want loss.Sum, f func(dy, y []float32) loss.Sum) {
	t.Helper()
	dy, waste := slices.Repeat([]float32{9}, len(y)), make([]float32, len(y))
	got := f(dy, y)
	if got.Terms != want.Terms || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss {
		t.Errorf("%+v, expected %+v", got, want)
	}
	const h = 1.0 / 256
	for i := range y {
		up, down := slices.Clone(y), slices.Clone(y)
		up[i] += h
		down[i] -= h
		if numeric := (f(waste, up).Mean() - f(waste, down).Mean()) / (2 * h); math.Abs(float64(dy[i])-numeric) > 3e-4 {
			t.Errorf("gradient %d: %v, expected %v", i, dy[i], numeric)
		}
	}
	must.Equal(t, f(slices.Clone(y), y), got, "the second time")
}

// crossEntropy is −ln softmax(z)[label] in float64, and whether z[label] is the largest.
func crossEntropy(z []float64, label int) (loss float64, correct bool) {
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v)
	}
	return math.Log(sum) - z[label], slices.Max(z) == z[label]
}

func TestCrossEntropy(t *testing.T) {
	y, labels := values(12), []int{2, 0, 1, 1}
	want := loss.Sum{Terms: 4}
	for i, label := range labels {
		l, correct := crossEntropy([]float64{float64(y[3*i]), float64(y[3*i+1]), float64(y[3*i+2])}, label)
		want.Loss += l
		if correct {
			want.Correct++
		}
	}
	check(t, y, want, func(dy, y []float32) loss.Sum { return loss.CrossEntropy(dy, y, labels) })
}

func TestPositionCrossEntropy(t *testing.T) {
	const classes, length = 3, 4
	y, labels := values(2*classes*length), []int32{2, -1, 0, 1, 1, 1, -1, -1}
	var want loss.Sum
	for i, label := range labels {
		if label < 0 {
			continue
		}
		var z []float64
		for c := range classes {
			z = append(z, float64(y[(i/length*classes+c)*length+i%length]))
		}
		l, correct := crossEntropy(z, int(label))
		want.Loss += l
		want.Terms++
		if correct {
			want.Correct++
		}
	}
	check(t, y, want, func(dy, y []float32) loss.Sum { return loss.PositionCrossEntropy(dy, y, labels, length, nil) })

	d := slices.Repeat([]float32{1}, len(y))
	nothing := loss.PositionCrossEntropy(d, y, slices.Repeat([]int32{-1}, 8), length, make([]float32, classes))
	must.Equal(t, nothing, loss.Sum{}, "sum without scored positions")
	must.Equal(t, slices.Max(d) == 0 && slices.Min(d) == 0, true, "gradients are 0: %v", d)
}

func TestSquaredError(t *testing.T) {
	y, targets := values(6), []float32{1, 2, float32(math.NaN()), -1, 0, 0.5}
	want := loss.Sum{Terms: 5}
	for i, v := range targets {
		if i != 2 {
			want.Loss += math.Pow(float64(y[i]-v), 2)
		}
	}
	check(t, y, want, func(dy, y []float32) loss.Sum { return loss.SquaredError(dy, y, targets) })
	y[0] = float32(math.NaN())
	if s := loss.SquaredError(make([]float32, 6), y, targets); s.Loss == s.Loss {
		t.Errorf("an output of NaN has the loss %v, expected NaN", s.Loss)
	}
}

func TestStandardise(t *testing.T) {
	x := []float32{10, 14, 6}
	loss.Standardise(x, x, 10, 4)
	must.Equal(t, slices.Equal(x, []float32{0, 1, -1}), true, "standardised: %v", x)
}

func TestSums(t *testing.T) {
	s := loss.Sum{Loss: 4, Terms: 8, Correct: 4}
	must.Equal(t, s.Mean(), 0.5, "mean")
	must.Equal(t, s.Accuracy(), 0.5, "accuracy")
}
