package main

import (
	"context"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/generate"
)

type dataCmd struct {
	Fetch      dataFetchCmd      `cmd:"" help:"List public data sets, and fetch one: its source, licence, hash and layout."`
	Listops    dataListOpsCmd    `cmd:"" help:"Generate ListOps: expressions over digits, in the layout of the Long Range Arena."`
	Pathfinder dataPathfinderCmd `cmd:"" help:"Generate Pathfinder or Path-X: images of dashed contours, in the layout of the Long Range Arena."`
	Series     dataSeriesCmd     `cmd:"" help:"Generate a time series: the hourly load of a power grid, with daily and weekly seasons, trend and noise."`
	Speak      dataSpeakCmd      `cmd:"" help:"Speak words with espeak-ng, to train word detectors without recordings."`
	Sentences  dataSentencesCmd  `cmd:"" help:"Speak sentences of a text with espeak-ng: speech without the words of a detector."`
	Noises     dataNoisesCmd     `cmd:"" help:"Generate noises and tones: background for a detector."`
}

type dataListOpsCmd struct {
	Dir  string `arg:"" help:"Output folder. Files written by an earlier run of the same command are overwritten; a folder with other ListOps data is an error." type:"path"`
	N    int    `help:"Number of training expressions." default:"96000" range:"1..1073741824"`
	Eval int    `help:"Number of validation expressions; the test split has the same size." default:"2000" range:"1..1073741824"`
}

func (c *dataListOpsCmd) Help() string {
	return `Examples:
  s4d-fast data listops data/listops --n 20000
  s4d-fast train listops --data data/listops`
}

func (c *dataListOpsCmd) Run(std *streams, ctx context.Context) error {
	return generate.ListOps(ctx, c.Dir, c.N, c.Eval, func(path string, n int) {
		fmt.Fprintf(std.err, "wrote %s: %d expressions\n", path, n)
	})
}

type dataPathfinderCmd struct {
	Dir  string `arg:"" help:"Output folder. Files written by an earlier run of the same command are overwritten; a folder with other images of this size is an error." type:"path"`
	N    int    `help:"Number of images." default:"200000" range:"1..1073741824"`
	Size int    `help:"Image width and height in pixels: 32 for task pathfinder, 128 for pathx128, 256 for pathx256." enum:"32,128,256" default:"32"`
}

func (c *dataPathfinderCmd) Help() string {
	return `Examples:
  s4d-fast data pathfinder data/pathfinder --n 20000
  s4d-fast train pathfinder --data data/pathfinder`
}

func (c *dataPathfinderCmd) Run(std *streams, ctx context.Context) error {
	return generate.Pathfinder(ctx, c.Dir, c.Size, c.N, func(path string, images int) {
		fmt.Fprintf(std.err, "wrote %s: %d images\n", path, images)
	})
}

type dataSeriesCmd struct {
	File      string `arg:"" help:"Output file (.csv). An existing file is overwritten." type:"path"`
	Anomalies int    `help:"Number of anomalies in the load. If there are any, the column anomaly is 1 in their hours." default:"0" range:"0..730"`
	Seed      uint64 `help:"Seed for the generated data." default:"1"`
}

func (c *dataSeriesCmd) Help() string {
	return `The series has two years of hours.

Examples:
  s4d-fast data series load.csv
  s4d-fast train series --data load.csv --time time --target load --horizon 24 --season 168`
}

func (c *dataSeriesCmd) Run(std *streams, ctx context.Context) error {
	if err := generate.Series(ctx, c.File, c.Anomalies, c.Seed); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d anomalies\n", c.File, c.Anomalies)
	return nil
}
