package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
)

type audioInput struct {
	name   string             // for messages
	input  *audio.InputReader // of which some samples may wait for source
	source audio.Source       // input or, for frames, input at the rate of the model
	rate   float64            // Hz, of source

	// Of the blocks that the pump has taken:
	position int64 // samples of source, dropped ones included
	arrived  int64 // samples of input at the end of the last one
}

// inputSample returns the sample of the input that corresponds to sample n of source. The last
// sample of resampled audio may be after the end of the input.
func (a *audioInput) inputSample(n int64) int64 {
	if a.input.Rate == a.rate {
		return n
	}
	return min(int64(math.Round(float64(n)*a.input.Rate/a.rate)), a.arrived)
}

func (a *audioInput) samples() int64 { return a.inputSample(a.position) }

// errorAt adds the input's name and position to an error.
func (a *audioInput) errorAt(err error) error {
	return fmt.Errorf("%s: after sample %d: %w", a.name, a.samples(), err)
}

// maxSampleRate is that of package audio, in Hz.
const maxSampleRate = 1_000_000

// open reads the header of the audio for a model at a rate in Hz; 0: it states none. The caller
// closes the input.
func (c *streamCmd) open(in io.Reader, name string, modelRate float64, notes *audioNotes) (*audioInput, error) {
	from := audio.Input{
		Options: c.audio(notes, name), Format: c.Format, Rate: float64(or(c.Rate, 0)), Fallback: modelRate, Mix: c.Resample, Check: events.Check,
		Choose: "--channel N reads one, --resample mixes them down", Flag: "--",
		Sniffed: func(format string) error {
			notes.add(fmt.Sprintf("%s: it begins as %s does, but --format %s reads all of it as samples", name, format, c.Format))
			return nil
		},
	}
	input, err := from.Open(in)
	a := &audioInput{name: name, input: input, source: input, rate: input.Rate}
	switch {
	case errors.As(err, new(*audio.UnsupportedError)):
		err = fmt.Errorf("%w | s4d-fast stream", err)
	case err != nil:
	case a.rate > maxSampleRate:
		err = fmt.Errorf("rate %g Hz, expected at most %d Hz", a.rate, maxSampleRate)
	case modelRate == 0 || modelRate == a.rate:
	case !c.Resample:
		err = fmt.Errorf("rate %g Hz, the model expects %g Hz; --resample converts the audio", a.rate, modelRate)
	case modelRate != math.Trunc(modelRate):
		err = fmt.Errorf("--resample: the model's rate is %g Hz, expected a whole number", modelRate)
	case c.Emit == "frames": // in the place of events.Stream
		a.source, err = audio.NewResampleReader(input, int(a.rate), int(modelRate))
		a.rate = modelRate
	}
	if err != nil {
		input.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}
