package dataset

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The task digits trains models for real streams on the Free Spoken Digit Dataset. In every epoch a
// training clip is changed at random: its speed, its gain, background noise around it, and a
// constant offset. One clip in digitsUnchanged stays as recorded. Further training examples have
// the class "none" and contain no digit. Validation and test clips are as recorded.
const (
	digitsNoneClass = 10   // label of "none"
	digitsUnchanged = 3    // one clip in so many stays as recorded
	digitsMaxSpeed  = 1.1  // largest change of speed; the lowest speed is its inverse
	digitsMaxBefore = 0.12 // seconds of background before a clip, at most
	digitsMaxAfter  = 0.2  // seconds of background after a clip, at most
	digitsPerNone   = 5    // clips per example of class "none"
	// Standard deviation of the network's input, so that quiet sound too reaches the bend of the
	// first GELU.
	digitsInputStd = 16
)

// Ranges of the augmentation, in decibels.
const (
	digitsGainLow, digitsGainHigh   = -15, 6   // gain of the clip
	digitsNoiseLow, digitsNoiseHigh = 12, 50   // level of the clip relative to the background
	digitsLevelLow, digitsLevelHigh = -60, -8  // RMS level of "none", re full scale
	digitsBiasLow, digitsBiasHigh   = -80, -38 // offset, as of cheap converters, re full scale
)

// loadDigits loads fsdd and replaces its training set by a digitsSet.
func loadDigits(opt Options) (*Dataset, error) {
	d, err := loadFSDD(opt)
	if err != nil {
		return nil, err
	}
	d.Task, d.Labels = "digits", append(d.Labels, "none")
	d.Outputs = len(d.Labels)
	if clips, ok := d.Train.(*clipSet); ok {
		padding := int((digitsMaxBefore + digitsMaxAfter) * d.SampleRate)
		d.Train = &digitsSet{clips: clips, padding: padding, rate: d.SampleRate, seed: opt.Seed}
		for i := range d.Train.Len() {
			d.MaxLen = max(d.MaxLen, d.Train.(Sized).Length(i))
		}
	}
	for i := range d.Std {
		d.Std[i] /= digitsInputStd
	}
	return d, nil
}

// digitsSet is the training set: every clip, then the examples of class "none". Each example of
// "none" belongs to digitsPerNone clips. In each epoch one of them determines its length and may be
// rearranged to something that is not a digit.
type digitsSet struct {
	clips   *clipSet
	padding int     // largest number of background samples around a clip
	rate    float64 // Hz
	seed    uint64
}

func (s *digitsSet) Len() int { return s.clips.Len() + s.clips.Len()/digitsPerNone }

// Length returns the largest length of example i over all epochs.
func (s *digitsSet) Length(i int) int {
	n := s.clips.Len()
	if i < n {
		return stretchedLen(s.clips.Length(i), digitsMaxSpeed) + s.padding
	}
	longest := 0
	for k := range digitsPerNone {
		longest = max(longest, s.clips.Length((i-n)*digitsPerNone+k))
	}
	return longest
}

func (s *digitsSet) Example(dst *Example, i, epoch int) error {
	n := s.clips.Len()
	if i < 0 || i >= s.Len() {
		return outOfRange(i, s.Len())
	}
	g := &soundSampler{sampler: sampler{stream: random.New(s.seed, random.Noise, epoch, i)}, rate: s.rate}
	if i < n {
		err := s.clips.Example(dst, i, epoch)
		if g.below(digitsUnchanged) > 0 {
			g.digit(dst, s.padding)
		}
		return err
	}
	err := s.clips.Example(dst, (i-n)*digitsPerNone+epoch%digitsPerNone, epoch)
	dst.Label, dst.Path = digitsNoneClass, ""
	g.nonDigit(dst.X)
	g.bias(dst.X)
	return err
}

// soundSampler draws sounds at random.
type soundSampler struct {
	sampler
	rate   float64
	noises uint64 // noise signals drawn so far
}

// between returns a number from low to high.
func (d *soundSampler) between(low, high float64) float64 { return low + (high-low)*d.uniform() }

// amplitude returns the factor of a gain from low to high decibels.
func (d *soundSampler) amplitude(low, high float64) float64 {
	return math.Pow(10, d.between(low, high)/20)
}

// digit changes the speed and the gain of the clip in dst and embeds it in at most padding samples
// of background noise.
func (d *soundSampler) digit(dst *Example, padding int) {
	share := digitsMaxBefore / (digitsMaxBefore + digitsMaxAfter)
	before := d.below(1 + int(share*float64(padding)))
	after := d.below(1 + padding - int(share*float64(padding)))
	clip := stretch(dst.X, math.Pow(digitsMaxSpeed, d.between(-1, 1)))
	gain := d.amplitude(digitsGainLow, digitsGainHigh)
	level := gain * rms(clip) / d.amplitude(digitsNoiseLow, digitsNoiseHigh)
	dst.Len = before + len(clip) + after
	dst.X = resize(dst.X, dst.Len)
	d.noise(dst.X, level)
	for i, v := range clip {
		dst.X[before+i] += float32(gain * float64(v))
	}
	d.bias(dst.X)
}

// stretchedLen returns the length of n samples after stretch.
func stretchedLen(n int, factor float64) int { return max(1, int(float64(n)*factor)) }

// stretch returns x, slower by the factor, by Catmull–Rom cubic interpolation.
func stretch(x []float32, factor float64) []float32 {
	y := make([]float32, stretchedLen(len(x), factor))
	at := func(i int) float64 { return float64(x[min(max(i, 0), len(x)-1)]) }
	for i := range y {
		t := float64(i) / factor
		k := int(t)
		t -= float64(k)
		a, b, c, d := at(k-1), at(k), at(k+1), at(k+2)
		y[i] = float32(b + t/2*(c-a+t*(2*a-5*b+4*c-d+t*(3*(b-c)+d-a))))
	}
	return y
}

// nonDigit replaces the clip x by a sound of the same length that is not a digit.
func (d *soundSampler) nonDigit(x []float32) {
	level := d.amplitude(digitsLevelLow, digitsLevelHigh)
	switch d.below(6) {
	case 0: // near silence
		d.noise(x, level/100)
	case 1:
		d.noise(x, level)
	case 2: // the two halves of a digit exchanged
		half := len(x) / 2
		copy(x, append(slices.Clone(x[half:]), x[:half]...))
		d.mix(x, level)
	case 3: // the first quarter of a digit
		clear(x[len(x)/4:])
		d.mix(x, level)
	case 4:
		d.tones(x)
		d.mix(x, level)
	case 5:
		d.notes(x)
		d.mix(x, level)
	}
}

// mix scales x to a level and adds background noise.
func (d *soundSampler) mix(x []float32, level float64) {
	background := make([]float32, len(x))
	d.noise(background, level/d.amplitude(digitsNoiseLow, digitsNoiseHigh))
	gain := 0.0
	if r := rms(x); r > 0 {
		gain = level / r
	}
	for i := range x {
		x[i] = float32(gain*float64(x[i])) + background[i]
	}
}

// noise fills x with noise of a level. Its spectrum lies between white and brown.
func (d *soundSampler) noise(x []float32, level float64) {
	d.noises++
	from, pole := d.noises<<32, min(1.2*d.uniform(), 1)*0.97
	drive := level * math.Sqrt(1-pole*pole)
	y, _ := d.stream.NormalPair(from)
	y *= level
	for i := 0; i < len(x); i += 2 {
		a, b := d.stream.NormalPair(from + 2 + uint64(i))
		y = pole*y + drive*a
		x[i] = float32(y)
		if i+1 < len(x) {
			y = pole*y + drive*b
			x[i+1] = float32(y)
		}
	}
}

// bias adds a constant of random sign.
func (d *soundSampler) bias(x []float32) {
	b := float32(d.amplitude(digitsBiasLow, digitsBiasHigh))
	if d.below(2) == 0 {
		b = -b
	}
	for i := range x {
		x[i] += b
	}
}

// tones fills x with a few tones with vibrato.
func (d *soundSampler) tones(x []float32) {
	clear(x)
	for range 1 + d.below(4) {
		f, vibrato, depth := d.between(60, 3500), d.between(0.5, 8), d.between(0, 0.02)
		phase, amplitude := 2*math.Pi*d.uniform(), d.between(0.2, 1)
		for i := range x {
			t := float64(i) / d.rate
			phase += 2 * math.Pi * f / d.rate * (1 + depth*math.Sin(2*math.Pi*vibrato*t))
			x[i] += float32(amplitude * math.Sin(phase))
		}
	}
}

// notes fills x with decaying notes of a few partials, as of a plucked string.
func (d *soundSampler) notes(x []float32) {
	clear(x)
	for at := 0; at < len(x); at += int(d.between(0.08, 0.4) * d.rate) {
		for range 1 + d.below(3) {
			f, decay := 110*math.Pow(2, float64(d.below(37))/12), d.between(2, 15)
			for k := 1; k <= 6 && float64(k)*f < d.rate/2; k++ {
				amplitude := d.between(0.3, 1) / float64(k)
				for i := at; i < len(x); i++ {
					t := float64(i-at) / d.rate
					x[i] += float32(amplitude * math.Exp(-decay*t) * math.Sin(2*math.Pi*float64(k)*f*t))
				}
			}
		}
	}
}

// rms returns the root mean square of x.
func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(len(x), 1)))
}
