package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/report"
)

type streamCmd struct {
	Model  modelFile `arg:"" optional:"" help:"Model file (.safetensors) or built-in model (${models}); default: digits."`
	File   string    `arg:"" optional:"" help:"Audio file, or - for standard input (the default)."`
	Format string    `help:"Format of the input. auto: recognised by the first bytes; wav, flac, mp3, ogg: only this format; s16le, s16be, f32le, u8: raw samples." enum:"auto,wav,flac,mp3,ogg,s16le,s16be,f32le,u8" default:"auto" placeholder:"FORMAT"`
	Rate   *int      `help:"Sampling rate of raw audio in Hz (default: the model's). Other audio formats state their own." range:"1..1000000" placeholder:"HZ"`
	audioFlags
	Resample bool     `help:"Resample the audio to the model's rate (band-limited), and mix several channels down to one."`
	Live     bool     `help:"Never block the source: drop audio if more than one second is waiting."`
	Emit     string   `help:"Lines to print: events or frames." enum:"events,frames" default:"events" placeholder:"LINES"`
	Hop      *int     `help:"Samples between frames (default: 0.1 s of audio); with --resample, samples at the model's rate." range:"1..16777216" placeholder:"N"`
	Window   *float64 `help:"Seconds over which the output is averaged (default: ${window}, or as calibrated; with --emit frames and no filter bank 0, all audio so far). Higher: more precision, less recall of short words." range:"0..86400" placeholder:"S"`

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

func (c *streamCmd) Run(std *streams, ctx context.Context) error {
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
	a, err := c.open(bytes, name, m.Meta.SampleRate, &notes)
	if err != nil {
		return interruptOr(ctx, err)
	}
	defer a.input.Close()
	p := pump{
		audio: a, pipe: c.File == "-", live: c.Live, out: json.NewEncoder(std.out),
		note: func() error { return std.note(notes.take()...) },
	}
	if err := c.connect(&p, m, opt); err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	start := report.Start{
		Type: "start", Format: a.input.Format, SampleRate: a.input.Rate, Model: string(c.Model), Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Emit: c.Emit,
	}
	if m.Meta.SampleRate != 0 && m.Meta.SampleRate != a.input.Rate {
		start.ModelSampleRate = m.Meta.SampleRate
	}
	if c.Emit == "frames" {
		start.Hop = p.size
	}
	if err := p.note(); err != nil {
		return err
	}
	if err := p.out.Encode(start); err != nil {
		return err
	}
	err = p.run(ctx)
	if err == nil && a.position == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no samples\n", printable(name, ""))
	}
	return cmp.Or(err, p.note())
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
	case c.Hop != nil && c.Emit != "frames":
		return errors.New("--hop requires --emit frames")
	case c.Emit == "frames" && (c.Threshold != nil || c.Confirm != nil || c.Refractory != nil):
		return errors.New("--threshold, --confirm and --refractory require --emit events")
	case c.Live && c.File != "-":
		return errors.New("--live requires standard input; a file can be read at any speed")
	}
	return nil
}

// options returns the options of the model with the values of the flags that are given.
func (c *streamCmd) options(m *model.Model) (events.Options, error) {
	opt := events.DefaultsFor(m)
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.Confirm, opt.Refractory = or(c.Confirm, opt.Confirm), or(c.Refractory, opt.Refractory)
	if m.Meta.Filterbank != nil || c.Emit == "events" {
		opt.Smoothing = or(c.Window, opt.Smoothing)
	}
	if err := opt.Validate(); err != nil {
		return opt, fmt.Errorf("--threshold, --confirm, --refractory, --window: %w", err)
	}
	return opt, nil
}

// or returns the value of a flag, or the default if the flag is not given.
func or[T any](flag *T, value T) T {
	if flag != nil {
		return *flag
	}
	return value
}
