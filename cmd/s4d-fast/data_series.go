package main

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/generate"
)

type dataSeriesCmd struct {
	File      string `arg:"" help:"Output file (.csv). An existing file is overwritten." type:"path"`
	Anomalies int    `help:"Number of anomalies in the load. If there are any, the column anomaly is 1 in their hours." default:"0"`
	Seed      uint64 `help:"Seed for the generated data." default:"1"`
}

func (c *dataSeriesCmd) Help() string {
	return `The series has two years of hours.

Examples:
  s4d-fast data series load.csv
  s4d-fast train series --data load.csv --time time --target load --horizon 24 --season 168`
}

func (c *dataSeriesCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Anomalies < 0 || c.Anomalies > generate.MaxAnomalies {
		return usageError(fmt.Errorf("--anomalies %d: expected 0 to %d", c.Anomalies, generate.MaxAnomalies))
	}
	if err := generate.Series(ctx, c.File, c.Anomalies, c.Seed); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d anomalies\n", c.File, c.Anomalies)
	return nil
}
