package task

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Models of earlier versions were trained on single clips. In every epoch a clip is changed at
// random: its speed, its gain, background noise around it, and a constant offset. One clip in
// digitsUnchanged stays as recorded. Further examples have the class "none" and contain no digit.
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

// digitsSet is the training set: every clip, then the examples of class "none". Each example of
// "none" belongs to digitsPerNone clips. In each epoch, one of these clips determines its length
// and may be rearranged so that it is no longer a digit.
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

func (s *digitsSet) Identity(i int) dataset.Identity {
	if n := s.clips.Len(); i >= n {
		return dataset.Identity{Label: digitsNoneClass}
	}
	return s.clips.Identity(i)
}

func (s *digitsSet) Example(dst *dataset.Example, i, epoch int) error {
	n := s.clips.Len()
	g := &soundSampler{synth.Synth{Sampler: random.Sampler{Stream: random.New(s.seed, random.Noise, epoch, i)}, Rate: s.rate}}
	if i < n {
		err := s.clips.Example(dst, i, epoch)
		if g.Below(digitsUnchanged) > 0 {
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
type soundSampler struct{ synth.Synth }

// digit changes the speed and the gain of the clip in dst and embeds it in at most padding samples
// of background noise.
func (d *soundSampler) digit(dst *dataset.Example, padding int) {
	share := digitsMaxBefore / (digitsMaxBefore + digitsMaxAfter)
	before := d.Below(1 + int(share*float64(padding)))
	after := d.Below(1 + padding - int(share*float64(padding)))
	clip := stretch(dst.X, math.Pow(digitsMaxSpeed, d.Between(-1, 1)))
	gain := d.Amplitude(digitsGainLow, digitsGainHigh)
	level := gain * math.Sqrt(synth.MeanSquare(clip)) / d.Amplitude(digitsNoiseLow, digitsNoiseHigh)
	dst.Len = before + len(clip) + after
	dst.X = dataset.Resize(dst.X, dst.Len)
	d.noise(dst.X, level)
	for i, v := range clip {
		dst.X[before+i] += float32(gain * float64(v))
	}
	d.bias(dst.X)
}

// stretchedLen returns the length of n samples after stretch.
func stretchedLen(n int, factor float64) int { return max(1, int(float64(n)*factor)) }

// stretch returns x slowed down by the factor.
func stretch(x []float32, factor float64) []float32 {
	y := make([]float32, stretchedLen(len(x), factor))
	synth.Stretch(y, 0, x, 1/factor, 1)
	return y
}

// nonDigit replaces the clip x by a sound of the same length that is not a digit.
func (d *soundSampler) nonDigit(x []float32) {
	level := d.Amplitude(digitsLevelLow, digitsLevelHigh)
	switch d.Below(6) {
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
		d.Tones(x)
		d.mix(x, level)
	case 5:
		d.Notes(x)
		d.mix(x, level)
	}
}

// mix scales x to a level and adds background noise.
func (d *soundSampler) mix(x []float32, level float64) {
	background := make([]float32, len(x))
	d.noise(background, level/d.Amplitude(digitsNoiseLow, digitsNoiseHigh))
	synth.ScaleTo(x, level)
	for i, v := range background {
		x[i] += v
	}
}

// noise fills x with noise of a level.
func (d *soundSampler) noise(x []float32, level float64) {
	d.Noise(x)
	synth.ScaleTo(x, level)
}

// bias adds a constant of random sign.
func (d *soundSampler) bias(x []float32) {
	b := float32(d.Amplitude(digitsBiasLow, digitsBiasHigh))
	if d.Below(2) == 0 {
		b = -b
	}
	for i := range x {
		x[i] += b
	}
}
