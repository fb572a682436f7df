package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/wav"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// maxHop bounds the samples between two frames.
const maxHop = 1 << 24

type streamCmd struct {
	Model  string `arg:"" help:"Model file (.safetensors)." type:"path"`
	File   string `arg:"" optional:"" default:"-" help:"Audio file, or - for standard input."`
	Format string `help:"Format of the audio: ${enum}." enum:"s16le,s16be,f32le,u8,wav" default:"wav"`
	Rate   int    `help:"Sampling rate of raw audio in Hz (default: the model's). A WAV file carries its own." placeholder:"HZ"`
	Emit   string `help:"What to print: ${enum}." enum:"frames" default:"frames"`
	Hop    int    `help:"Samples between two frames (default: a tenth of a second)." placeholder:"N"`
}

func (c *streamCmd) Help() string {
	return `Prints JSON Lines: a "start" line, a "frame" line every hop and after the last sample, an "end" line.
A frame's "posterior" is the model's answer for everything heard so far; "sample" counts from 1.

Examples:
  s4d-fast stream digits.safetensors clip.wav
  s4d-fast stream digits.safetensors --format s16le --rate 8000 - < clip.raw`
}

func (c *streamCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Hop < 0 || c.Hop > maxHop {
		return usageError(fmt.Errorf("--hop %d: want 1 … %d samples", c.Hop, maxHop))
	}
	if c.Rate < 0 {
		return usageError(fmt.Errorf("--rate %d: want a positive number of samples a second", c.Rate))
	}
	in, name, err := c.open(std)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := model.Load(c.Model)
	if err != nil {
		return badInput(err)
	}
	audio, rate, err := c.decodeOrStop(ctx, in, name, m)
	if err != nil {
		return badInput(err)
	}
	net, err := recurrent.New(m, recurrent.Options{})
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	if m.Config.Encoder != model.EncoderLinear || m.Config.DInput != 1 {
		return badInput(fmt.Errorf("%s: the network reads %s input with d_input %d; audio has 1 channel", c.Model, m.Config.Encoder, m.Config.DInput))
	}
	hop := c.Hop
	if hop == 0 {
		hop = max(int(rate/10), 1)
	}
	f := newFramer(net, m, rate, hop, std.out)
	start := startLine{
		Type: "start", Format: c.Format, Rate: rate, Model: c.Model, Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Hop: hop,
	}
	if err := f.out.Encode(start); err != nil {
		return err
	}
	truncated, err := f.run(ctx, audio)
	if err != nil {
		return err
	}
	if truncated && c.File != "-" { // from a pipe, a size that was promised means little
		return badInput(fmt.Errorf("%s: %w after sample %d", name, wav.ErrTruncated, f.stream.Position()))
	}
	return nil
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
func (c *streamCmd) decodeOrStop(ctx context.Context, in io.Reader, name string, m *model.Model) (wav.Source, float64, error) {
	type decoded struct {
		audio wav.Source
		rate  float64
		err   error
	}
	done := make(chan decoded, 1)
	go func() {
		audio, rate, err := c.decode(in, name, m)
		done <- decoded{audio, rate, err}
	}()
	select {
	case d := <-done:
		return d.audio, d.rate, d.err
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// decode returns a reader of samples at the model's rate.
func (c *streamCmd) decode(in io.Reader, name string, m *model.Model) (wav.Source, float64, error) {
	want := m.Meta.SampleRate
	if c.Format != "wav" {
		rate := float64(c.Rate)
		if c.Rate == 0 {
			rate = want
		}
		if rate <= 0 {
			return nil, 0, errors.New("the model states no sample rate: say --rate")
		}
		if want != 0 && rate != want {
			return nil, 0, fmt.Errorf("%s has a rate of %g Hz; the model expects %g Hz", name, rate, want)
		}
		raw, err := wav.NewRaw(in, wav.Encoding(c.Format))
		return raw, rate, err
	}
	r, err := wav.NewReader(in)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	if r.Format.Channels != 1 {
		return nil, 0, fmt.Errorf("%s has %d channels; the model expects 1", name, r.Format.Channels)
	}
	rate := float64(r.Format.SampleRate)
	if want != 0 && rate != want {
		return nil, 0, fmt.Errorf("%s has a rate of %g Hz; the model expects %g Hz", name, rate, want)
	}
	if c.Rate != 0 && float64(c.Rate) != rate {
		return nil, 0, fmt.Errorf("%s has a rate of %g Hz, not --rate %d", name, rate, c.Rate)
	}
	return r, rate, nil
}
