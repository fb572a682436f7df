package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rawFormats are the formats without a header.
var rawFormats = []string{string(audio.S16LE), string(audio.S16BE), string(audio.F32LE), string(audio.U8)}

const (
	maxHop        = 1 << 24   // samples
	maxSampleRate = 1_000_000 // Hz, as in packages audio and events
)

type streamCmd struct {
	Model     modelFile `arg:"" optional:"" help:"Model file (.safetensors) or built-in model (${models}); default: digits."`
	File      string    `arg:"" optional:"" help:"Audio file or file of rows, or - for standard input (the default)."`
	Format    string    `help:"Format of the input. auto: WAV, FLAC, MP3 or Ogg Vorbis, recognised by the first bytes, or rows, recognised by the file name; wav, flac, mp3, ogg: only this format; s16le, s16be, f32le, u8: raw samples; csv, jsonl: rows." enum:"auto,wav,flac,mp3,ogg,s16le,s16be,f32le,u8,csv,jsonl" default:"auto" placeholder:"FORMAT"`
	Rate      *int      `help:"Sampling rate of raw audio in Hz (default: the model's). Other audio formats state their own." placeholder:"HZ"`
	Resample  bool      `help:"Resample the audio to the model's rate (band-limited), and mix several channels down to one." xor:"rates"`
	AdaptRate bool      `help:"Instead of resampling, scale the model's SSM steps to the rate of the audio." xor:"rates"`
	Live      bool      `help:"Never block the source: drop audio if more than one second is waiting."`
	Emit      string    `help:"Lines to print: events or frames." enum:"events,frames" default:"events" placeholder:"LINES"`
	Hop       *int      `help:"Samples between frames (default: 0.1 s of audio); with --resample, samples at the model's rate. With rows: rows between lines (default: 1)." placeholder:"N"`
	Window    *float64  `help:"Seconds of audio per output (default: ${window}; with --emit frames: 0, all audio so far). Higher: more precision, less recall of short words. With rows: number of rows (default: 0, all)." placeholder:"S"`
	Smoothing *float64  `help:"For a model with a filter bank, in place of --window: seconds over which its output is averaged (default: ${smoothing}). Higher: more precision, less recall of short words." placeholder:"S"`

	ID      *string `name:"id" help:"Column that identifies the series of a row (default: that of the training data, if the input has it; empty: all rows are one series)." placeholder:"COLUMN" group:"Rows"`
	Missing string  `help:"Replacement of missing values: model (as in training) or previous (the value before)." enum:"model,previous" default:"model" placeholder:"HOW" group:"Rows"`

	Threshold    *float64 `help:"Minimum probability of an event (default: ${threshold}, with a filter bank ${thresholdFrames}, or as calibrated). Higher: more precision, less recall." placeholder:"P" group:"Events"`
	OffThreshold *float64 `help:"An event ends when its probability falls below this (default: half of --threshold). Higher: shorter events, and one word may be reported twice." placeholder:"P" group:"Events"`
	Confirm      *int     `help:"Number of consecutive outputs that must agree; there is one every 30 ms, or with a filter bank one per frame (default: ${confirm}, with a filter bank ${confirmFrames}, or as calibrated). Higher: more precision, less recall of short words." placeholder:"N" group:"Events"`
	Refractory   *float64 `help:"Seconds after the onset of an event in which no other event begins (default: ${refractory}, with a filter bank ${refractoryFrames}, or as calibrated). Higher: more precision, less recall of words in quick succession." placeholder:"S" group:"Events"`
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines (see docs/stream.md): a "start" line, one "event" line at the end of each recognised event, and an "end" line.
"onset" and "end" are sample indices. With --emit frames, prints a "frame" line every --hop samples and after the last
sample; its "posterior" covers all audio so far, the last --window seconds, or with a filter bank the last --smoothing seconds.

With --format csv or jsonl, reads rows instead of audio and prints a "row" line for each: the class posterior, the forecast or
the anomaly score. Columns are found by their names.

A single argument that is neither a .safetensors file nor a built-in model is the audio file.

Examples:
  arecord -q -t raw -f S16_LE -r 8000 -c 1 | s4d-fast stream --format s16le --live
  s4d-fast stream clip.wav
  s4d-fast stream --resample recording-44100.mp3 --threshold 0.9
  s4d-fast stream runs/fsdd/best.safetensors clip.wav --emit frames
  tail -n +1 -f sensors.csv | s4d-fast stream runs/series/best.safetensors --format csv`
}

func (c *streamCmd) Run(std *streams, ctx *ctxBox) error {
	c.arguments()
	if err := c.validate(); err != nil {
		return usageError(err)
	}
	if c.readsRows() {
		return c.runRows(std, ctx)
	}
	in, name, err := c.open(ctx, std)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if d := m.Meta.Series; d != nil {
		return badInput(fmt.Errorf("%s: the network reads rows with the columns %s, not audio; set --format csv or jsonl", c.Model, suggest.List(d.Columns)))
	}
	if m.Meta.Filterbank == nil && (m.Config.Encoder != model.EncoderLinear || m.Config.DInput != 1) {
		return badInput(fmt.Errorf("%s: the network reads %s input with d_input %d; audio has 1 channel", c.Model, m.Config.Encoder, m.Config.DInput))
	}
	if err := c.validateFor(m); err != nil {
		return usageError(err)
	}
	bytes := untilStopped(ctx, in)
	defer bytes.Close()
	a, err := c.decode(bytes, name, &m.Meta)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return badInput(err)
	}
	out := json.NewEncoder(std.out)
	s, block, err := c.sink(m, a, out)
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
	if err := out.Encode(start); err != nil {
		return err
	}
	p := pump{audio: a, sink: s, block: block, pipe: c.File == "-", live: c.Live, out: out}
	err = p.run(ctx)
	if err == nil && a.position == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no samples\n", printable(name, ""))
	}
	return err
}

// arguments sets the arguments that were not given.
func (c *streamCmd) arguments() {
	name := string(c.Model)
	if c.File == "" && name != "" && !pretrained.Has(name) && !strings.HasSuffix(name, ".safetensors") {
		c.Model, c.File = "", name
	}
	c.Model, c.File = cmp.Or(c.Model, "digits"), cmp.Or(c.File, "-")
	if c.Format == "auto" {
		switch strings.ToLower(filepath.Ext(c.File)) {
		case ".csv", ".tsv":
			c.Format = string(table.CSV)
		case ".jsonl", ".ndjson":
			c.Format = string(table.JSONL)
		}
	}
}

func (c *streamCmd) validate() error {
	if c.readsRows() {
		return c.validateRows()
	}
	switch {
	case c.ID != nil:
		return errors.New("--id requires --format csv or jsonl")
	case c.Missing == model.MissingPrevious:
		return errors.New("--missing requires --format csv or jsonl")
	case c.Hop != nil && (*c.Hop < 1 || *c.Hop > maxHop):
		return fmt.Errorf("--hop %d: expected 1 to %d samples", *c.Hop, maxHop)
	case c.Hop != nil && c.Emit != "frames":
		return errors.New("--hop requires --emit frames")
	case c.Live && c.File != "-":
		return errors.New("--live requires standard input; a file can be read at any speed")
	case c.Rate != nil && (*c.Rate < 1 || *c.Rate > maxSampleRate):
		return fmt.Errorf("--rate %d: expected 1 to %d Hz", *c.Rate, maxSampleRate)
	}
	if c.Emit == "frames" {
		for _, f := range []struct {
			name  string
			given bool
		}{
			{"threshold", c.Threshold != nil}, {"off-threshold", c.OffThreshold != nil}, {"confirm", c.Confirm != nil}, {"refractory", c.Refractory != nil},
		} {
			if f.given {
				return fmt.Errorf("--%s requires --emit events", f.name)
			}
		}
		if c.Window != nil && *c.Window == 0 {
			return nil
		}
	}
	return c.validateEvents()
}

// or returns the value of a flag, or the default if the flag is not given.
func or[T any](flag *T, value T) T {
	if flag != nil {
		return *flag
	}
	return value
}

// open returns the audio's bytes and a name for messages.
func (c *streamCmd) open(ctx context.Context, std *streams) (io.ReadCloser, string, error) {
	if c.File != "-" {
		f, err := orInterrupt(ctx, func() (*os.File, error) { return os.Open(c.File) })
		if errors.Is(err, fs.ErrNotExist) && filepath.Ext(c.File) == "" {
			names := pretrained.Names()
			err = fmt.Errorf("%w; it is not a built-in model (%s) either%s", err, strings.Join(names, ", "), suggest.Hint(c.File, names))
		}
		if info, statErr := os.Stat(c.File); statErr == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder, expected a file", c.File)
		}
		return f, c.File, badInput(err)
	}
	if std.inTTY {
		return nil, "", usageError(errors.New("standard input is a terminal; pipe the input into it or pass a file"))
	}
	return io.NopCloser(std.in), "standard input", nil
}

// untilStopped returns the bytes of in. When ctx is cancelled, the bytes end after those already
// read, even while a read of in is blocked.
func untilStopped(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	writing := make(chan struct{}, 1) // full while bytes are passed on
	context.AfterFunc(ctx, func() {
		writing <- struct{}{}
		w.Close()
		<-writing
	})
	go func() {
		buf := make([]byte, 1<<15)
		for ctx.Err() == nil {
			n, err := in.Read(buf)
			if n > 0 {
				writing <- struct{}{}
				_, closed := w.Write(buf[:n])
				<-writing
				err = cmp.Or(err, closed)
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return r
}

// convertHint explains how to read audio in a format that is not supported.
const convertHint = "raw samples need --format and --rate; sox or ffmpeg convert other formats (docs/stream.md)"

// decode returns the samples for the model.
func (c *streamCmd) decode(in io.Reader, name string, meta *model.Meta) (*audioInput, error) {
	modelRate := meta.SampleRate // Hz; 0: it states none
	a := &audioInput{name: name, format: c.Format}
	if !slices.Contains(rawFormats, c.Format) {
		r, err := audio.Open(in)
		switch {
		case errors.Is(err, audio.ErrTruncated):
			return nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w; %s", name, err, convertHint)
		case c.Format != "auto" && c.Format != string(r.Container):
			return nil, fmt.Errorf("%s: the format is %s, expected %s (--format)", name, r.Container, c.Format)
		case r.Format.Channels != 1 && !c.Resample:
			return nil, fmt.Errorf("%s: %d channels, expected 1; --resample mixes them down", name, r.Format.Channels)
		}
		a.inputRate, a.format, a.source = float64(r.Format.SampleRate), string(r.Container), audio.Mono(r)
		if c.Rate != nil && float64(*c.Rate) != a.inputRate {
			return nil, fmt.Errorf("%s: rate %g Hz in the header, expected %d Hz (--rate)", name, a.inputRate, *c.Rate)
		}
	} else {
		raw, err := audio.NewRawReader(in, audio.Encoding(c.Format))
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
	if c.AdaptRate && modelRate > 0 {
		if err := ssm.CheckStepScale(modelRate / a.inputRate); err != nil {
			return nil, fmt.Errorf("--adapt-rate: %s: rate %g Hz, the model expects %g Hz: their ratio is %w", name, a.inputRate, modelRate, err)
		}
	}
	switch {
	case modelRate == 0 || modelRate == a.inputRate || c.AdaptRate:
		return a, nil
	case !c.Resample && meta.Filterbank != nil:
		return nil, fmt.Errorf("%s: rate %g Hz, the model expects %g Hz; --resample converts the audio", name, a.inputRate, modelRate)
	case !c.Resample:
		return nil, fmt.Errorf("%s: rate %g Hz, the model expects %g Hz; --resample converts the audio, --adapt-rate the model", name, a.inputRate, modelRate)
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
