package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/s4d-fast/s4d-fast/internal/rowlines"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/series"
)

type rowsCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors) that train series or another task with channels wrote."`
	File   string    `arg:"" optional:"" default:"-" help:"File of rows, or - for standard input (the default)."`
	Format string    `help:"Format of the input: csv or jsonl (default: by the name and the first line of the file)." enum:",csv,jsonl" default:"" placeholder:"FORMAT"`
	Hop    int       `help:"Rows of a series between lines." default:"1" placeholder:"N"`
	Window int       `help:"Number of rows that an output covers; 0: all so far." default:"0" placeholder:"N"`
	dialectFlags
	ID      *string `name:"id" help:"Column that identifies the series of a row (default: that of the training data, if the input has it; empty: all rows are one series)." placeholder:"COLUMN"`
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

// maxRows bounds --hop and --window, and maxSeriesBytes the memory of all series.
const (
	maxRows        = 1 << 24
	maxSeriesBytes = 1 << 30
)

func (c *rowsCmd) Run(std *streams, ctx *ctxBox) error {
	switch {
	case c.Hop < 1 || c.Hop > maxRows:
		return usageError(fmt.Errorf("--hop %d: expected 1 to %d rows", c.Hop, maxRows))
	case c.Window < 0 || c.Window > maxRows:
		return usageError(fmt.Errorf("--window %d: expected 0 to %d rows", c.Window, maxRows))
	}
	if c.Format == "" {
		c.Format = string(table.FormatOf(c.File)) // "": the first line decides
	}
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
	columns := rowlines.Columns(m)
	if columns != nil {
		columns = append(columns, or(c.ID, ""))
	}
	t, err := table.New(bytes, table.Options{Name: name, Format: table.Format(c.Format), Separator: c.Separator, Decimal: c.Decimal, Comment: c.Comment, MissingValues: c.MissingValues, Columns: columns, Others: columns == nil})
	switch {
	case ctx.Err() != nil && (err != nil || !t.Ended()):
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return badInput(fmt.Errorf("%s: no rows", name))
	case err != nil:
		return badInput(err)
	}
	lines, err := rowlines.New(m, p, t, c.ID, c.Hop, maxSeriesBytes)
	if err != nil {
		return badInput(err)
	}
	r := &rowPrinter{Reader: lines, table: t, std: std, out: json.NewEncoder(std.out)}
	if err := r.note(); err != nil {
		return err
	}
	if err := r.out.Encode(r.Start(string(c.Model))); err != nil {
		return err
	}
	err = r.run(ctx)
	if rows, _ := r.Counts(); err == nil && rows == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no rows after the header\n", printable(name, ""))
	}
	return cmp.Or(err, r.end())
}

// rowPrinter prints the lines of rows.
type rowPrinter struct {
	*rowlines.Reader
	table *table.Reader
	out   *json.Encoder
	std   *streams
	noted int // notes of the table
	meter
}

// run processes the rows to the end of the input. After a signal a row whose line is incomplete is
// dropped.
func (r *rowPrinter) run(ctx context.Context) error {
	for {
		err := r.Next()
		switch {
		case errors.Is(err, io.EOF), !r.table.Ended() && ctx.Err() != nil:
			return nil
		case err != nil:
			return badInput(err)
		}
		if err := cmp.Or(r.measure(r.process), r.note()); err != nil {
			return err
		}
	}
}

// process passes a row to its series.
func (r *rowPrinter) process() error {
	line, err := r.Line()
	if err != nil {
		return badInput(err)
	}
	if line != nil {
		return r.out.Encode(line)
	}
	return nil
}

// note prints what was decided about the input since the last call.
func (r *rowPrinter) note() error {
	all := r.table.Notes()
	notes := all[min(r.noted, len(all)):] // one may have been settled
	r.noted = len(all)
	return r.std.note(notes...)
}

// end prints the last row of every series, unless it has been printed, and the end line.
func (r *rowPrinter) end() error {
	for _, line := range r.Rest() {
		if err := r.out.Encode(line); err != nil {
			return err
		}
	}
	rows, series := r.Counts()
	return r.out.Encode(report.RowEnd{Type: "end", Rows: rows, Series: series, Seconds: r.busy.Seconds(), RowTime: r.times.Quantiles()})
}
