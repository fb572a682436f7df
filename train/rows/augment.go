package rows

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// augmented is a training set of whole series, of which every pass has other variants.
type augmented struct {
	dataset.Set
	channels int
	std      []float32
	seed     uint64
	closed   bool
}

// Augment replaces the training set of a classification of whole series in memory by random
// variants of the series: other variants in every pass, a function of (seed, pass, example).
// A variant is a slice of at least 90 % of the series, stretched to its length. In a tenth of it,
// time passes at half to twice the speed. It is scaled by about 10 %, and has noise of 5 % of the
// channel's standard deviation. If the series are closed curves, it begins anywhere.
func Augment(d *dataset.Dataset, seed uint64) {
	d.Train = &augmented{d.Train, d.Channels, d.Std, seed, closed(d.Train, d.Channels)}
}

// closed reports whether the series are closed curves without a fixed begin, such as outlines: in
// units of the standard deviation of a series, the root mean square difference between its ends is
// at most 0.1, and their first values have a standard deviation of at least 0.5.
func closed(set dataset.Set, channels int) bool {
	var e dataset.Example
	n := float64(set.Len())
	for c := range channels {
		var sum, squares, gaps float64
		for i := range set.Len() {
			if set.Example(&e, i, 0) != nil {
				return false // training reports the error
			}
			row := e.X[c*e.Len : (c+1)*e.Len]
			var m dataset.Moments
			m.Add(row)
			mean, std := m.MeanStd()
			begin, gap := float64((row[0]-mean)/std), float64((row[e.Len-1]-row[0])/std)
			sum, squares, gaps = sum+begin, squares+begin*begin, gaps+gap*gap
		}
		if gaps/n > 0.1*0.1 || squares/n-(sum/n)*(sum/n) < 0.5*0.5 {
			return false
		}
	}
	return true
}

// Unshifted returns the series as they are.
func (a *augmented) Unshifted() dataset.Set { return a.Set }

func (a *augmented) Example(dst *dataset.Example, i, pass int) error {
	if err := a.Set.Example(dst, i, pass); err != nil {
		return err
	}
	draw := random.Sampler{Stream: random.New(a.seed, random.Noise, pass, 2*i)}
	noise := random.New(a.seed, random.Noise, pass, 2*i+1)
	time := newTimeMap(&draw)
	gain := math.Exp(0.1 * noise.Normal(0))
	source, begin := make([]float32, dst.Len), 0
	if a.closed {
		begin = int(draw.Uniform() * float64(dst.Len))
	}
	for c := range a.channels {
		row := dst.X[c*dst.Len : (c+1)*dst.Len]
		copy(source[copy(source, row[begin:]):], row[:begin])
		for t := range row {
			at := time.source(float64(t)/float64(max(dst.Len-1, 1))) * float64(dst.Len-1)
			k := min(int(at), max(dst.Len-2, 0))
			next := source[min(k+1, dst.Len-1)]
			v := float64(source[k]) + (at-float64(k))*float64(next-source[k])
			row[t] = float32(gain*v + 0.05*float64(a.std[c])*noise.Normal(uint64(2+c*dst.Len+t)))
		}
	}
	return nil
}

// timeMap maps the time of a variant to that of the series, both from 0 to 1: a slice [from, from +
// length], in which the window [window, window + 0.1·speed) of the variant's time passes at another
// speed.
type timeMap struct{ from, length, window, slowness float64 }

const warpWindow = 0.1

func newTimeMap(draw *random.Sampler) timeMap {
	length := 1 - 0.1*draw.Uniform()
	return timeMap{
		from: (1 - length) * draw.Uniform(), length: length,
		window: (1 - warpWindow) * draw.Uniform(), slowness: math.Exp2(2*draw.Uniform() - 1),
	}
}

func (m timeMap) source(t float64) float64 {
	stretched := warpWindow * m.slowness
	t *= 1 - warpWindow + stretched
	switch {
	case t < m.window:
	case t < m.window+stretched:
		t = m.window + (t-m.window)/m.slowness
	default:
		t += warpWindow - stretched
	}
	return m.from + m.length*min(t, 1)
}
