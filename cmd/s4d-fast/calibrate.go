package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
)

type calibrateCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Write       string    `help:"Choose an operating point, and write a copy of the model that stores it. FILE may be the model itself." type:"path" placeholder:"FILE"`
	FalseAlarms float64   `help:"With --write: largest number of false alarms per hour at the operating point." default:"1" placeholder:"N"`
	Seed        uint64    `help:"Seed of the order of the words, the gaps and the noise." default:"1" placeholder:"N"`
	Threads     int       `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`

	detectionFlags
}

func (c *calibrateCmd) Help() string {
	return `Measures how many words the model misses and how many false alarms it gives: with its own options, and at many thresholds
and numbers of confirmations. docs/calibrate.md explains the measurement.

With --write, the command chooses the operating point that misses the fewest words with at most --false-alarms per hour, and
writes a copy of the model that stores the point. stream and package events then use it by default. The model is measured
twice: the second time, each label has a threshold of its own. The operating point that the model already stores has no
effect on the choice.

Use clips and background that the model was not trained on. At least 3/N hours of background are needed to show that
there are fewer than N false alarms per hour.

Examples:
  s4d-fast calibrate best.safetensors --words words/ --background street/
  s4d-fast calibrate best.safetensors --words words/ --background street/ --background talk.wav --write my.safetensors
  s4d-fast calibrate digits --words fsdd/recordings --label '^(\d)_\w+_[5-9]\.wav$' --generated 60 --plot digits.png`
}

func (c *calibrateCmd) Run(std *streams, ctx *ctxBox) error {
	if err := c.check(); err != nil {
		return usageError(err)
	}
	if c.Write != "" {
		if err := checkOut(c.Write); err != nil {
			return err
		}
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if c.Write != "" {
		return c.choose(ctx, std, m)
	}
	d, err := c.measure(ctx, std, m, c.Seed, c.Threads)
	if err != nil {
		return err
	}
	if err := c.classify(ctx, d, m, c.Seed, c.Threads); err != nil {
		return err
	}
	d.warn(std.err, 0)
	own := &d.Points[0]
	if err := c.plot(std, d, own, "the model's options", 0); err != nil {
		return err
	}
	if c.JSON {
		r := d.result()
		r.list(own)
		return r.write(std)
	}
	return d.text(std.out, "the model's options", own)
}

// choose chooses the operating point and writes the model with it.
func (c *calibrateCmd) choose(ctx *ctxBox, std *streams, m *model.Model) error {
	m.Meta.Detection = nil // the result does not depend on an earlier calibration
	d, err := c.measure(ctx, std, m, c.Seed, c.Threads)
	if err != nil {
		return err
	}
	own := d.point(&d.Points[0])
	best, ok := d.Best(c.FalseAlarms)
	if with, err := c.withOffsets(ctx, std, m, d); err != nil {
		return err
	} else if with != nil {
		p, fits := with.Best(c.FalseAlarms)
		if fits && (!ok || cmp.Or(p.Missed()-best.Missed(), p.FalseAlarms-best.FalseAlarms) < 0) {
			d, best, ok = with, p, true
		}
	}
	d.warn(std.err, c.FalseAlarms)
	if !ok {
		least := d.Curve()[0]
		rate, _, _ := least.FalseAlarmRate()
		return fmt.Errorf("no operating point has at most %g false alarms per hour: the lowest rate is %.3g, at threshold %g and confirm %d; add the background to the training data, or allow more with --false-alarms",
			c.FalseAlarms, rate, least.Options.Threshold, least.Options.Confirm)
	}
	if best.Correct == 0 {
		return fmt.Errorf("with at most %g false alarms per hour the model recognises none of the %d words: check that --words has the model's labels, or allow more with --false-alarms",
			c.FalseAlarms, best.Words)
	}
	if err := c.plot(std, d, &best, "operating point", c.FalseAlarms); err != nil {
		return err
	}
	m.Meta.Detection = best.Detection()
	if err := m.Save(c.Write); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.Write)
	if c.JSON {
		r, chosen := d.result(), d.point(&best)
		r.Model, r.Chosen, r.Out = own, &chosen, c.Write
		r.list(&best)
		return r.write(std)
	}
	return d.text(std.out, "operating point", &best)
}

// withOffsets measures a model a second time, with the offsets that d, its measurement without
// offsets, suggests. The result is nil if no label needs an offset.
func (c *calibrateCmd) withOffsets(ctx *ctxBox, std *streams, m *model.Model, d *detection) (*detection, error) {
	if d.Words == nil {
		return nil, nil
	}
	offsets, ok := d.Offsets(m, c.FalseAlarms)
	if !ok || !slices.ContainsFunc(offsets, func(v float64) bool { return v != 0 }) {
		return nil, nil
	}
	if std.errTTY {
		fmt.Fprintln(std.err, "measuring again with a threshold per label")
	}
	m.Meta.Detection = d.Points[0].Detection() // where the search starts, as in the first measurement
	m.Meta.Detection.Offsets = offsets
	return c.measure(ctx, std, m, c.Seed, c.Threads)
}

// plot draws the trade-off with a point, if --plot is given.
func (c *calibrateCmd) plot(std *streams, d *detection, p *calibration.Point, name string, limit float64) error {
	if c.Plot == "" {
		return nil
	}
	return c.Plot.curves(std, d.panel(p, name, limit))
}

// check returns an error for flags that cannot be used.
func (c *calibrateCmd) check() error {
	trades := c.Words != "" && (len(c.Background) > 0 || c.Generated > 0)
	switch {
	case c.Write != "" && !trades:
		return errors.New("--write requires --words, clips of the words, and --background or --generated, audio without the words")
	case c.Plot != "" && !trades:
		return errors.New("--plot requires --words, and --background or --generated")
	case !(c.FalseAlarms >= 0):
		return fmt.Errorf("--false-alarms %v: expected at least 0", c.FalseAlarms)
	case c.Write != "" && !strings.HasSuffix(c.Write, ".safetensors"):
		return fmt.Errorf("--write %s: expected a name that ends in .safetensors", c.Write)
	}
	return cmp.Or(checkThreads(c.Threads), c.validate())
}
