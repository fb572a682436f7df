package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/rowlines"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
)

type rowsCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors) that train series or another task with channels wrote."`
	File   string    `arg:"" optional:"" default:"-" help:"File of rows, or - for standard input (the default)."`
	Format string    `help:"Format of the input: csv or jsonl (default: by the name and the first line of the file)." enum:",csv,jsonl" default:"" placeholder:"FORMAT"`
	Hop    int       `help:"Rows of a series between lines." default:"1" range:"1..16777216" placeholder:"N"`
	Window int       `help:"Number of rows that an output covers; 0: all so far." default:"0" range:"0..16777216" placeholder:"N"`
	dialectFlags
	ID      *string `name:"id" help:"Column that identifies the series of a row (default: the column of the training data, if the input has it; empty: all rows are one series)." placeholder:"COLUMN"`
	Missing string  `help:"Replacement of missing values: model (as in training) or previous (the value before)." enum:"model,previous" default:"model" placeholder:"HOW"`
}

// dialectFlags tell how a table is written.
type dialectFlags struct {
	Separator     string   `help:"Separator of the cells: a character, tab or space (default: by the first lines)." placeholder:"CHAR"`
	Decimal       string   `help:"Decimal point or comma (default: by the cells)." placeholder:"CHAR"`
	Comment       string   `help:"What lines that are comments begin with, or none (default: #)." placeholder:"TEXT"`
	MissingValues []string `help:"Further cells that are missing values, separated by commas, such as -9999 or -999.9." placeholder:"VALUE"`
}

func (c *rowsCmd) Help() string {
	return `Reads rows of CSV or JSON Lines and prints a JSON line for each: the class posterior, the forecast or the anomaly score. Columns
are found by their names (docs/stream.md).

Examples:
  s4d-fast rows runs/series/best.safetensors sensors.csv
  tail -n +1 -f sensors.csv | s4d-fast rows runs/series/best.safetensors`
}

// maxSeriesBytes bounds the memory of all series.
const maxSeriesBytes = 1 << 30

func (c *rowsCmd) Run(std *streams, ctx context.Context) error {
	c.Format = cmp.Or(c.Format, string(table.FormatOf(c.File))) // "": the first line decides
	in, name, err := openInput(ctx, std, c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if pool := m.Config.Pool; c.Window > 0 && pool != model.PoolMean {
		return usageError(fmt.Errorf("--window requires a classification or regression with mean pooling; the pool of %s is %q", c.Model, pool))
	}
	opt := series.Options{Window: c.Window}
	if c.Missing == model.MissingPrevious {
		opt.Missing = c.Missing
	}
	p, err := series.New(m, opt)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	bytes := untilStopped(ctx, in)
	defer bytes.Close()
	r, err := rowlines.New(ctx, m, p, bytes, rowlines.Options{
		Model: string(c.Model), ID: c.ID, Hop: c.Hop, Bytes: maxSeriesBytes,
		Table: table.Options{Name: name, Format: table.Format(c.Format), Separator: c.Separator, Decimal: c.Decimal, Comment: c.Comment, MissingValues: c.MissingValues},
	})
	if err != nil {
		return badInput(err)
	}
	emit := json.NewEncoder(std.out).Encode
	err = badInput(r.Run(ctx, emit, std.note))
	if err == nil && r.Rows() == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no rows after the header\n", printable(name, ""))
	}
	return cmp.Or(err, r.End(emit))
}
