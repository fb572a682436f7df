package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

type calibrateCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	FalseAlarms float64   `help:"Largest number of false alarms per hour at the operating point." default:"1" placeholder:"N"`
	Out         string    `help:"Model file to write (default: NAME-calibrated.safetensors beside the model). It may be the model itself." type:"path" placeholder:"FILE"`
	Seed        uint64    `help:"Seed of the order of the words, the gaps and the noise." default:"1" placeholder:"N"`
	Threads     int       `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`

	detectionFlags
}

func (c *calibrateCmd) Help() string {
	return `Measures, at many thresholds and numbers of confirmations, how many words the model misses and how many false alarms it
gives. Chooses the operating point that misses the fewest words with at most --false-alarms per hour, and writes a copy
of the model that stores the point. stream and package events then use it by default. A model with a filter bank is
measured twice: the second time, each label has a threshold of its own. The command ignores the operating point that the
model already stores. docs/calibrate.md explains the measurement.

Use clips and background that the model was not trained on. At least 3/N hours of background are needed to show that
there are fewer than N false alarms per hour.

Examples:
  s4d-fast calibrate best.safetensors --words words/ --background street/ --background talk.wav --out my.safetensors
  s4d-fast calibrate digits --words fsdd/recordings --label '^(\d)_\w+_[5-9]\.wav$' --generated 60 --plot digits.png`
}

func (c *calibrateCmd) Run(std *streams, ctx *ctxBox) error {
	if err := c.check(); err != nil {
		return usageError(err)
	}
	if err := checkOut(c.out()); err != nil {
		return err
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
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
	if c.Plot != "" {
		if err := c.Plot.curves(std, d.panel(&best, "operating point", c.FalseAlarms)); err != nil {
			return err
		}
	}
	m.Meta.Detection = best.Detection()
	if err := m.Save(c.out()); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.out())
	if c.JSON {
		r, chosen := d.result(), d.point(&best)
		r.Model, r.Chosen, r.Out = own, &chosen, c.out()
		r.list(&best)
		return r.write(std)
	}
	return d.text(std.out, "operating point", &best)
}

// withOffsets measures a model that labels every frame a second time, with the offsets that d, its
// measurement without offsets, suggests. The result is nil if no label needs an offset.
func (c *calibrateCmd) withOffsets(ctx *ctxBox, std *streams, m *model.Model, d *detection) (*detection, error) {
	if m.Meta.Filterbank == nil || d.Words == nil {
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

// check returns an error for flags that cannot be used.
func (c *calibrateCmd) check() error {
	switch {
	case c.Words == "":
		return errors.New("calibrate requires --words, clips of the words")
	case len(c.Background) == 0 && c.Generated == 0:
		return errors.New("calibrate requires --background, audio without the words, or --generated")
	case !(c.FalseAlarms >= 0):
		return fmt.Errorf("--false-alarms %v: expected at least 0", c.FalseAlarms)
	case c.Out != "" && !strings.HasSuffix(c.Out, ".safetensors"):
		return fmt.Errorf("--out %s: expected a name that ends in .safetensors", c.Out)
	}
	return cmp.Or(checkThreads(c.Threads), c.validate())
}

// out returns the name of the file to write.
func (c *calibrateCmd) out() string {
	if c.Out != "" {
		return c.Out
	}
	name := string(c.Model)
	if pretrained.Has(name) {
		return name + "-calibrated.safetensors"
	}
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-calibrated.safetensors"
}
