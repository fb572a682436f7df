package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/series"
)

// Bounds on the number and the memory of series, of which there is one per value of --id.
const (
	maxSeries      = 1 << 16
	maxSeriesBytes = 1 << 30
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
	MissingValues []string `help:"Further cells that are missing values, such as -9999." placeholder:"VALUE"`
}

func (c *rowsCmd) Help() string {
	return `Reads rows of CSV or JSON Lines and prints a JSON line for each: the class posterior, the forecast or the anomaly score. Columns
are found by their names (docs/stream.md).

Examples:
  s4d-fast rows runs/series/best.safetensors sensors.csv
  tail -n +1 -f sensors.csv | s4d-fast rows runs/series/best.safetensors`
}

// maxRows bounds --hop and --window.
const maxRows = 1 << 24

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
	var columns []string
	if m.Meta.Series != nil {
		columns = slices.Concat(m.Meta.Series.Columns, []string{m.Meta.Series.Time, m.Meta.Series.ID, or(c.ID, "")})
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
	c.Format = string(t.Format())
	r := &rowPrinter{
		std: std, predictor: p, model: m, table: t, hop: c.Hop, out: json.NewEncoder(std.out),
		series: map[string]*rowSeries{}, row: make([]float64, m.Config.DInput),
	}
	if err := r.findColumns(c.ID); err != nil {
		return badInput(t.Wrap(err))
	}
	if err := cmp.Or(r.note(), r.out.Encode(r.start(c))); err != nil {
		return err
	}
	err = r.run(ctx)
	if err == nil && r.rows == 0 && ctx.Err() == nil {
		fmt.Fprintf(std.err, "warning: %s: no rows after the header\n", printable(name, ""))
	}
	return cmp.Or(err, r.end())
}

// rowPrinter prints a line for every row, or for every hop rows of a series.
type rowPrinter struct {
	predictor *series.Predictor
	model     *model.Model
	table     *table.Reader
	inputs    []int // columns of the table, in the model's order
	id, time  int   // columns; −1: none
	clock     int   // the column of the time of day, if time has the date
	hop       int
	out       *json.Encoder
	std       *streams
	noted     int // notes of the table

	series map[string]*rowSeries
	order  []*rowSeries // by first row
	row    []float64
	rows   int64
	meter
}

// rowSeries is a series with the line of its last row, or nil if that line has been printed.
type rowSeries struct {
	id     string
	stream *series.Stream
	last   *report.Row
}

// findColumns finds the columns that the model reads. It finds them by name. If the input or the
// model has no names, they are all columns except the one that identifies the series, in their
// order.
func (r *rowPrinter) findColumns(id *string) error {
	r.id, r.time, r.clock = -1, -1, -1
	described := r.model.Meta.Series
	all := r.table.Columns()
	if described != nil && described.Time != "" {
		r.time = slices.Index(all, described.Time)
		if date, clock, two := strings.Cut(described.Time, ","); two && r.time < 0 {
			r.time, r.clock = slices.Index(all, date), slices.Index(all, clock)
		}
	}
	if described != nil && described.ID != "" {
		r.id = slices.Index(all, described.ID)
	}
	if id != nil {
		if r.id = -1; *id != "" {
			var err error
			if r.id, err = r.table.Find(*id); err != nil {
				return err
			}
		}
	}
	if described != nil {
		var missing error
		for _, name := range described.Columns {
			i, err := r.table.Find(name)
			missing = cmp.Or(missing, err)
			r.inputs = append(r.inputs, i)
		}
		if missing == nil || r.table.Named() {
			return missing
		}
		r.inputs = nil
	}
	for i := range all {
		if i != r.id {
			r.inputs = append(r.inputs, i)
		}
	}
	if n := r.model.Config.DInput; len(r.inputs) != n {
		expected := fmt.Sprintf("%d", n)
		if described != nil {
			expected += ", the model's " + suggest.List(described.Columns)
		}
		return fmt.Errorf("%d columns of numbers, expected %s", len(r.inputs), expected)
	}
	return nil
}

func (r *rowPrinter) start(c *rowsCmd) report.RowStart {
	s := report.RowStart{
		Type: "start", Format: c.Format, Model: string(c.Model), Task: r.model.Meta.Task, Labels: r.model.Meta.Labels,
		Level: string(vek.CurrentLevel()), Emit: "rows", Mode: r.predictor.Mode(), Hop: r.hop,
	}
	for _, i := range r.inputs {
		s.Columns = append(s.Columns, r.table.Columns()[i])
	}
	if d := r.model.Meta.Series; d != nil {
		s.Targets, s.Horizon = d.Targets, d.Horizon
	}
	if r.id >= 0 {
		s.ID = r.table.Columns()[r.id]
	}
	return s
}

// run processes the rows to the end of the input. After a signal a row whose line is incomplete is
// dropped.
func (r *rowPrinter) run(ctx context.Context) error {
	for {
		err := r.table.Next()
		switch {
		case errors.Is(err, io.EOF), !r.table.Ended() && ctx.Err() != nil:
			return nil
		case err != nil:
			return badInput(err)
		case r.time >= 0 && r.table.IsBlank():
			continue
		}
		if err := cmp.Or(r.measure(r.process), r.note()); err != nil {
			return err
		}
	}
}

// process passes a row to its series.
func (r *rowPrinter) process() error {
	s, result, err := r.step()
	if err != nil {
		return badInput(r.table.Wrap(err))
	}
	r.rows++
	line := r.line(s, result)
	if s.stream.Rows()%int64(r.hop) == 0 {
		s.last = nil
		return r.out.Encode(line)
	}
	for _, list := range []*[]float32{&line.Posterior, &line.Output} {
		*list = slices.Clone(*list)
	}
	s.last, line.Time = line, strings.Clone(line.Time)
	return nil
}

// step passes the current row to its series.
func (r *rowPrinter) step() (*rowSeries, series.Result, error) {
	s, err := r.find()
	if err != nil {
		return nil, series.Result{}, err
	}
	for c, i := range r.inputs {
		v, err := r.table.Number(i)
		if err != nil {
			return nil, series.Result{}, err
		}
		r.row[c] = v
	}
	result, err := s.stream.Step(r.row)
	if column := (*series.ColumnError)(nil); errors.As(err, &column) {
		err = r.table.ColumnError(r.inputs[column.Column], fmt.Errorf("%w; --missing previous replaces it", column.Err))
	}
	return s, result, err
}

// note prints what was decided about the input since the last call.
func (r *rowPrinter) note() error {
	all := r.table.Notes()
	notes := all[min(r.noted, len(all)):] // one may have been settled
	r.noted = len(all)
	return r.std.note(notes...)
}

// find returns the series of the current row, which may be new.
func (r *rowPrinter) find() (*rowSeries, error) {
	id := ""
	if r.id >= 0 {
		if id = r.table.Text(r.id); r.table.Missing(r.id) {
			return nil, r.table.ColumnError(r.id, errors.New("the row has no identifier of its series"))
		}
	}
	if s := r.series[id]; s != nil {
		return s, nil
	}
	if most := min(maxSeries, max(1, maxSeriesBytes/r.predictor.StreamBytes())); len(r.series) == most {
		return nil, r.table.ColumnError(r.id, fmt.Errorf("more than %d series", most))
	}
	s := &rowSeries{id: strings.Clone(id), stream: r.predictor.NewStream()} // not the text of the whole cell
	r.series[s.id], r.order = s, append(r.order, s)
	return s, nil
}

// line returns the line of the current row.
func (r *rowPrinter) line(s *rowSeries, result series.Result) *report.Row {
	line := &report.Row{Type: "row", ID: s.id, Row: s.stream.Rows()}
	if r.time >= 0 {
		line.Time = r.table.Text(r.time)
		if r.clock >= 0 {
			line.Time += " " + r.table.Text(r.clock)
		}
	}
	switch r.predictor.Mode() {
	case model.SeriesClassification:
		line.Posterior = result.Output
		line.Label = r.model.Meta.Labels[model.ArgMax(result.Output)]
	case model.SeriesRegression:
		line.Output = result.Output
	case model.SeriesForecast:
		line.Forecast = forecasts(result.Forecast)
	case model.SeriesAnomaly:
		line.Forecast, line.Expected = forecasts(result.Forecast), forecasts(result.Expected)
		line.SetScores(result.Scores)
	}
	return line
}

func forecasts(values []float64) (numbers []report.Number) {
	for _, v := range values {
		numbers = append(numbers, report.Number(v))
	}
	return numbers
}

// end prints the last row of every series, unless it has been printed, and the end line.
func (r *rowPrinter) end() error {
	for _, s := range r.order {
		if s.last == nil {
			continue
		}
		if err := r.out.Encode(s.last); err != nil {
			return err
		}
	}
	return r.out.Encode(report.RowEnd{
		Type: "end", Rows: r.rows, Series: len(r.series), Seconds: r.busy.Seconds(), RowTime: r.times.Quantiles(),
	})
}
