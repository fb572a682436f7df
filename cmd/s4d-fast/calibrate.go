package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
)

type calibrateCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Write       outFile   `help:"Choose an operating point, and write a copy of the model that stores it. FILE may be the model itself." type:"path" placeholder:"FILE"`
	FalseAlarms float64   `help:"With --write: largest number of false alarms per hour in each background at the operating point." default:"1" range:"0..Inf" placeholder:"N"`
	Threads     int       `help:"Number of worker threads (default: one per processor)." range:"0..1024" placeholder:"N"`
	Plot        plotFile  `help:"Draw missed words against false alarms to FILE, PNG or SVG." type:"path" placeholder:"FILE"`
	List        int       `help:"List up to N false alarms, highest confidence first, and up to N missed words, with their files." default:"0" range:"0..1000" placeholder:"N"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`

	Words             string   `help:"Clips of words: a folder with one folder of audio files per label, or a text file with one path per line, optionally followed by a tab and a label." placeholder:"PATH" group:"Streams"`
	Label             string   `help:"Regular expression that is matched against the paths below --words. Its first group is the label; files that do not match are left out (default: the name of the folder is the label)." placeholder:"REGEXP" group:"Streams"`
	Background        []string `help:"Audio without any of the words, a file or a folder with files at any depth; repeatable. Each is measured on its own." placeholder:"PATH" sep:"none" group:"Streams"`
	SNR               string   `name:"snr" help:"Signal-to-noise ratio in dB: mean power of the words over the noise. clean: no noise." default:"20" placeholder:"DB" group:"Streams"`
	Noise             string   `help:"Noise in the streams of words: white, background for pieces of the background, or a file or folder." default:"white" placeholder:"NOISE" group:"Streams"`
	Tolerance         float64  `help:"Largest time between a word and its event, if they do not overlap, in seconds." default:"0.3" range:"0.001..3600" placeholder:"S" group:"Streams"`
	AllowTrainingData bool     `help:"Measure on recordings on which the model was trained, too." group:"Streams"`
	SkipBroken        bool     `help:"Leave out audio files that cannot be read, and list them." group:"Streams"`
	audioFlags        `group:"Streams"`
}

func (c *calibrateCmd) Help() string {
	return `Measures how many words the model misses and how many false alarms it gives: with its own options, and at many thresholds
and numbers of confirmations. docs/calibrate.md explains the measurement.

With --write, the command chooses the operating point that misses the fewest words with at most --false-alarms per hour in
the worst background, and writes a copy of the model that stores the point. stream and package events then use it by default. The model is measured
twice: the second time, each label has a threshold of its own. The operating point that the model already stores has no
effect on the choice.

Use clips and background that the model was not trained on. At least 3/N hours of a background are needed to show that
there are fewer than N false alarms per hour in it.

Examples:
  s4d-fast calibrate best.safetensors --words words/ --background street/
  s4d-fast calibrate best.safetensors --words words/ --background street/ --background talk.wav --write my.safetensors
  s4d-fast calibrate digits --words fsdd/recordings --label '^(\d)_\w+_[5-9]\.wav$' --background talk.wav --plot digits.png`
}

func (c *calibrateCmd) Run(std *streams, ctx context.Context) error {
	if err := c.check(); err != nil {
		return usageError(err)
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if c.Write != "" {
		m.Meta.Detection = nil // the result does not depend on an earlier calibration
	}
	in, err := orInterrupt(ctx, func() (*sources, error) { return c.sources(ctx, m) }) // --words may be a named pipe
	if err != nil {
		return err
	}
	d, err := c.measure(ctx, std, m, in)
	if err != nil {
		return err
	}
	if err := std.note(in.notes.take()...); err != nil {
		return err
	}
	d.own = d.Points[0]
	if c.Write == "" {
		d.warn(std.err, 0)
		return c.print(std, d, "the model's options", &d.own, 0)
	}
	best, err := c.choose(ctx, std, m, d)
	if err != nil {
		return err
	}
	m.Meta.Detection = best.Detection()
	if err := m.Save(string(c.Write)); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.Write)
	return c.print(std, d, "operating point", best, c.FalseAlarms)
}

// choose chooses the operating point. If offsets improve it, d becomes the measurement with them.
func (c *calibrateCmd) choose(ctx context.Context, std *streams, m *model.Model, d *detection) (*calibration.Point, error) {
	best, ok := d.Best(c.FalseAlarms)
	if with, err := c.withOffsets(ctx, std, m, d); err != nil {
		return nil, err
	} else if with != nil {
		p, fits := with.Best(c.FalseAlarms)
		if fits && (!ok || cmp.Or(p.Missed()-best.Missed(), p.CompareAlarms(&best)) < 0) {
			d.Measurement, best, ok = with.Measurement, p, true
		}
	}
	d.warn(std.err, c.FalseAlarms)
	if !ok || best.Correct == 0 {
		curve := d.Curve()
		i := slices.IndexFunc(curve, func(p calibration.Point) bool { return p.Correct > 0 })
		if i < 0 {
			return nil, fmt.Errorf("the model recognises none of the %d words: check that --words has the model's labels", best.Words)
		}
		p, worst := curve[i], curve[i].Worst()
		rate, _, _ := worst.FalseAlarmRate()
		return nil, fmt.Errorf("no operating point with at most %g false alarms per hour in each background recognises a word: the best has %.3g in %s and misses %d of %d words, at threshold %g and confirm %d; add the background to the training data, or allow more with --false-alarms",
			c.FalseAlarms, rate, printable(worst.Name, ""), p.Missed(), p.Words, p.Options.Threshold, p.Options.Confirm)
	}
	return &best, nil
}

// print draws the trade-off with a point, if --plot is given, and prints the measurement.
func (c *calibrateCmd) print(std *streams, d *detection, title string, p *calibration.Point, limit float64) error {
	if c.Plot != "" {
		if err := c.Plot.curves(std, d.panel(p, title, limit)); err != nil {
			return err
		}
	}
	if !c.JSON {
		return d.text(std.out, title, p)
	}
	r := d.result(p)
	if c.Write != "" {
		chosen := d.point(p)
		r.Chosen, r.Out = &chosen, string(c.Write)
	}
	return json.NewEncoder(std.out).Encode(r)
}

// withOffsets measures a model a second time, with the offsets that d, its measurement without
// offsets, suggests. The result is nil if no label needs an offset.
func (c *calibrateCmd) withOffsets(ctx context.Context, std *streams, m *model.Model, d *detection) (*detection, error) {
	offsets, ok := d.Offsets(c.FalseAlarms)
	if !ok || !slices.ContainsFunc(offsets, func(v float64) bool { return v != 0 }) {
		return nil, nil
	}
	if std.errTTY {
		fmt.Fprintln(std.err, "measuring again with a threshold per label")
	}
	m.Meta.Detection = d.Points[0].Detection() // where the search starts, as in the first measurement
	m.Meta.Detection.Offsets = offsets
	return c.measure(ctx, std, m, d.sources)
}

// check returns an error for flags that cannot be used.
func (c *calibrateCmd) check() error {
	trades := c.Words != "" && len(c.Background) > 0
	switch {
	case c.Words == "" && len(c.Background) == 0:
		return errors.New("nothing to measure: set --words or --background")
	case c.Write != "" && !trades:
		return errors.New("--write requires --words, clips of the words, and --background, audio without the words")
	case c.Plot != "" && !trades:
		return errors.New("--plot requires --words and --background")
	case c.Noise == "background" && len(c.Background) == 0:
		return errors.New("--noise background requires --background")
	case c.Write != "" && !strings.HasSuffix(string(c.Write), ".safetensors"):
		return fmt.Errorf("--write %s: expected a name that ends in .safetensors", c.Write)
	}
	if _, err := regexp.Compile(c.Label); err != nil {
		return fmt.Errorf("--label: %w", err)
	}
	_, err := c.snr()
	return err
}

func (c *calibrateCmd) snr() (float64, error) {
	if c.SNR == "clean" {
		return math.Inf(1), nil
	}
	snr, err := strconv.ParseFloat(c.SNR, 64)
	if err != nil || math.IsNaN(snr) || snr < -100 {
		return 0, fmt.Errorf("--snr %s: expected a number of dB from -100, or clean", c.SNR)
	}
	return snr, nil
}
