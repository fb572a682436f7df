package task

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// digitsData writes clips of a tone: 20 training clips of 500 to 690 samples.
func digitsData(t *testing.T, amplitude float64) *dataset.Dataset {
	t.Helper()
	dir := t.TempDir()
	tone := func(name string, n int) {
		samples := make([]float32, n)
		for i := range samples {
			samples[i] = float32(amplitude * math.Cos(0.3*float64(i)))
		}
		must.Do(t, audio.WriteWAVFile(filepath.Join(dir, name), 8000, samples))
	}
	for i := range 20 {
		tone(fmt.Sprintf("%d_jo_%d.wav", i%10, 10+i), 500+10*i)
	}
	tone("4_jo_5.wav", 500)
	return mustLoad(t, "digits", Options{Dir: dir, Seed: 3})
}

func TestDigits(t *testing.T) {
	d := digitsData(t, 0.125)
	must.Equal(t, must.Get(Lookup("digits"))(t).SampleRate(), d.SampleRate, "sampling rate of the task")
	if d.Train.Len() != 24 || d.Val.Len() != 1 || d.Outputs != 11 || d.Labels[10] != "none" || d.Labels[3] != "3" || d.SampleRate != 8000 {
		t.Fatalf("%d and %d examples, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	const margin = 2560 // 0.32 s
	must.Equal(t, d.MaxLen, 759+margin, "MaxLen")
	if want := 0.125 / math.Sqrt2 / digitsInputStd; math.Abs(float64(d.Std[0])/want-1) > 0.02 {
		t.Errorf("the network's input is divided by %v, expected %v", d.Std[0], want)
	}
	var e, again, clip dataset.Example
	distinct, recorded := map[string]bool{}, 0
	for epoch := range 12 {
		for i := range d.Train.Len() {
			must.Do(t, d.Train.Example(&e, i, epoch))
			must.Do(t, d.Train.Example(&again, i, epoch))
			if !slices.Equal(e.X, again.X) {
				t.Fatalf("example %d of epoch %d has other samples the second time", i, epoch)
			}
			if e.Label != again.Label {
				t.Fatalf("example %d of epoch %d: label %d, the second time %d", i, epoch, e.Label, again.Label)
			}
			if e.Len != len(e.X) {
				t.Fatalf("example %d of epoch %d: length %d, but %d samples", i, epoch, e.Len, len(e.X))
			}
			if most := d.Train.(dataset.Sized).Length(i); e.Len > most || e.Len < 454 {
				t.Fatalf("example %d of epoch %d has %d samples, expected 454 … %d", i, epoch, e.Len, most)
			}
			if at := slices.IndexFunc(e.X, func(v float32) bool { return math.IsNaN(float64(v)) || math.Abs(float64(v)) > 8 }); at >= 0 {
				t.Fatalf("example %d of epoch %d is not a sound: sample %d is %v, expected -8 … 8", i, epoch, at, e.X[at])
			}
			want := digitsNoneClass
			if i < 20 {
				want = i / 2 // in the order of the names
			}
			if e.Label != want {
				t.Fatalf("example %d of epoch %d: label %d, expected %d", i, epoch, e.Label, want)
			}
			if i < 20 {
				must.Do(t, d.Train.(*digitsSet).clips.Example(&clip, i, epoch))
			}
			if i < 20 && slices.Equal(e.X, clip.X) {
				recorded++
			} else {
				distinct[fmt.Sprint(e.X)] = true
			}
		}
	}
	if recorded < 60 || recorded > 100 || len(distinct) != 12*24-recorded {
		t.Errorf("%d clips as recorded and %d different examples in 12 epochs of 24, expected a third of 240 as recorded", recorded, len(distinct))
	}
	must.Do(t, d.Val.Example(&e, 0, 0))
	if e.Len != 500 || e.X[0] != 0.125 {
		t.Errorf("a validation clip is not as recorded: %d samples, %v", e.Len, e.X[0])
	}
	must.Equal(t, e.Label, 4, "label of the validation clip")
}

// The background noise of a digit is below it by a level of the range. The digit starts anywhere in
// its padding.
func TestDigitInNoise(t *testing.T) {
	d := digitsData(t, 0.125)
	s := d.Train.(*digitsSet)
	var clip, e dataset.Example
	must.Do(t, s.clips.Example(&clip, 19, 0))
	loud := math.Sqrt(synth.MeanSquare(clip.X))
	low, high := math.Inf(1), math.Inf(-1)
	lengths := map[int]bool{}
	for epoch := range 200 {
		must.Do(t, s.Example(&e, 19, epoch))
		if e.Len == clip.Len {
			continue // as recorded
		}
		level := 20 * math.Log10(math.Sqrt(synth.MeanSquare(e.X))*math.Sqrt(float64(e.Len)/690)/loud)
		low, high = min(low, level), max(high, level)
		lengths[e.Len] = true
	}
	if low < digitsGainLow-0.5 || low > digitsGainLow+3 || high > digitsGainHigh+3 || high < digitsGainHigh-3 {
		t.Errorf("levels %.1f … %.1f dB, expected %d … %d and some noise", low, high, digitsGainLow, digitsGainHigh)
	}
	if len(lengths) < 100 {
		t.Errorf("%d lengths in 200 epochs", len(lengths))
	}
}

// A bias is a constant of either sign, with a level of its range. All clips but the unchanged ones
// have one.
func TestBias(t *testing.T) {
	low, high := 0.0, 0.0
	for epoch := range 200 {
		d := soundSampler{synth.Synth{Sampler: random.Sampler{Stream: random.New(1, random.Noise, epoch, 0)}, Rate: 8000}}
		x := []float32{0, 0.5, -0.5}
		d.bias(x)
		low, high = min(low, float64(x[0])), max(high, float64(x[0]))
		if math.Abs(float64(x[1]-x[2])-1) > 1e-6 || math.Abs(float64(x[1]-x[0])-0.5) > 1e-6 {
			t.Fatalf("a bias makes of 0, 0.5, -0.5 %v", x)
		}
	}
	loudest := math.Pow(10, digitsBiasHigh/20.)
	if high > loudest || -low > loudest || high < loudest/2 || -low < loudest/2 {
		t.Errorf("biases %v … %v, expected up to ±%v", low, high, loudest)
	}
	silence := digitsData(t, 0).Train
	var e dataset.Example
	biased := 0
	for epoch := range 30 {
		must.Do(t, silence.Example(&e, 7, epoch))
		if e.X[0] != 0 && e.X[0] == e.X[e.Len-1] {
			biased++
		}
	}
	if biased < 15 || biased > 25 { // two thirds: the others are as recorded
		t.Errorf("%d of 30 silent clips have a bias", biased)
	}
}

// Noise has the requested level.
func TestNoise(t *testing.T) {
	d := &soundSampler{synth.Synth{Rate: 8000}}
	for _, n := range []int{1, 20001} {
		x := make([]float32, n)
		d.noise(x, 0.1)
		if r := math.Sqrt(synth.MeanSquare(x)); math.Abs(r-0.1) > 1e-5 {
			t.Errorf("level %v, expected 0.1", r)
		}
	}
}

// Stretching a tone changes its frequency and its length.
func TestStretch(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 0.05 * float64(i)))
	}
	for _, factor := range []float64{1, 1.1, 1 / 1.1} {
		y := stretch(x, factor)
		if len(y) != int(1000*factor) {
			t.Errorf("%d samples of 1000 at factor %v", len(y), factor)
		}
		for i, v := range y[2 : len(y)-4] {
			if want := math.Sin(2 * math.Pi * 0.05 * float64(i+2) / factor); math.Abs(float64(v)-want) > 2e-3 {
				t.Fatalf("factor %v, sample %d: %v, expected %v", factor, i+2, v, want)
			}
		}
	}
	if y := stretch([]float32{3}, 1/1.1); len(y) != 1 || y[0] != 3 {
		t.Errorf("one sample becomes %v", y)
	}
}
