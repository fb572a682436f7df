package rows

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A variant is a function of the seed, the epoch and the example alone. It keeps the class, the
// length and the shape of the series, and the series themselves stay as they are.
func TestAugment(t *testing.T) {
	var examples []dataset.Example
	for i := range 3 {
		e := dataset.Example{X: make([]float32, 2*(100-50*i)), Label: i, Len: 100 - 50*i} // the last one is empty but for a test of lengths
		if e.Len == 0 {
			e.X, e.Len = []float32{1, 2}, 1
		}
		for c := range 2 {
			for l := range e.Len {
				e.X[c*e.Len+l] = float32(l + 1000*c)
			}
		}
		examples = append(examples, e)
	}
	d := must.Get(dataset.FromSlices(dataset.Info{Channels: 2}, examples, nil, nil))(t)
	series := d.Train
	Augment(d, 7)
	var a, b dataset.Example
	for i, want := range examples {
		must.Do(t, d.Train.Example(&a, i, 4))
		must.Do(t, d.Train.Example(&b, (i+1)%3, 4)) // other memory, another order
		must.Do(t, d.Train.Example(&b, i, 4))
		if !slices.Equal(a.X, b.X) || a.Label != want.Label || a.Len != want.Len {
			t.Errorf("series %d: %+v and %+v", i, a, b)
		}
		must.Do(t, d.Train.Example(&b, i, 5))
		if slices.Equal(a.X, b.X) {
			t.Errorf("series %d: the same in two epochs", i)
		}
		must.Do(t, must.Get(d.Split("train"))(t).Example(&b, i, 4))
		must.Equal(t, slices.Equal(b.X, want.X), true, "the series itself")
	}
	must.Equal(t, dataset.Fingerprint(d.Train, d.Info, ""), dataset.Fingerprint(series, d.Info, ""), "fingerprint")
}

// The time of a series increases with that of a variant, at the speeds of the slice and the window.
func TestTimeMap(t *testing.T) {
	for i := range 1000 {
		m := newTimeMap(&random.Sampler{Stream: random.New(1, random.Noise, i, 0)})
		before := m.source(0)
		must.Equal(t, before, m.from, "begin")
		if end := m.source(1); before < 0 || end > 1+1e-12 || end-before < 0.9-1e-12 {
			t.Fatalf("%+v: from %g to %g", m, before, end)
		}
		for k := range 100 {
			at := m.source(float64(k+1) / 100)
			if step := 100 * (at - before) / m.length; step < 0.45 || step > 2.3 {
				t.Fatalf("%+v: speed %g at %d %%", m, step, k)
			}
			before = at
		}
	}
}

// The peak of an outline is anywhere in its variants. If there are gaps between the ends of series,
// or if all begin at the same value, it stays near its place.
func TestClosed(t *testing.T) {
	for _, test := range []struct {
		name         string
		turns, shift float64 // of a series, and from one series to the next
		want         bool
	}{{"outlines", 1, 0.3, true}, {"gaps", 0.8, 0.3, false}, {"the same begin", 1, 0, false}} {
		var examples []dataset.Example
		for i := range 10 {
			e := dataset.Example{X: make([]float32, 100), Len: 100}
			for l := range e.X {
				e.X[l] = float32(math.Sin(2 * math.Pi * (test.turns*float64(l)/99 + test.shift*float64(i))))
			}
			examples = append(examples, e)
		}
		d := must.Get(dataset.FromSlices(dataset.Info{Channels: 1}, examples, nil, nil))(t)
		Augment(d, 7)
		var e dataset.Example
		var peaks []int
		for pass := range 40 {
			must.Do(t, d.Train.Example(&e, 0, pass))
			peaks = append(peaks, slices.Index(e.X, slices.Max(e.X)))
		}
		must.Equal(t, slices.Max(peaks)-slices.Min(peaks) > 60, test.want, "%s: peaks at %v", test.name, peaks)
	}
}
