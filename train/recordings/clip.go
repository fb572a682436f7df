package recordings

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/model"
)

// MaxSoundBytes is the default limit on the memory of recordings, enough for 18 hours of 16-bit
// samples at 16 kHz.
const MaxSoundBytes = 2 << 30

// Clip is a mono recording in memory.
type Clip struct {
	Path  string  // file; "" if it has none
	Label int     // index into Sounds.Labels; ignored in Other and Background
	Int16 []int16 // samples·2¹⁵

	// Source numbers the folder that an Other or Background clip comes from. Each source is heard
	// however many recordings the others have: see sources.
	Source int
}

// NewClip returns a clip with the samples x, of full scale ±1, rounded to 16-bit integers and
// limited to full scale.
func NewClip(path string, label int, x []float32) Clip {
	return Clip{Path: path, Label: label, Int16: appendInt16(make([]int16, 0, len(x)), x)}
}

// appendInt16 appends x·2¹⁵, rounded and limited to 16 bits.
func appendInt16(dst []int16, x []float32) []int16 {
	for _, v := range x {
		dst = append(dst, int16(max(math.MinInt16, min(math.MaxInt16, math.RoundToEven(float64(v)*(1<<15))))))
	}
	return dst
}

// Len returns the number of samples.
func (c *Clip) Len() int { return len(c.Int16) }

// Samples returns the samples of the whole clip. It reuses the memory of dst, which may be nil.
func (c *Clip) Samples(dst []float32) []float32 { return c.append(dst[:0], 0, c.Len()) }

// append appends the samples [from, to) to dst.
func (c *Clip) append(dst []float32, from, to int) []float32 {
	dst = slices.Grow(dst, to-from)
	for _, v := range c.Int16[from:to] {
		dst = append(dst, float32(v)/(1<<15))
	}
	return dst
}

// Sounds are the recordings of one split (training, validation or test) of the data for a word
// detector. All have the same sampling rate.
type Sounds struct {
	SampleRate float64  // Hz
	Labels     []string // the words to detect, without "none"
	Words      []Clip   // each with one word, possibly with silence or noise around it
	Other      []Clip   // words and sentences without any of the words to detect
	Background []Clip   // sounds without speech, of any length
}

// fingerprints returns those of all recordings.
func (s *Sounds) fingerprints() model.Fingerprints {
	var sums []uint64
	var x []float32
	for _, c := range slices.Concat(s.Words, s.Other, s.Background) {
		print := audio.NewFingerprint()
		x = c.Samples(x)
		print.Add(x)
		sums = append(sums, print.Sum())
	}
	return model.Fingerprints(nil).With(sums...)
}
