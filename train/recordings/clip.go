package recordings

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// MaxSoundBytes is the default limit on the memory of recordings, enough for 18 hours of 16-bit
// samples at 16 kHz.
const MaxSoundBytes = 2 << 30

// Clip is a mono recording in memory.
type Clip struct {
	Path  string    // file; "" if it has none
	Label int       // index into Sounds.Labels; ignored in Other and Background
	Int16 []int16   // samples·2¹⁵, if all samples are 16-bit integers
	Float []float32 // otherwise the samples, full scale ±1
}

// NewClip returns a clip with a copy of the samples x, as 16-bit integers if that is exact.
func NewClip(path string, label int, x []float32) Clip {
	exact := func(v float32) bool {
		v *= 1 << 15
		return v >= math.MinInt16 && v <= math.MaxInt16 && v == float32(int16(v))
	}
	for _, v := range x {
		if !exact(v) {
			return Clip{Path: path, Label: label, Float: slices.Clone(x)}
		}
	}
	return RoundedClip(path, label, x)
}

// RoundedClip returns a clip with the samples x rounded to 16-bit integers and limited to full
// scale. For samples that NewClip would keep as floats, such as those of a resampled recording, it
// takes half the memory.
func RoundedClip(path string, label int, x []float32) Clip {
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
func (c *Clip) Len() int { return max(len(c.Int16), len(c.Float)) }

// Samples returns the samples of the whole clip. It reuses the memory of dst, which may be nil.
func (c *Clip) Samples(dst []float32) []float32 { return c.between(dst, 0, c.Len()) }

// between writes the samples [from, to) to dst.
func (c *Clip) between(dst []float32, from, to int) []float32 {
	dst = dataset.Resize(dst, to-from)
	if c.Float != nil {
		copy(dst, c.Float[from:to])
		return dst
	}
	for i, v := range c.Int16[from:to] {
		dst[i] = float32(v) / (1 << 15)
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

// Bytes returns the memory that all samples take.
func (s *Sounds) Bytes() int64 {
	n := int64(0)
	for _, clips := range [][]Clip{s.Words, s.Other, s.Background} {
		for i := range clips {
			n += 2*int64(len(clips[i].Int16)) + 4*int64(len(clips[i].Float))
		}
	}
	return n
}

// validate checks the recordings of a split.
func (s *Sounds) validate(split string, rate float64, limit int64) error {
	if s.SampleRate != rate {
		return fmt.Errorf("%s sounds: SampleRate %v Hz, expected the filterbank's %v Hz", split, s.SampleRate, rate)
	}
	if n := s.Bytes(); n > limit {
		return fmt.Errorf("%s sounds: %d MiB of samples, expected at most %d MiB; use less background or a lower sampling rate", split, n>>20, limit>>20)
	}
	for _, part := range []struct {
		name  string
		clips []Clip
	}{{"Words", s.Words}, {"Other", s.Other}, {"Background", s.Background}} {
		for i := range part.clips {
			c := &part.clips[i]
			if err := c.validate(); err != nil {
				return fmt.Errorf("%s sounds: %s[%d] (%s): %w", split, part.name, i, c.Path, err)
			}
			if part.name == "Words" && (c.Label < 0 || c.Label >= len(s.Labels)) {
				return fmt.Errorf("%s sounds: Words[%d] (%s): Label %d, expected 0 … %d", split, i, c.Path, c.Label, len(s.Labels)-1)
			}
		}
	}
	return nil
}

func (c *Clip) validate() error {
	if c.Int16 != nil && c.Float != nil {
		return fmt.Errorf("both Int16 and Float are set, expected one of them")
	}
	if c.Len() == 0 {
		return fmt.Errorf("there are no samples")
	}
	for i, v := range c.Float {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("sample %d is %v, expected a finite number", i, v)
		}
	}
	return nil
}
