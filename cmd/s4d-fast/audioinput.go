package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
)

// audioInput is the audio that a stream reads.
type audioInput struct {
	name      string // for messages
	format    string // in the words of --format, or ffmpeg; never auto
	source    audio.Source
	inputRate float64 // Hz
	rate      float64 // Hz, of source; another than inputRate for resampled frames
	close     func() error

	read int64 // samples of the input, of which some may wait for source

	// Of the blocks that the pump has taken:
	position int64 // samples of source, dropped ones included
	arrived  int64 // read at the end of the last one
}

// inputSample returns the sample of the input that corresponds to sample n of source. The last
// sample of resampled audio may be after the end of the input.
func (a *audioInput) inputSample(n int64) int64 {
	if a.inputRate == a.rate {
		return n
	}
	return min(int64(math.Round(float64(n)*a.inputRate/a.rate)), a.arrived)
}

func (a *audioInput) samples() int64 { return a.inputSample(a.position) }

// errorAt adds the input's name and position to an error.
func (a *audioInput) errorAt(err error) error {
	return fmt.Errorf("%s: after sample %d: %w", a.name, a.samples(), err)
}

// checked counts the samples of an input, and returns an error at the first one that is not valid
// audio.
type checked struct {
	audio.Source
	read *int64
}

func (c checked) Read(dst []float32) (int, error) {
	n, err := c.Source.Read(dst)
	if good, bad := events.Check(dst[:n]); bad != nil {
		n, err = good, bad
	}
	*c.read += int64(n)
	return n, err
}

// rawFormats are the formats without a header.
var rawFormats = []string{string(audio.S16LE), string(audio.S16BE), string(audio.F32LE), string(audio.U8)}

// maxSampleRate is that of package audio, in Hz.
const maxSampleRate = 1_000_000

// open returns the samples for a model at a rate in Hz; 0: it states none.
func (c *streamCmd) open(in io.Reader, name string, modelRate float64, notes *audioNotes) (*audioInput, error) {
	a := &audioInput{name: name, format: c.Format, close: func() error { return nil }}
	open := c.openFile
	if slices.Contains(rawFormats, c.Format) {
		a.inputRate = modelRate
		open = c.openRaw
	}
	if err := open(a, in, notes); err != nil {
		return nil, err
	}
	a.source, a.rate = checked{a.source, &a.read}, a.inputRate
	switch {
	case a.inputRate > maxSampleRate:
		return nil, fmt.Errorf("%s: rate %g Hz, expected at most %d Hz", name, a.inputRate, maxSampleRate)
	case modelRate == 0 || modelRate == a.inputRate:
		return a, nil
	case !c.Resample:
		return nil, fmt.Errorf("%s: rate %g Hz, the model expects %g Hz; --resample converts the audio", name, a.inputRate, modelRate)
	case modelRate != math.Trunc(modelRate):
		return nil, fmt.Errorf("--resample: the model's rate is %g Hz, expected a whole number", modelRate)
	case c.Emit == "events":
		return a, nil // events.Stream resamples
	}
	resampled, err := audio.NewResampleReader(a.source, int(a.inputRate), int(modelRate))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.source, a.rate = resampled, modelRate
	return a, nil
}

// openFile reads the header of a file.
func (c *streamCmd) openFile(a *audioInput, in io.Reader, notes *audioNotes) error {
	r, err := c.audio(notes, a.name).Open(in)
	switch {
	case errors.As(err, new(*audio.UnsupportedError)):
		return fmt.Errorf("%s: %w | s4d-fast stream", a.name, err)
	case errors.Is(err, audio.ErrTruncated), errors.Is(err, audio.ErrChannel):
		return fmt.Errorf("%s: %w", a.name, err)
	case err != nil:
		return fmt.Errorf("%s: %w; raw samples need --format and --rate; sox or ffmpeg convert other formats (docs/stream.md)", a.name, err)
	}
	a.inputRate, a.format, a.source, a.close = float64(r.Format.SampleRate), string(r.Container), audio.Mono(r), r.Close
	switch {
	case c.Format != "auto" && c.Format != a.format:
		return fmt.Errorf("%s: the format is %s, expected %s (--format)", a.name, a.format, c.Format)
	case r.Format.Channels != 1 && !c.Resample && c.Channel == nil:
		return fmt.Errorf("%s: %d channels, expected 1; --channel N reads one, --resample mixes them down", a.name, r.Format.Channels)
	case c.Rate != nil && float64(*c.Rate) != a.inputRate:
		return fmt.Errorf("%s: rate %g Hz in the header, expected %d Hz (--rate)", a.name, a.inputRate, *c.Rate)
	}
	return nil
}

// openRaw reads samples without a header, at the rate of the model unless --rate is given.
func (c *streamCmd) openRaw(a *audioInput, in io.Reader, notes *audioNotes) (err error) {
	a.source, err = audio.NewRawReader(audio.Sniff(in, func(format string) error {
		notes.add(fmt.Sprintf("%s: it begins as %s does, but --format %s reads all of it as samples", a.name, format, c.Format))
		return nil
	}), audio.Encoding(c.Format))
	if c.Rate != nil {
		a.inputRate = float64(*c.Rate)
	}
	if err == nil && a.inputRate <= 0 {
		err = errors.New("the model states no sampling rate; set --rate")
	}
	return err
}
