package dataset

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The Free Spoken Digit Dataset made fit for real streams: the clips of loadFSDD, each heard anew in every epoch, now and then as
// recorded, else faster or slower, somewhere in background noise, at another gain, around a constant that is not 0; and examples of class "none", which are no digits.
// Validation and test clips are as recorded.
const (
	digitsNone   = 10   // the class
	digitsClean  = 3    // one clip in so many is heard as recorded
	digitsSpeed  = 1.1  // the fastest; the slowest is its inverse
	digitsBefore = 0.12 // seconds of background before a clip, at most
	digitsAfter  = 0.2  // and after it
	digitsOthers = 5    // an example of class none for so many clips
	digitsLoud   = 16   // the standard deviation of the network's input: the first GELU must bend for quiet sound too
)

// Ranges of the augmentation, in decibels.
const (
	digitsGainLow, digitsGainHigh   = -15, 6   // of the clip
	digitsNoiseLow, digitsNoiseHigh = 12, 50   // of the clip over the background
	digitsLevelLow, digitsLevelHigh = -60, -8  // of an example of none, root mean square, over full scale
	digitsBiasLow, digitsBiasHigh   = -80, -38 // of a constant that is added, as of cheap converters, over full scale
)

// loadDigits loads the task digits.
func loadDigits(opt Options) (*Dataset, error) {
	d, err := loadFSDD(opt)
	if err != nil {
		return nil, err
	}
	d.Task, d.Labels = "digits", append(d.Labels, "none")
	d.Outputs = len(d.Labels)
	if clips, ok := d.Train.(*clipSet); ok {
		room := int((digitsBefore + digitsAfter) * d.SampleRate)
		d.Train = &digitsSet{clips: clips, room: room, rate: d.SampleRate, seed: opt.Seed}
		for i := range d.Train.Len() {
			d.MaxLen = max(d.MaxLen, d.Train.(Sized).Length(i))
		}
	}
	for i := range d.Std {
		d.Std[i] /= digitsLoud
	}
	return d, nil
}

// digitsSet is the training set: every clip, and then the examples of class none. Each of those stands for digitsOthers clips,
// of which one an epoch lends its length, and perhaps its voice.
type digitsSet struct {
	clips *clipSet
	room  int // samples that background may take
	rate  float64
	seed  uint64
}

func (s *digitsSet) Len() int { return s.clips.Len() + s.clips.Len()/digitsOthers }

// Length returns the most samples that example i has in any epoch.
func (s *digitsSet) Length(i int) int {
	n := s.clips.Len()
	if i < n {
		return stretched(s.clips.Length(i), digitsSpeed) + s.room
	}
	longest := 0
	for k := range digitsOthers {
		longest = max(longest, s.clips.Length((i-n)*digitsOthers+k))
	}
	return longest
}

func (s *digitsSet) Example(dst *Example, i, epoch int) error {
	n := s.clips.Len()
	if i < 0 || i >= s.Len() {
		return outOfRange(i, s.Len())
	}
	d := &soundDraw{draws: draws{stream: random.New(s.seed, random.Noise, epoch, i)}, rate: s.rate}
	if i < n {
		err := s.clips.Example(dst, i, epoch)
		if d.below(digitsClean) > 0 {
			d.digit(dst, s.room)
		}
		return err
	}
	err := s.clips.Example(dst, (i-n)*digitsOthers+epoch%digitsOthers, epoch)
	dst.Label, dst.Path = digitsNone, ""
	d.other(dst.X)
	d.bias(dst.X)
	return err
}

// soundDraw draws sounds.
type soundDraw struct {
	draws
	rate   float64
	noises uint64 // streams of noise so far
}

// between returns a number of a range.
func (d *soundDraw) between(low, high float64) float64 { return low + (high-low)*d.uniform() }

// amplitude returns a factor drawn in decibels.
func (d *soundDraw) amplitude(low, high float64) float64 {
	return math.Pow(10, d.between(low, high)/20)
}

// digit puts the clip in dst somewhere into background noise.
func (d *soundDraw) digit(dst *Example, room int) {
	share := digitsBefore / (digitsBefore + digitsAfter)
	before := d.below(1 + int(share*float64(room)))
	after := d.below(1 + room - int(share*float64(room)))
	clip := stretch(dst.X, math.Pow(digitsSpeed, d.between(-1, 1)))
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

// stretched returns how many samples n become.
func stretched(n int, factor float64) int { return max(1, int(float64(n)*factor)) }

// stretch returns x as it sounds when played more slowly by the factor, by cubic interpolation (Catmull and Rom's).
func stretch(x []float32, factor float64) []float32 {
	y := make([]float32, stretched(len(x), factor))
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

// other makes x, a clip, something that is no digit, as long as it is.
func (d *soundDraw) other(x []float32) {
	level := d.amplitude(digitsLevelLow, digitsLevelHigh)
	switch d.below(6) {
	case 0: // nothing, or next to it
		d.noise(x, level/100)
	case 1:
		d.noise(x, level)
	case 2: // a digit's end before its beginning
		half := len(x) / 2
		copy(x, append(slices.Clone(x[half:]), x[:half]...))
		d.mix(x, level)
	case 3: // how a digit begins
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

// mix brings x to a level and adds noise below it.
func (d *soundDraw) mix(x []float32, level float64) {
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

// noise fills x with noise of a level, between white and brown.
func (d *soundDraw) noise(x []float32, level float64) {
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

// bias adds a constant.
func (d *soundDraw) bias(x []float32) {
	b := float32(d.amplitude(digitsBiasLow, digitsBiasHigh))
	if d.below(2) == 0 {
		b = -b
	}
	for i := range x {
		x[i] += b
	}
}

// tones fills x with a few steady tones that sway.
func (d *soundDraw) tones(x []float32) {
	clear(x)
	for range 1 + d.below(4) {
		f, sway, depth := d.between(60, 3500), d.between(0.5, 8), d.between(0, 0.02)
		phase, amplitude := 2*math.Pi*d.uniform(), d.between(0.2, 1)
		for i := range x {
			t := float64(i) / d.rate
			phase += 2 * math.Pi * f / d.rate * (1 + depth*math.Sin(2*math.Pi*sway*t))
			x[i] += float32(amplitude * math.Sin(phase))
		}
	}
}

// notes fills x with notes of a few partials that ring off, as of a plucked string.
func (d *soundDraw) notes(x []float32) {
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

// rms is the root mean square.
func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(len(x), 1)))
}
