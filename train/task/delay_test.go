package task

import (
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func mustLoad(t testing.TB, task string, opt Options) *dataset.Dataset {
	t.Helper()
	return must.Get(load(task, opt))(t)
}

func TestDelayDefaults(t *testing.T) {
	d := mustLoad(t, "delay", Options{})
	if d.Channels != 1 || d.Outputs != 1 || !d.Regression || !d.PerPosition || d.SampleRate != 4000 || d.MaxLen != 4000 {
		t.Errorf("info %+v", d.Info)
	}
	if d.Train.Len() != 16384 || d.Val.Len() != 1024 || d.Test != nil {
		t.Errorf("%d training and %d validation sequences, test set %v", d.Train.Len(), d.Val.Len(), d.Test)
	}
	e := dataset.Example{Target: slices.Repeat([]float32{9}, 5000)}
	must.Do(t, d.Train.Example(&e, 5, 1))
	if e.Len != 4000 || len(e.X) != 4000 {
		t.Fatalf("length %d, %d values, expected 4000 and 4000", e.Len, len(e.X))
	}
	must.Equal(t, e.X[0], 0, "first value")
	for l, y := range e.Target {
		want := float32(0)
		if l >= 1000 {
			want = e.X[l-1000]
		}
		if y != want {
			t.Fatalf("target[%d] = %v, expected %v", l, y, want)
		}
	}
}

// The formulas of docs/maths.md §5.1 written out, without a fast transform, for an even and an odd
// length.
func TestDelayAgainstTheFormula(t *testing.T) {
	for _, length := range []int{4, 32, 33} {
		d := mustLoad(t, "delay", Options{Seed: 3, Length: length, Delay: 2})
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 7, 2))
		want := slowSignal(random.New(3, random.Signal, 2, 8), length)
		for l := range want {
			if math.Abs(float64(e.X[l])-want[l]) > 1e-6 {
				t.Fatalf("length %d: x[%d] = %v, expected %v", length, l, e.X[l], want[l])
			}
		}
	}
}

func slowSignal(s random.Stream, length int) []float64 {
	const dt, cutoff, rms = 0.00025, 1000, 0.5
	nc := int(math.Ceil(float64(length) / 2))
	c := make([]complex128, nc+1)
	zeroed := 0
	for k := range c {
		if float64(k)/(2*float64(nc)*dt) > cutoff*(1+1e-9) {
			zeroed++
		} else if k > 0 {
			sigma := rms * math.Sqrt(0.5)
			c[k] = complex(sigma*s.Normal(uint64(2*k)), sigma*s.Normal(uint64(2*k+1)))
		}
	}
	gain := math.Sqrt(2*float64(nc)) / math.Sqrt(1-float64(zeroed)/float64(nc))
	x := make([]float64, length)
	for l := range x {
		for k := 1; k < nc; k++ { // bin n_c is always cut off
			x[l] += 2 * real(c[k]*cmplx.Rect(1, 2*math.Pi*float64(k*l)/float64(2*nc)))
		}
		x[l] *= gain / float64(2*nc)
	}
	first := x[0]
	for l := range x {
		x[l] -= first
	}
	return x
}

// Means over many sequences agree with those of a run of the official code: power 0.2494 before the
// shift and 0.4958 after it. The output 0 has an error of 0.375.
func TestDelayStatistics(t *testing.T) {
	const n = 1024
	d := mustLoad(t, "delay", Options{Seed: 1})
	fft := fourier.NewFFT(4000)
	var before, after, zero, inBand, outOfBand float64
	var e dataset.Example
	x := make([]float64, 4000)
	coeff := make([]complex128, 2001)
	for i := range n {
		must.Do(t, d.Val.Example(&e, i, 0))
		mean := 0.0
		for l := range x {
			x[l] = float64(e.X[l])
			mean += x[l] / 4000
			after += x[l] * x[l] / (4000 * n)
			zero += float64(e.Target[l]) * float64(e.Target[l]) / (4000 * n)
		}
		for l := range x {
			before += (x[l] - mean) * (x[l] - mean) / (4000 * n)
		}
		if i%64 == 0 {
			fft.Coefficients(coeff, x)
			for k := 1; k <= 2000; k++ {
				if p := real(coeff[k] * cmplx.Conj(coeff[k])); k <= 1000 {
					inBand += p
				} else {
					outOfBand += p
				}
			}
		}
	}
	for _, c := range []struct {
		name                 string
		got, want, tolerance float64 // about four standard errors
	}{
		{"E[x²] before the shift", before, 0.25, 0.001},
		{"E[x²] after the shift", after, 0.5, 0.045},
		{"MSE of the zero predictor", zero, 0.375, 0.035},
		{"power above the cutoff", outOfBand / inBand, 0, 1e-12},
	} {
		t.Logf("%s: %.4g", c.name, c.got)
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("%s is %v, expected %v ± %v", c.name, c.got, c.want, c.tolerance)
		}
	}
}

func TestDelayKeys(t *testing.T) {
	d := mustLoad(t, "delay", Options{Seed: 1, Length: 64})
	seen := map[float32]string{}
	var e dataset.Example
	record := func(s dataset.Set, i, epoch int, what string) {
		must.Do(t, s.Example(&e, i, epoch))
		if other, ok := seen[e.X[1]]; ok {
			t.Errorf("%s is the same sequence as %s", what, other)
		}
		seen[e.X[1]] = what
	}
	record(d.Train, 0, 0, "training example 0")
	record(d.Train, 1, 0, "training example 1")
	record(d.Train, 0, 1, "training example 0 of the next epoch")
	record(d.Val, 0, 0, "validation example 0")
	record(d.Val, 1, 0, "validation example 1")
	record(mustLoad(t, "delay", Options{Seed: 2, Length: 64}).Train, 0, 0, "training example 0 of another seed")

	must.Do(t, d.Val.Example(&e, 1, 9))
	if seen[e.X[1]] != "validation example 1" {
		t.Error("a validation sequence changes with the epoch")
	}
	must.Do(t, d.Train.Example(&e, 1, 0))
	if seen[e.X[1]] != "training example 1" {
		t.Error("a training sequence changes when it is made again")
	}
}

func TestDelayOptions(t *testing.T) {
	d := mustLoad(t, "delay", Options{Length: 1000, TrainSize: 10, EvalSize: 3})
	if d.Train.Len() != 10 || d.Val.Len() != 3 || d.MaxLen != 1000 || d.SampleRate != 4000 {
		t.Errorf("%d and %d sequences, info %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 0, 0))
	must.Equal(t, e.Target[249], 0, "target 249 with a delay of 250")
	must.Equal(t, e.Target[251], e.X[1], "target 251 with a delay of 250")
	tests := []struct {
		opt  Options
		want string
	}{
		{Options{Length: 3}, "length 3"},
		{Options{Length: -1}, "length -1"},
		{Options{Length: 100, Delay: 100}, "delay 100"},
		{Options{Delay: -5}, "delay -5"},
		{Options{TrainSize: -1}, "data.train_size -1"},
		{Options{EvalSize: -1}, "data.eval_size -1"},
		{Options{Decimate: 2}, "unknown option data.decimate"},
		{Options{MaxLen: 10}, "unknown option data.max_len"},
	}
	for _, tt := range tests {
		if _, err := load("delay", tt.opt); err == nil || !strings.Contains(err.Error(), `task "delay": `) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, expected %q", tt.opt, err, tt.want)
		}
	}
}

func TestDelayAllocatesNothing(t *testing.T) {
	d := mustLoad(t, "delay", Options{Length: 400})
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 0, 0))
	i := 0
	if n := testing.AllocsPerRun(50, func() { i++; d.Train.Example(&e, i, 0) }); n > 0 && !must.RaceEnabled {
		t.Errorf("%v allocations per example", n)
	}
}
