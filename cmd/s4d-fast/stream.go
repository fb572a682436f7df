package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/wav"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

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
	in, name, err := c.open(std)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := model.Load(c.Model)
	if err != nil {
		return badInput(err)
	}
	audio, rate, err := c.decode(in, name, m)
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
	f := framer{
		stream: net.NewStream(), model: m, hop: c.hop(rate), rate: rate,
		out: json.NewEncoder(std.out),
	}
	start := startLine{
		Type: "start", Format: c.Format, Rate: rate, Model: c.Model, Task: m.Meta.Task,
		Labels: m.Meta.Labels, Level: string(vek.CurrentLevel()), Hop: f.hop,
	}
	if err := f.out.Encode(start); err != nil {
		return brokenPipe(err)
	}
	return brokenPipe(f.run(ctx, audio))
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

func (c *streamCmd) hop(rate float64) int {
	if c.Hop > 0 {
		return c.Hop
	}
	return max(int(rate/10), 1)
}

// Lines of the output. Times are sample counts.
type (
	startLine struct {
		Type   string   `json:"type"`
		Format string   `json:"format"`
		Rate   float64  `json:"rate"`
		Model  string   `json:"model"`
		Task   string   `json:"task,omitempty"`
		Labels []string `json:"labels,omitempty"`
		Level  string   `json:"level"`
		Hop    int      `json:"hop"`
	}
	frameLine struct {
		Type      string    `json:"type"`
		Sample    int64     `json:"sample"`
		Label     string    `json:"label,omitempty"`
		Posterior []float32 `json:"posterior,omitempty"`
		Output    []float32 `json:"output,omitempty"` // regression models, and models that answer at every sample
	}
	endLine struct {
		Type           string  `json:"type"`
		Samples        int64   `json:"samples"`
		Seconds        float64 `json:"seconds"`          // of audio
		RealTimeFactor float64 `json:"real_time_factor"` // computing time / audio time
	}
)

// framer feeds a stream and prints a frame every hop.
type framer struct {
	stream *recurrent.Stream
	model  *model.Model
	hop    int
	rate   float64
	out    *json.Encoder
	busy   time.Duration
}

func (f *framer) run(ctx *ctxBox, audio wav.Source) error {
	buf := make([]float32, f.hop)
	scale, shift := f.model.Meta.Affine(0)
	for ctx.Err() == nil {
		n, err := readFull(audio, buf)
		if n > 0 {
			began := time.Now()
			vek.ScaleShift(buf[:n], buf[:n], scale, shift)
			y := f.stream.Process(buf[:n], n)
			f.busy += time.Since(began)
			if err := f.frame(y); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return badInput(fmt.Errorf("after sample %d: %w", f.stream.Position(), err))
		}
	}
	seconds := float64(f.stream.Position()) / f.rate
	end := endLine{Type: "end", Samples: f.stream.Position(), Seconds: seconds}
	if seconds > 0 {
		end.RealTimeFactor = f.busy.Seconds() / seconds
	}
	return f.out.Encode(end)
}

// readFull reads until buf is full or the source ends, whatever the chunks it delivers.
func readFull(s wav.Source, buf []float32) (int, error) {
	n := 0
	for n < len(buf) {
		k, err := s.Read(buf[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (f *framer) frame(y []float32) error {
	line := frameLine{Type: "frame", Sample: f.stream.Position()}
	if len(f.model.Meta.Labels) == 0 || f.model.Config.Pool == model.PoolNone {
		line.Output = y
		return f.out.Encode(line)
	}
	line.Posterior = model.Posterior(y)
	best := 0
	for i, p := range line.Posterior {
		if p > line.Posterior[best] {
			best = i
		}
	}
	line.Label = f.model.Meta.Labels[best]
	return f.out.Encode(line)
}
