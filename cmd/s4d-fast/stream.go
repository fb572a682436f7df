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
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

// maxHop bounds the samples between two frames.
const maxHop = 1 << 24

type streamCmd struct {
	Model     modelFile `arg:"" optional:"" help:"Model file (.safetensors), or the name of a built-in model (${models}); default: digits."`
	File      string    `arg:"" optional:"" help:"Audio file, or - for standard input; default: -."`
	Format    string    `help:"Format of the audio: ${enum}." enum:"s16le,s16be,f32le,u8,wav" default:"wav"`
	Rate      *int      `help:"Sampling rate of raw audio in Hz (default: the model's). A WAV file carries its own." placeholder:"HZ"`
	Resample  bool      `help:"Convert audio of another rate than the model's to that, band-limited." xor:"rates"`
	AdaptRate bool      `help:"Scale the model's steps to the audio's rate instead." xor:"rates"`
	Live      bool      `help:"Do not let the source wait: drop audio when more than a second of it has piled up."`
	Emit      string    `help:"What to print: ${enum}." enum:"events,frames" default:"events"`
	Hop       *int      `help:"Samples between two frames (default: a tenth of a second)." placeholder:"N"`
	Window    *float64  `help:"Seconds that an answer looks back (default: ${window}; with --emit frames 0, which is everything). Higher: more precision, less recall of short words." placeholder:"S"`

	Threshold    *float64 `help:"Posterior that makes an event (default: ${threshold}). Higher: more precision, less recall." placeholder:"P" group:"Events"`
	OffThreshold *float64 `help:"Posterior below which it has ended (default: half of --threshold). Higher: shorter events; a word may count twice." placeholder:"P" group:"Events"`
	Confirm      *int     `help:"Answers in a row, 30 ms apart, that must agree (default: ${confirm}). Higher: more precision, less recall of short words." placeholder:"N" group:"Events"`
	Refractory   *float64 `help:"Seconds after an onset in which no other event begins (default: ${refractory}). Higher: more precision, less recall of words in quick succession." placeholder:"S" group:"Events"`
}

// streamDefaults are what the help says of the flags of events.
func streamDefaults() kong.Vars {
	d := events.Defaults()
	return kong.Vars{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory), "window": fmt.Sprint(d.Window),
	}
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines (docs/stream.md): a "start" line; an "event" line for everything that the model recognises, when it has ended; an
"end" line. "onset" and "end" count the audio's samples. With --emit frames a "frame" line every hop and after the last sample instead:
its "posterior" is the model's answer for everything heard so far, or for the last --window seconds.

A single argument that is neither a .safetensors file nor a built-in model is the audio.

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
	in, name, err := c.open(std)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := c.Model.load()
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
	h, block, err := c.hearer(m, a, out)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	start := report.Start{
		Type: "start", Format: c.Format, SampleRate: a.rate, Model: string(c.Model), Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Emit: c.Emit,
	}
	if a.heard != a.rate {
		start.ModelSampleRate = a.heard
	} else if c.AdaptRate && a.rate != m.Meta.SampleRate {
		start.ModelSampleRate = m.Meta.SampleRate
	}
	if c.Emit == "frames" {
		start.Hop = block
	}
	if err := out.Encode(start); err != nil {
		return err
	}
	p := pump{audio: a, hearer: h, block: block, pipe: c.File == "-", live: c.Live, out: out}
	return p.run(ctx)
}

// arguments fills in what was left out.
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
		return fmt.Errorf("--hop %d: want 1 … %d samples", *c.Hop, maxHop)
	case c.Hop != nil && c.Emit != "frames":
		return errors.New("--hop is for --emit frames")
	case c.Live && c.File != "-":
		return errors.New("--live is for standard input: a file waits")
	case c.Rate != nil && *c.Rate < 1:
		return fmt.Errorf("--rate %d: want a positive number of samples a second", *c.Rate)
	}
	if c.Emit == "frames" {
		for _, f := range []struct {
			name  string
			given bool
		}{
			{"threshold", c.Threshold != nil}, {"off-threshold", c.OffThreshold != nil}, {"confirm", c.Confirm != nil}, {"refractory", c.Refractory != nil},
		} {
			if f.given {
				return fmt.Errorf("--%s is for --emit events", f.name)
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

// options returns what counts as an event: the defaults, but for what flags say.
func (c *streamCmd) options() events.Options {
	opt := events.Defaults()
	if c.Threshold != nil {
		opt = opt.WithThreshold(*c.Threshold)
	}
	opt.OffThreshold, opt.Confirm = or(c.OffThreshold, opt.OffThreshold), or(c.Confirm, opt.Confirm)
	opt.Refractory, opt.Window = or(c.Refractory, opt.Refractory), or(c.Window, opt.Window)
	return opt
}

// or returns what a flag says, or the default where it was not given.
func or[T any](flag *T, value T) T {
	if flag != nil {
		return *flag
	}
	return value
}

// hearer returns what turns samples into lines, and how many it takes at a time.
func (c *streamCmd) hearer(m *model.Model, a *audioInput, out *json.Encoder) (hearer, int, error) {
	scaled := 1.0 // model samples a sample
	if c.AdaptRate && m.Meta.SampleRate > 0 {
		scaled = m.Meta.SampleRate / a.heard
	}
	if c.Emit == "frames" {
		net, err := recurrent.New(m, recurrent.Options{StepScale: scaled, Window: int(math.Ceil(or(c.Window, 0) * a.heard))})
		if err != nil {
			return nil, 0, err
		}
		return newFramer(net, m, a, out), or(c.Hop, max(int(a.heard/10), 1)), nil
	}
	if len(m.Meta.Labels) == 0 || m.Config.Pool != model.PoolMean {
		return nil, 0, errors.New("events need a model with labels and a mean pool: say --emit frames")
	}
	opt := c.options()
	opt.SampleRate = a.heard
	f, err := events.New(m, opt)
	if err != nil {
		return nil, 0, err
	}
	return &eventer{detector: f.NewDetector(), audio: a, out: out}, f.Frame(), nil
}

// open returns the audio's bytes and a name for messages.
func (c *streamCmd) open(std *streams) (io.ReadCloser, string, error) {
	if c.File != "-" {
		f, err := os.Open(c.File)
		if errors.Is(err, fs.ErrNotExist) && filepath.Ext(c.File) == "" {
			err = fmt.Errorf("%w, nor is it a built-in model (%s)", err, strings.Join(pretrained.Names(), ", "))
		}
		return f, c.File, badInput(err)
	}
	if std.inTTY {
		return nil, "", usageError(errors.New("standard input is a terminal: pipe audio into it or name a file"))
	}
	return io.NopCloser(std.in), "standard input", nil
}

// untilStopped returns the bytes of in. When ctx is cancelled, the bytes end after those already read, even while a read
// of in is blocked.
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

// convertible is the hint for audio that --format has no word for.
const convertible = "sox or ffmpeg convert it (docs/stream.md)"

// decode returns the samples that the model is to hear; want is its rate, or 0 if it states none.
func (c *streamCmd) decode(in io.Reader, name string, want float64) (*audioInput, error) {
	a := &audioInput{name: name}
	if c.Format == "wav" {
		r, err := audio.NewWAVReader(in)
		switch {
		case errors.Is(err, audio.ErrTruncated):
			return nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w: %s", name, err, convertible)
		case r.Format.Channels != 1:
			return nil, fmt.Errorf("%s has %d channels; the model expects 1: %s", name, r.Format.Channels, convertible)
		}
		a.rate, a.wav, a.source = float64(r.Format.SampleRate), r, r
		if c.Rate != nil && float64(*c.Rate) != a.rate {
			return nil, fmt.Errorf("%s has a rate of %g Hz, not --rate %d", name, a.rate, *c.Rate)
		}
	} else {
		raw, err := audio.NewRawReader(in, audio.Encoding(c.Format))
		if err != nil {
			return nil, err
		}
		a.source, a.rate = raw, want
		if c.Rate != nil {
			a.rate = float64(*c.Rate)
		}
		if a.rate <= 0 {
			return nil, errors.New("the model states no sample rate: say --rate")
		}
	}
	a.source, a.heard = sound{a.source}, a.rate
	switch {
	case want == 0 || want == a.rate || c.AdaptRate:
		return a, nil
	case !c.Resample:
		return nil, fmt.Errorf("%s has a rate of %g Hz; the model expects %g Hz: --resample converts the audio, --adapt-rate the model", name, a.rate, want)
	case want != math.Trunc(want):
		return nil, fmt.Errorf("--resample: the model's rate is %g Hz, not a whole number", want)
	}
	converted, err := audio.NewResampleReader(a.source, int(a.rate), int(want))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.source, a.heard = converted, want
	return a, nil
}
