package recordings

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/filterbank"
)

// Range is the bounds of a number that is drawn at random, uniformly unless stated otherwise.
type Range struct {
	Low  float64 `toml:"low"`
	High float64 `toml:"high"`
}

// StreamOptions describes the streams that MixStreams makes. Except for Streams and ValStreams, 0
// means 0, not a default. Start from DefaultStreams.
//
// A stream is a sequence of items with gaps between them, in background sound. Most items are
// words. Others teach the network what not to detect: other speech, fragments of words, and sounds.
type StreamOptions struct {
	Seed       uint64            // of all draws
	Filterbank filterbank.Config // computes the examples from the audio
	Streams    int               // training streams per epoch; 0: one per three words
	ValStreams int               // validation streams; 0: one per three words
	Length     float64           // of a stream, in seconds

	// Gap is the time in seconds from the end of an item to the onset of the next. Short gaps are
	// more frequent: the excess over Low is proportional to the cube of a uniform number.
	Gap Range

	// The probability that an item is not a word. If Sounds.Other is empty, words take the place of
	// other speech, and fragments do in wordless streams.
	OtherShare    float64 // other speech: 0.3 s up to half a stream of Sounds.Other
	FragmentShare float64 // a part of a word, parts of two words joined, or the word reversed
	SoundShare    float64 // a piece of background, tones, notes or noise, as loud as a word
	EmbeddedShare float64 // a word in other speech, at most 0.03 s from it on both sides

	EmptyShare    float64 // share of streams with background only
	WordlessShare float64 // share of streams with other speech in place of words

	Speed    Range   // factor of tempo and pitch, drawn per item on a logarithmic scale
	Margin   Range   // seconds of the recording kept before and after a word, as far as there are
	Uncut    float64 // probability that a word is its whole recording, with all that is around it
	WordGain Range   // dB, drawn per item, on top of the level of its recording

	ReverbShare  float64 // share of streams in a room
	ReverbTime   Range   // seconds in which its sound decays by 60 dB
	ReverbDirect Range   // dB of the direct sound over the reverberation
	FilterShare  float64 // share of streams whose speech has a random band limit and spectral tilt

	NoiseFree     float64 // share of streams without background, except those with background only
	RecordedShare float64 // share of backgrounds that are recordings, if there are any
	MusicShare    float64 // share of backgrounds that are tones or notes; the rest is noise
	BabbleShare   float64 // share of backgrounds that are other speech, if there is any
	SNR           Range   // dB of the speech, while there is any, over the background
	Level         Range   // dB of the speech, while there is any, relative to full scale
	Offset        Range   // dB of a constant, of random sign, relative to full scale

	// BandMask is the largest number of neighbouring bands that a mask replaces by their means, in
	// training streams. Each has two masks (Park et al. 2019, SpecAugment, arXiv 1904.08779).
	BandMask int

	// Whole is for sounds that last, such as rain, instead of words. A clip is all between the
	// first and the last sound of its recording, or a part of that of a quarter to half a stream.
	// There are no fragments.
	Whole bool

	// Labels. A frame has the label of a word if it is complete between LabelFrom of the word, but
	// at most LabelLatest seconds after its onset, and LabelHold seconds after its end. Frames
	// within Unscored seconds of either bound, and those of embedded words, have label −1 and are
	// not scored.
	LabelFrom   float64 // fraction of the word
	LabelLatest float64 // seconds
	LabelHold   float64 // seconds
	Unscored    float64 // seconds
}

// DefaultStreams returns the options for words in everyday sound, for audio of a sampling rate in
// Hz.
func DefaultStreams(sampleRate float64) StreamOptions {
	return StreamOptions{
		Filterbank: filterbank.Default(sampleRate), Length: 4,
		Gap:        Range{0.05, 1.5},
		OtherShare: 0.25, FragmentShare: 0.06, SoundShare: 0.05, EmbeddedShare: 0.03,
		EmptyShare: 0.05, WordlessShare: 0.15,
		Speed: Range{0.85, 1.15}, Margin: Range{0.05, 0.2}, Uncut: 0.3, WordGain: Range{-6, 6},
		ReverbShare: 0.3, ReverbTime: Range{0.1, 0.7}, ReverbDirect: Range{0, 20}, FilterShare: 0.3,
		NoiseFree: 0.1, RecordedShare: 0.7, MusicShare: 0.06, BabbleShare: 0.06,
		SNR: Range{-5, 25}, Level: Range{-45, -5}, Offset: Range{-90, -38}, BandMask: 6,
		LabelFrom: 0.8, LabelLatest: 1, LabelHold: 0.2, Unscored: 0.05,
	}
}

// samples returns the length of a stream in samples: whole frames.
func (o *StreamOptions) samples() int {
	n := int(math.Round(o.Length * o.Filterbank.SampleRate))
	return n - n%o.Filterbank.Hop
}

// Bounds of the options.
const (
	maxStreamSeconds = 600
	maxStreams       = 1 << 24
	maxSNR           = 200 // dB
)

// Validate returns an error for the first field that configurations set and that is invalid. It
// names the field in words: "length in seconds" for Length.
func (o StreamOptions) Validate() error {
	if err := o.Filterbank.Validate(); err != nil {
		return fmt.Errorf("stream options: %w", err)
	}
	switch {
	case o.Streams < 0 || o.Streams > maxStreams:
		return fmt.Errorf("stream options: streams %d, expected 0 … %d", o.Streams, maxStreams)
	case !(o.Length >= 0.1 && o.Length <= maxStreamSeconds):
		return fmt.Errorf("stream options: length in seconds %v, expected 0.1 … %v", o.Length, maxStreamSeconds)
	case !(o.SNR.Low >= -maxSNR && o.SNR.Low <= o.SNR.High && o.SNR.High <= maxSNR):
		return fmt.Errorf("stream options: SNR %v … %v, expected the lower bound first, in %d … %d", o.SNR.Low, o.SNR.High, -maxSNR, maxSNR)
	}
	return nil
}
