package main

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/generate"
)

type dataSeriesCmd struct {
	Out       string `help:"Output file (.csv). An existing file is overwritten." required:"" type:"path" placeholder:"FILE"`
	Hours     int    `help:"Length of the series; the default is two years." default:"17520"`
	Anomalies int    `help:"Number of anomalies in the load. If there are any, the column anomaly is 1 in their hours." default:"0"`
	Seed      uint64 `help:"Seed for the generated data." default:"1"`
}

func (c *dataSeriesCmd) Help() string {
	return `Examples:
  s4d-fast data series --out load.csv
  s4d-fast train series --data load.csv --time time --target load --horizon 24 --season 168`
}

func (c *dataSeriesCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Hours > generate.MaxSeriesHours {
		return usageError(fmt.Errorf("--hours %d: expected at most %d", c.Hours, generate.MaxSeriesHours))
	}
	if c.Hours < 1 || c.Anomalies < 0 || c.Anomalies > c.Hours/24 {
		return usageError(fmt.Errorf("--hours %d, --anomalies %d: expected at least 1 hour and at most one anomaly per 24 hours", c.Hours, c.Anomalies))
	}
	if err := generate.Series(ctx, c.Out, c.Hours, c.Anomalies, c.Seed); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d hours, %d anomalies\n", c.Out, c.Hours, c.Anomalies)
	return nil
}
