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
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	maxHop        = 1 << 24   // samples
	maxSampleRate = 1_000_000 // Hz, as in packages audio and events
)

type streamCmd struct {
	Model     modelFile `arg:"" optional:"" help:"Model file (.safetensors) or built-in model (${models}); default: digits."`
	File      string    `arg:"" optional:"" help:"Audio file, or - for standard input (the default)."`
	Format    string    `help:"Format of the audio: wav, or raw samples as s16le, s16be, f32le or u8." enum:"s16le,s16be,f32le,u8,wav" default:"wav"`
	Rate      *int      `help:"Sampling rate of raw audio in Hz (default: the model's). A WAV file states its own." placeholder:"HZ"`
	Resample  bool      `help:"Resample the audio to the model's rate (band-limited), and mix several channels down to one." xor:"rates"`
	AdaptRate bool      `help:"Instead of resampling, scale the model's SSM steps to the rate of the audio." xor:"rates"`
	Live      bool      `help:"Never block the source: drop audio if more than one second is waiting."`
	Emit      string    `help:"Lines to print: events or frames." enum:"events,frames" default:"events"`
	Hop       *int      `help:"Samples between frames (default: 0.1 s of audio)." placeholder:"N"`
	Window    *float64  `help:"Seconds of audio per output (default: ${window}; with --emit frames: 0, all audio so far). Higher: more precision, less recall of short words." placeholder:"S"`

	Threshold    *float64 `help:"Minimum probability of an event (default: ${threshold}). Higher: more precision, less recall." placeholder:"P" group:"Events"`
	OffThreshold *float64 `help:"An event ends when its probability falls below this (default: half of --threshold). Higher: shorter events, and one word may be reported twice." placeholder:"P" group:"Events"`
	Confirm      *int     `help:"Number of consecutive outputs, one every 30 ms, that must agree (default: ${confirm}). Higher: more precision, less recall of short words." placeholder:"N" group:"Events"`
	Refractory   *float64 `help:"Seconds after the onset of an event in which no other event begins (default: ${refractory}). Higher: more precision, less recall of words in quick succession." placeholder:"S" group:"Events"`
}

// streamDefaults are the defaults that the help shows.
func streamDefaults() kong.Vars {
	d := events.Defaults()
	return kong.Vars{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory), "window": fmt.Sprint(d.Window),
	}
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines (see docs/stream.md): a "start" line, one "event" line at the end of each recognised event, and an "end" line.
"onset" and "end" are sample indices. With --emit frames, prints a "frame" line every --hop samples and after the last
sample; its "posterior" covers all audio so far, or the last --window seconds.

A single argument that is neither a .safetensors file nor a built-in model is the audio file.

Examples:
  arecord -q -t raw -f S16_LE -r 8000 -c 1 | s4d-fast stream --format s16le --live
  s4d-fast stream clip.wav
  s4d-fast stream --resample recording-44100.wav --threshold 0.9
  s4d-fast stream runs/fsdd/best.safetensors clip.wav --emit frames`
}

func (c *streamCmd) Run(std *streams, ctx *ctxBox) error {
	c.arguments()
	if err := c.validate(); err != nil {
		return usageError(err)
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
	if m.Config.Encoder != model.EncoderLinear || m.Config.DInput != 1 {
		return badInput(fmt.Errorf("%s: the network reads %s input with d_input %d; audio has 1 channel", c.Model, m.Config.Encoder, m.Config.DInput))
	}
	bytes := untilStopped(ctx, in)
	defer bytes.Close()
	a, err := c.decode(bytes, name, m.Meta.SampleRate)
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
		Type: "start", Format: c.Format, SampleRate: a.inputRate, Model: string(c.Model), Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Emit: c.Emit,
	}
	if a.rate != a.inputRate {
		start.ModelSampleRate = a.rate
	} else if c.AdaptRate && a.rate != m.Meta.SampleRate {
		start.ModelSampleRate = m.Meta.SampleRate
	}
	if c.Emit == "frames" {
		start.Hop = block
	}
	if err := out.Encode(start); err != nil {
		return err
	}
	p := pump{audio: a, sink: s, block: block, pipe: c.File == "-", live: c.Live, out: out}
	return p.run(ctx)
}

// arguments sets the arguments that were not given.
func (c *streamCmd) arguments() {
	name := string(c.Model)
	if c.File == "" && name != "" && !pretrained.Has(name) && !strings.HasSuffix(name, ".safetensors") {
		c.Model, c.File = "", name
	}
	c.Model, c.File = cmp.Or(c.Model, "digits"), cmp.Or(c.File, "-")
}

func (c *streamCmd) validate() error {
	switch {
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
	if err := c.options().Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// options returns the options of events: the defaults, replaced by the flags that are given.
func (c *streamCmd) options() events.Options {
	opt := events.Defaults()
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.OffThreshold, opt.Confirm = or(c.OffThreshold, opt.OffThreshold), or(c.Confirm, opt.Confirm)
	opt.Refractory, opt.Window = or(c.Refractory, opt.Refractory), or(c.Window, opt.Window)
	return opt
}

// or returns the value of a flag, or the default if the flag is not given.
func or[T any](flag *T, value T) T {
	if flag != nil {
		return *flag
	}
	return value
}

// sink returns what turns samples into lines, and how many samples it takes at a time.
func (c *streamCmd) sink(m *model.Model, a *audioInput, out *json.Encoder) (sink, int, error) {
	stepScale := 1.0 // model samples per sample
	if c.AdaptRate && m.Meta.SampleRate > 0 {
		stepScale = m.Meta.SampleRate / a.rate
	}
	if c.Emit == "frames" {
		net, err := recurrent.New(m, recurrent.Options{StepScale: stepScale, Window: int(math.Ceil(or(c.Window, 0) * a.rate))})
		if err != nil {
			return nil, 0, err
		}
		return newFramePrinter(net, m, a, out), or(c.Hop, max(int(a.rate/10), 1)), nil
	}
	if len(m.Meta.Labels) == 0 || m.Config.Pool != model.PoolMean {
		return nil, 0, errors.New("events require a model with labels and mean pooling; use --emit frames")
	}
	opt := c.options()
	opt.SampleRate = a.rate
	f, err := events.New(m, opt)
	if err != nil {
		return nil, 0, err
	}
	return &eventPrinter{detector: f.NewDetector(), audio: a, out: out}, f.Frame(), nil
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
			err = fmt.Errorf("%s is a folder, expected an audio file", c.File)
		}
		return f, c.File, badInput(err)
	}
	if std.inTTY {
		return nil, "", usageError(errors.New("standard input is a terminal; pipe audio into it or pass a file"))
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

// convertHint explains how to read audio that is not a WAV file of a supported encoding.
const convertHint = "raw samples need --format and --rate; sox or ffmpeg convert other formats (docs/stream.md)"

// decode returns the samples for the model; modelRate is its sampling rate in Hz, or 0 if it states
// none.
func (c *streamCmd) decode(in io.Reader, name string, modelRate float64) (*audioInput, error) {
	a := &audioInput{name: name}
	if c.Format == "wav" {
		r, err := audio.NewWAVReader(in)
		switch {
		case errors.Is(err, audio.ErrTruncated):
			return nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w; %s", name, err, convertHint)
		case r.Format.Channels != 1 && !c.Resample:
			return nil, fmt.Errorf("%s: %d channels, expected 1; --resample mixes them down", name, r.Format.Channels)
		}
		a.inputRate, a.wav, a.source = float64(r.Format.SampleRate), r, audio.Mono(r)
		if c.Rate != nil && float64(*c.Rate) != a.inputRate {
			return nil, fmt.Errorf("%s: rate %g Hz in the header, --rate %d", name, a.inputRate, *c.Rate)
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
	a.source, a.rate = checked{a.source}, a.inputRate
	switch {
	case modelRate == 0 || modelRate == a.inputRate || c.AdaptRate:
		return a, nil
	case !c.Resample:
		return nil, fmt.Errorf("%s: rate %g Hz, the model expects %g Hz; --resample converts the audio, --adapt-rate the model", name, a.inputRate, modelRate)
	case modelRate != math.Trunc(modelRate):
		return nil, fmt.Errorf("--resample: the model's rate is %g Hz, expected a whole number", modelRate)
	}
	resampled, err := audio.NewResampleReader(a.source, int(a.inputRate), int(modelRate))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.source, a.rate = resampled, modelRate
	return a, nil
}
