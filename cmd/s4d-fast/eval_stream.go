package main

import "errors"

// stream measures missed words and false alarms, as calibrate does, and writes no model.
func (c *evalCmd) stream(std *streams, ctx *ctxBox) error {
	if err := checkThreads(c.Threads); err != nil {
		return usageError(err)
	}
	if err := c.validate(); err != nil {
		return usageError(err)
	}
	if c.Plot != "" && (c.Words == "" || len(c.Background) == 0 && c.Generated == 0) {
		return usageError(errors.New("--plot requires --words, and --background or --generated"))
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	d, err := c.measure(ctx, std, m, or(c.Seed, 1), c.Threads)
	if err != nil {
		return err
	}
	if err := c.classify(ctx, d, m, or(c.Seed, 1), c.Threads); err != nil {
		return err
	}
	d.warn(std.err, 0)
	if c.Plot != "" {
		if err := c.Plot.curves(std, d.panel(&d.Points[0], "the model's options", 0)); err != nil {
			return err
		}
	}
	if c.JSON {
		r := d.result()
		r.list(&d.Points[0])
		return r.write(std)
	}
	return d.text(std.out, "the model's options", &d.Points[0])
}
