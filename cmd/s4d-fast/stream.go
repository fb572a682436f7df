package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/resample"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/wav"
)

// maxHop bounds the samples between two frames.
const maxHop = 1 << 24

type streamCmd struct {
	Model     modelFile `arg:"" optional:"" help:"Model file (.safetensors), or the name of a built-in model (${models}); default: digits."`
	File      string    `arg:"" optional:"" help:"Audio file, or - for standard input; default: -."`
	Format    string    `help:"Format of the audio: ${enum}." enum:"s16le,s16be,f32le,u8,wav" default:"wav"`
	Rate      int       `help:"Sampling rate of raw audio in Hz (default: the model's). A WAV file carries its own." placeholder:"HZ"`
	Resample  bool      `help:"Convert audio of another rate than the model's to that, band-limited." xor:"rates"`
	AdaptRate bool      `help:"Scale the model's steps to the audio's rate instead." xor:"rates"`
	Live      bool      `help:"Do not let the source wait: drop audio when more than a second of it has piled up."`
	Emit      string    `help:"What to print: ${enum}." enum:"events,frames" default:"events"`
	Hop       int       `help:"Samples between two frames (default: a tenth of a second)." placeholder:"N"`

	Threshold    float64  `help:"Posterior that makes an event. Higher: more precision, less recall." default:"0.8" group:"Events"`
	OffThreshold float64  `help:"Posterior below which it has ended (default: half of --threshold). Higher: shorter events; a word may count twice." placeholder:"P" group:"Events"`
	Confirm      int      `help:"Answers in a row, 30 ms apart, that must agree. Higher: more precision, less recall of short words." default:"3" group:"Events"`
	Refractory   *float64 `help:"Seconds after an onset in which no other event begins (default: 0.4). Higher: more precision, less recall of words in quick succession." placeholder:"S" group:"Events"`
	Window       float64  `help:"Seconds that an answer looks back. Higher: more precision, less recall of short words." default:"1" group:"Events"`
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines (docs/stream.md): a "start" line; an "event" line for everything that the model recognises, when it has ended; an
"end" line. "onset" and "end" count the audio's samples. With --emit frames a "frame" line every hop and after the last sample instead:
its "posterior" is the model's answer for everything heard so far.

A single argument that is neither a .safetensors file nor a built-in model is the audio.

Examples:
  arecord -q -f S16_LE -r 8000 | s4d-fast stream --format s16le --live
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
	a, err := c.decodeOrStop(ctx, in, name, m)
	if err != nil {
		return badInput(err)
	}
	out := json.NewEncoder(std.out)
	h, block, err := c.hearer(m, a, out)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	start := report.Start{
		Type: "start", Format: c.Format, Rate: a.rate, Model: string(c.Model), Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Emit: c.Emit,
	}
	if a.heard != a.rate {
		start.ModelRate = a.heard
	} else if c.AdaptRate && a.rate != m.Meta.SampleRate {
		start.ModelRate = m.Meta.SampleRate
	}
	if c.Emit == "frames" {
		start.Hop = block
	}
	if err := out.Encode(start); err != nil {
		return err
	}
	p := pump{audio: a, hearer: h, block: block, live: c.Live, out: out}
	truncated, err := p.run(ctx)
	if err != nil {
		return err
	}
	if truncated && c.File != "-" { // from a pipe, a size that was promised means little
		return badInput(fmt.Errorf("%s: %w after sample %d", name, wav.ErrTruncated, a.samples()))
	}
	return nil
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
	case c.Hop < 0 || c.Hop > maxHop:
		return fmt.Errorf("--hop %d: want 1 … %d samples", c.Hop, maxHop)
	case c.Hop > 0 && c.Emit != "frames":
		return errors.New("--hop is for --emit frames")
	case c.Live && c.File != "-":
		return errors.New("--live is for standard input: a file waits")
	case c.Rate < 0:
		return fmt.Errorf("--rate %d: want a positive number of samples a second", c.Rate)
	}
	return c.options().Validate()
}

// options returns what counts as an event.
func (c *streamCmd) options() events.Options {
	opt := events.Options{Threshold: c.Threshold, OffThreshold: c.OffThreshold, Confirm: c.Confirm, Window: c.Window}
	if c.Refractory != nil {
		opt.Refractory = cmp.Or(*c.Refractory, math.SmallestNonzeroFloat64) // 0 would be the default
	}
	return opt
}

// hearer returns what turns samples into lines, and how many it takes at a time.
func (c *streamCmd) hearer(m *model.Model, a *audio, out *json.Encoder) (hearer, int, error) {
	scaled := 1.0 // model samples a sample
	if c.AdaptRate && m.Meta.SampleRate > 0 {
		scaled = m.Meta.SampleRate / a.heard
	}
	if c.Emit == "frames" {
		net, err := recurrent.New(m, recurrent.Options{Rate: scaled})
		if err != nil {
			return nil, 0, err
		}
		hop := c.Hop
		if hop == 0 {
			hop = max(int(a.heard/10), 1)
		}
		return newFramer(net, m, a, out), hop, nil
	}
	if len(m.Meta.Labels) == 0 || m.Config.Pool != model.PoolMean {
		return nil, 0, errors.New("events need a model with labels and a mean pool: say --emit frames")
	}
	opt := c.options()
	opt.Rate = a.heard
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
		return f, c.File, badInput(err)
	}
	if std.inTTY {
		return nil, "", usageError(errors.New("standard input is a terminal: pipe audio into it or name a file"))
	}
	return io.NopCloser(std.in), "standard input", nil
}

// decodeOrStop is decode, given up when ctx is cancelled while the input keeps its header waiting.
func (c *streamCmd) decodeOrStop(ctx context.Context, in io.Reader, name string, m *model.Model) (*audio, error) {
	type decoded struct {
		audio *audio
		err   error
	}
	done := make(chan decoded, 1)
	go func() {
		a, err := c.decode(in, name, m.Meta.SampleRate)
		done <- decoded{a, err}
	}()
	select {
	case d := <-done:
		return d.audio, d.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// decode returns the samples that the model is to hear; want is its rate, or 0 if it states none.
func (c *streamCmd) decode(in io.Reader, name string, want float64) (*audio, error) {
	a := &audio{rate: float64(c.Rate)}
	if c.Format == "wav" {
		r, err := wav.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if r.Format.Channels != 1 {
			return nil, fmt.Errorf("%s has %d channels; the model expects 1", name, r.Format.Channels)
		}
		a.rate, a.wav, a.source = float64(r.Format.SampleRate), r, r
		if c.Rate != 0 && float64(c.Rate) != a.rate {
			return nil, fmt.Errorf("%s has a rate of %g Hz, not --rate %d", name, a.rate, c.Rate)
		}
	} else {
		raw, err := wav.NewRaw(in, wav.Encoding(c.Format))
		if err != nil {
			return nil, err
		}
		if a.source = raw; c.Rate == 0 {
			a.rate = want
		}
		if a.rate <= 0 {
			return nil, errors.New("the model states no sample rate: say --rate")
		}
	}
	a.heard = a.rate
	switch {
	case want == 0 || want == a.rate || c.AdaptRate:
		return a, nil
	case !c.Resample:
		return nil, fmt.Errorf("%s has a rate of %g Hz; the model expects %g Hz: --resample converts the audio, --adapt-rate the model", name, a.rate, want)
	case want != math.Trunc(want):
		return nil, fmt.Errorf("--resample: the model's rate is %g Hz, not a whole number", want)
	}
	converted, err := resample.NewReader(a.source, int(a.rate), int(want))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.source, a.heard = converted, want
	return a, nil
}
