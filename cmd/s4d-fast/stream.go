package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/report"
)

// rawFormats are the formats without a header.
var rawFormats = []string{string(audio.S16LE), string(audio.S16BE), string(audio.F32LE), string(audio.U8)}

const (
	maxHop        = 1 << 24   // samples
	maxSampleRate = 1_000_000 // Hz, as in package audio
)

type streamCmd struct {
	Model  modelFile `arg:"" optional:"" help:"Model file (.safetensors) or built-in model (${models}); default: digits."`
	File   string    `arg:"" optional:"" help:"Audio file, or - for standard input (the default)."`
	Format string    `help:"Format of the input. auto: recognised by the first bytes; wav, flac, mp3, ogg: only this format; s16le, s16be, f32le, u8: raw samples." enum:"auto,wav,flac,mp3,ogg,s16le,s16be,f32le,u8" default:"auto" placeholder:"FORMAT"`
	Rate   *int      `help:"Sampling rate of raw audio in Hz (default: the model's). Other audio formats state their own." placeholder:"HZ"`
	audioFlags
	Resample bool     `help:"Resample the audio to the model's rate (band-limited), and mix several channels down to one."`
	Live     bool     `help:"Never block the source: drop audio if more than one second is waiting."`
	Emit     string   `help:"Lines to print: events or frames." enum:"events,frames" default:"events" placeholder:"LINES"`
	Hop      *int     `help:"Samples between frames (default: 0.1 s of audio); with --resample, samples at the model's rate." placeholder:"N"`
	Window   *float64 `help:"Seconds over which the output is averaged (default: ${window}, or as calibrated; with --emit frames and no filter bank 0, all audio so far). Higher: more precision, less recall of short words." placeholder:"S"`

	Threshold  *float64 `help:"Minimum probability of an event (default: ${threshold}, or as calibrated). It ends when its probability falls below half of this. Higher: more precision, less recall." placeholder:"P" group:"Events"`
	Confirm    *int     `help:"Number of consecutive frames that must agree (default: ${confirm}, or as calibrated). Higher: more precision, less recall of short words." placeholder:"N" group:"Events"`
	Refractory *float64 `help:"Seconds after the beginning of an event in which no other event begins (default: ${refractory}, or as calibrated). Higher: more precision, less recall of words in quick succession." placeholder:"S" group:"Events"`
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines (see docs/stream.md): a "start" line, one "event" line at the end of each recognised event, and an "end" line.
"onset" and "end" are sample indices. With --emit frames, prints a "frame" line every --hop samples and after the last
sample; its "posterior" covers the last --window seconds.

A single argument that is neither a .safetensors file nor a built-in model is the audio file.

Examples:
  arecord -q -t raw -f S16_LE -r 8000 -c 1 | s4d-fast stream --format s16le --live
  s4d-fast stream clip.wav
  s4d-fast stream --resample recording-44100.mp3 --threshold 0.9
  s4d-fast stream runs/fsdd/best.safetensors clip.wav --emit frames`
}

func (c *streamCmd) Run(std *streams, ctx *ctxBox) error {
	c.arguments()
	if err := c.validate(); err != nil {
		return usageError(err)
	}
	in, name, err := openInput(ctx, std, c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if d := m.Meta.Series; d != nil {
		return badInput(fmt.Errorf("%s: the network reads rows with the columns %s, not audio; use s4d-fast rows", c.Model, suggest.List(d.Columns)))
	}
	if m.Meta.Filterbank == nil && (m.Config.Encoder != model.EncoderLinear || m.Config.DInput != 1) {
		return badInput(fmt.Errorf("%s: the network reads %s input with d_input %d; audio has 1 channel", c.Model, m.Config.Encoder, m.Config.DInput))
	}
	opt, err := c.options(m)
	if err != nil {
		return usageError(err)
	}
	bytes := untilStopped(ctx, in)
	defer bytes.Close()
	var notes audioNotes
	a, err := c.decode(bytes, name, &m.Meta, &notes)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return badInput(err)
	}
	defer a.close()
	out := json.NewEncoder(std.out)
	s, block, err := c.sink(m, opt, a, out)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	start := report.Start{
		Type: "start", Format: a.format, SampleRate: a.inputRate, Model: string(c.Model), Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Emit: c.Emit,
	}
	if m.Meta.SampleRate != 0 && m.Meta.SampleRate != a.inputRate {
		start.ModelSampleRate = m.Meta.SampleRate
	}
	if c.Emit == "frames" {
		start.Hop = block
	}
	print := func() error { return std.note(notes.take()...) }
	if err := print(); err != nil {
		return err
	}
	if err := out.Encode(start); err != nil {
		return err
	}
	p := pump{audio: a, sink: s, block: block, pipe: c.File == "-", live: c.Live, notes: print, out: out}
	err = p.run(ctx)
	if err == nil && a.position == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no samples\n", printable(name, ""))
	}
	return cmp.Or(err, print())
}

// arguments sets the arguments that were not given.
func (c *streamCmd) arguments() {
	name := string(c.Model)
	if c.File == "" && name != "" && !pretrained.Has(name) && !strings.HasSuffix(name, ".safetensors") {
		c.Model, c.File = "", name
	}
	c.Model, c.File = cmp.Or(c.Model, "digits"), cmp.Or(c.File, "-")
}

// validate checks the flags that do not depend on the model.
func (c *streamCmd) validate() error {
	switch {
	case c.Hop != nil && (*c.Hop < 1 || *c.Hop > maxHop):
		return fmt.Errorf("--hop %d: expected 1 to %d samples", *c.Hop, maxHop)
	case c.Hop != nil && c.Emit != "frames":
		return errors.New("--hop requires --emit frames")
	case c.Emit == "frames" && (c.Threshold != nil || c.Confirm != nil || c.Refractory != nil):
		return errors.New("--threshold, --confirm and --refractory require --emit events")
	case c.Live && c.File != "-":
		return errors.New("--live requires standard input; a file can be read at any speed")
	case c.Rate != nil && (*c.Rate < 1 || *c.Rate > maxSampleRate):
		return fmt.Errorf("--rate %d: expected 1 to %d Hz", *c.Rate, maxSampleRate)
	}
	return nil
}

// or returns the value of a flag, or the default if the flag is not given.
func or[T any](flag *T, value T) T {
	if flag != nil {
		return *flag
	}
	return value
}

// convertHint explains how to read audio in a format that is not supported.
const convertHint = "raw samples need --format and --rate; sox or ffmpeg convert other formats (docs/stream.md)"

// decode returns the samples for the model.
func (c *streamCmd) decode(in io.Reader, name string, meta *model.Meta, notes *audioNotes) (*audioInput, error) {
	modelRate := meta.SampleRate // Hz; 0: it states none
	a := &audioInput{name: name, format: c.Format, close: func() error { return nil }}
	if !slices.Contains(rawFormats, c.Format) {
		r, err := c.audio(notes, name).Open(in)
		if err == nil {
			a.close = r.Close
		}
		switch {
		case errors.As(err, new(*audio.UnsupportedError)):
			return nil, fmt.Errorf("%s: %w | s4d-fast stream", name, err)
		case errors.Is(err, audio.ErrTruncated), errors.Is(err, audio.ErrChannel):
			return nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w; %s", name, err, convertHint)
		case c.Format != "auto" && c.Format != string(r.Container):
			return nil, fmt.Errorf("%s: the format is %s, expected %s (--format)", name, r.Container, c.Format)
		case r.Format.Channels != 1 && !c.Resample && c.Channel == nil:
			return nil, fmt.Errorf("%s: %d channels, expected 1; --channel N reads one, --resample mixes them down", name, r.Format.Channels)
		}
		a.inputRate, a.format, a.source = float64(r.Format.SampleRate), string(r.Container), audio.Mono(r)
		if c.Rate != nil && float64(*c.Rate) != a.inputRate {
			return nil, fmt.Errorf("%s: rate %g Hz in the header, expected %d Hz (--rate)", name, a.inputRate, *c.Rate)
		}
	} else {
		raw, err := audio.NewRawReader(audio.Sniff(in, func(format string) error {
			notes.add(fmt.Sprintf("%s: it begins as %s does, but --format %s reads all of it as samples", name, format, c.Format))
			return nil
		}), audio.Encoding(c.Format))
		if err != nil {
			return nil, err
		}
		a.source, a.inputRate = raw, modelRate
		if c.Rate != nil {
			a.inputRate = float64(*c.Rate)
		}
		if a.inputRate <= 0 {
			return nil, errors.New("the model states no sampling rate; set --rate")
		}
	}
	if a.inputRate > maxSampleRate {
		return nil, fmt.Errorf("%s: rate %g Hz, expected at most %d Hz", name, a.inputRate, maxSampleRate)
	}
	a.source, a.rate = checked{a.source, &a.read}, a.inputRate
	switch {
	case modelRate == 0 || modelRate == a.inputRate:
		return a, nil
	case !c.Resample:
		return nil, fmt.Errorf("%s: rate %g Hz, the model expects %g Hz; --resample converts the audio", name, a.inputRate, modelRate)
	case modelRate != math.Trunc(modelRate):
		return nil, fmt.Errorf("--resample: the model's rate is %g Hz, expected a whole number", modelRate)
	}
	if c.Emit == "events" {
		return a, nil // events.Stream resamples
	}
	resampled, err := audio.NewResampleReader(a.source, int(a.inputRate), int(modelRate))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.source, a.rate = resampled, modelRate
	return a, nil
}
