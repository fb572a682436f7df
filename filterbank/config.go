// Package filterbank turns audio into the band energies that a network of fifty outputs per second
// reads: a Hann window, the power spectrum, triangular filters on the mel scale, and a compression
// (docs/maths.md §11).
//
// Frame k is complete at sample (k+1)·Hop and covers the last Window samples, with zeros before the
// start. A Bank holds the tables of a Config; any number of Streams share it. A Stream holds the
// state of one signal and belongs to one goroutine at a time. The frames are bit-identical for any
// sizes of the blocks that are passed to Process, and those of Bank.Frames are the same.
package filterbank

import (
	"fmt"
	"math"
)

// The compressions of band energies.
const (
	Log = "log" // natural logarithm of the energy plus Floor

	// PCEN is the per-channel energy normalisation of Wang et al. (2017, arXiv 1607.05666) with a
	// logarithm in place of the root: log(1 + E/(0.1·(Floor + M))), where M is the smoothed energy.
	PCEN = "pcen"
)

// Floor is added to energies before the logarithm, and to smoothed energies by PCEN. In units of a
// mean square at full scale ±1, it is about the noise of a quiet room in a band, so that digital
// silence looks like such a room.
const Floor = 1e-8

// Config describes a filter bank. A network requires the one that it was trained with.
type Config struct {
	SampleRate  float64 `json:"sample_rate"` // of the audio, in Hz
	Window      int     `json:"window"`      // samples that a frame covers
	Hop         int     `json:"hop"`         // samples between frames
	Bands       int     `json:"bands"`
	Low         float64 `json:"low"`  // lower edge of the lowest band, in Hz
	High        float64 `json:"high"` // upper edge of the highest band, in Hz
	Compression string  `json:"compression"`
}

// Default returns the filter bank for speech: 40 bands from 60 Hz to 0.95 of the Nyquist frequency,
// at most 7600 Hz, in windows of 32 ms every 20 ms, with compression PCEN.
func Default(sampleRate float64) Config {
	return Config{
		SampleRate: sampleRate, Window: int(math.Round(0.032 * sampleRate)), Hop: int(math.Round(0.02 * sampleRate)),
		Bands: 40, Low: 60, High: min(0.95*sampleRate/2, 7600), Compression: PCEN,
	}
}

// Bounds of a Config.
const (
	minRate, maxRate = 100, 1e6 // Hz
	minWindow        = 4
	maxWindow        = 1 << 16
	maxBands         = 1 << 10
)

// Validate returns an error for the first invalid value, with its key in model files.
func (c Config) Validate() error {
	if err := c.validate(); err != nil {
		return fmt.Errorf("filterbank: %w", err)
	}
	return nil
}

func (c Config) validate() error {
	switch {
	case !(c.SampleRate >= minRate && c.SampleRate <= maxRate):
		return fmt.Errorf("sample_rate %v: expected %d … %v Hz", c.SampleRate, minRate, maxRate)
	case c.Window < minWindow || c.Window > maxWindow:
		return fmt.Errorf("window %d: expected %d … %d samples", c.Window, minWindow, maxWindow)
	case c.Hop < 1 || c.Hop > c.Window:
		return fmt.Errorf("hop %d: expected 1 … %d samples, the window", c.Hop, c.Window)
	case c.Bands < 1 || c.Bands > maxBands:
		return fmt.Errorf("bands %d: expected 1 … %d", c.Bands, maxBands)
	case !(c.Low >= 0 && c.Low < c.High):
		return fmt.Errorf("low %v: expected at least 0 and less than high, %v Hz", c.Low, c.High)
	case !(c.High <= c.SampleRate/2):
		return fmt.Errorf("high %v: expected at most %v Hz, half of sample_rate", c.High, c.SampleRate/2)
	case c.Compression != Log && c.Compression != PCEN:
		return fmt.Errorf("compression %q: expected %q or %q", c.Compression, Log, PCEN)
	}
	for b := range c.Bands {
		lo, hi := c.edges(b)
		if first, end := c.bins(b); first == end {
			return fmt.Errorf("bands %d: band %d, %.1f … %.1f Hz, contains no multiple of %.1f Hz; expected fewer bands or a longer window",
				c.Bands, b, lo, hi, c.binWidth())
		}
	}
	return nil
}

// FrameRate returns the number of frames per second.
func (c Config) FrameRate() float64 { return c.SampleRate / float64(c.Hop) }

// Frames returns the number of complete frames in n samples.
func (c Config) Frames(n int) int { return n / c.Hop }

// transformLen returns the length of the Fourier transform: the smallest power of two that is at
// least the window.
func (c Config) transformLen() int {
	n := minWindow
	for n < c.Window {
		n *= 2
	}
	return n
}

// binWidth returns the distance in Hz of the transform's frequencies.
func (c Config) binWidth() float64 { return c.SampleRate / float64(c.transformLen()) }

// mel is the mel scale of HTK.
func mel(hz float64) float64 { return 2595 * math.Log10(1+hz/700) }

func melToHz(mel float64) float64 { return 700 * (math.Pow(10, mel/2595) - 1) }

// spacing returns the distance of two neighbouring bands in mel, and half the width of each.
func (c Config) spacing() float64 { return (mel(c.High) - mel(c.Low)) / float64(c.Bands+1) }

// edges returns the lower and the upper edge of a band in Hz.
func (c Config) edges(band int) (lo, hi float64) {
	at := mel(c.Low) + float64(band)*c.spacing()
	return melToHz(at), melToHz(at + 2*c.spacing())
}

// weight returns the weight of a bin of the transform in a band.
func (c Config) weight(band, bin int) float64 {
	centre := mel(c.Low) + float64(band+1)*c.spacing()
	return max(0, 1-math.Abs(mel(float64(bin)*c.binWidth())-centre)/c.spacing())
}

// bins returns the first bin with a weight in a band, and the exclusive end. Bin 0 and the Nyquist
// frequency are in no band.
func (c Config) bins(band int) (first, end int) {
	lo, hi := c.edges(band)
	last := min(c.transformLen()/2-1, int(hi/c.binWidth()))
	first = max(1, int(lo/c.binWidth()))
	for first <= last && c.weight(band, first) == 0 {
		first++
	}
	for end = first; end <= last && c.weight(band, end) > 0; end++ {
	}
	return first, end
}
