// Package rowlines makes the lines of package report for the rows of a table: one for every row, or
// for every few rows of a series. The command and the service print them.
package rowlines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/series"
)

// maxSeries bounds the number of series, of which there is one per identifier.
const maxSeries = 1 << 16

// Options of a Reader.
type Options struct {
	Model string        // its name in the first line
	Table table.Options // New sets Columns and Others
	ID    *string       // column that identifies the series; nil: that of the training data, "": none
	Hop   int           // rows of a series between lines
	Bytes int           // memory of all series
}

// Reader makes lines of the rows of a table.
type Reader struct {
	predictor *series.Predictor
	model     *model.Model
	table     *table.Reader
	opt       Options
	inputs    []int // columns of the table, in the model's order
	id        int   // column; −1: none
	time      []int // those of table.Reader.TimeColumns

	series map[string]*rowSeries
	order  []*rowSeries // by first row
	row    []float64
	rows   int64
	times  report.Times
	noted  int  // notes of the table that Run has passed on
	begun  bool // the first line has been passed on
}

// rowSeries is a series with the line of its last row, or nil if that line has been returned.
type rowSeries struct {
	id     string
	time   string // of its last row
	stream *series.Stream
	last   *report.Row
}

// New reads an input up to its first row. If ctx ends before, the error is its cause.
func New(ctx context.Context, m *model.Model, p *series.Predictor, in io.Reader, opt Options) (*Reader, error) {
	if d := m.Meta.Series; d != nil {
		opt.Table.Columns = append(slices.Clone(d.Columns), d.Time, d.ID)
		if opt.ID != nil {
			opt.Table.Columns = append(opt.Table.Columns, *opt.ID)
		}
	} else {
		opt.Table.Others = true
	}
	t, err := table.New(in, opt.Table)
	switch {
	case ctx.Err() != nil && (err != nil || !t.Ended):
		return nil, context.Cause(ctx)
	case err == io.EOF:
		return nil, fmt.Errorf("%s: no rows", opt.Table.Name)
	case err != nil:
		return nil, err
	}
	r := &Reader{predictor: p, model: m, table: t, opt: opt, series: map[string]*rowSeries{}, row: make([]float64, m.Config.DInput)}
	if err := r.findColumns(); err != nil {
		return nil, t.Wrap(err)
	}
	return r, nil
}

// Run passes the first line to emit, and the line of each row when the row has arrived. note
// receives how the input is read, where that was not certain. Run ends with the input, or when ctx
// ends; then it drops a row that is not complete. Errors of rows name the line of the input.
func (r *Reader) Run(ctx context.Context, emit func(line any) error, note func(texts ...string) error) error {
	err := r.note(note)
	if err == nil {
		r.begun = true
		err = emit(r.start())
	}
	for err == nil {
		err = r.next()
		switch {
		case err == io.EOF, ctx.Err() != nil && !r.table.Ended:
			return nil
		case err != nil:
			return err
		}
		began := time.Now()
		err = r.process(emit)
		r.times.Add(time.Since(began))
		if err == nil {
			err = r.note(note)
		}
	}
	return err
}

// End passes the last line of each series to emit, unless Run has, and the end line. It does
// nothing if note rejected the input before the first line.
func (r *Reader) End(emit func(line any) error) error {
	if !r.begun {
		return nil
	}
	for _, s := range r.order {
		if s.last != nil {
			if err := emit(s.last); err != nil {
				return err
			}
		}
	}
	return emit(report.RowEnd{Type: "end", Rows: r.rows, Series: len(r.series), Seconds: r.times.Total().Seconds(), RowTime: r.times.Quantiles()})
}

// Rows returns the number of rows.
func (r *Reader) Rows() int64 { return r.rows }

func (r *Reader) start() report.RowStart {
	s := report.RowStart{
		Type: "start", Format: string(r.table.Format()), Model: r.opt.Model, Task: r.model.Meta.Task, Labels: r.model.Meta.Labels,
		Level: level.Current(), Emit: "rows", Mode: r.predictor.Mode(), Hop: r.opt.Hop,
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

// next reads a row. In a table with times, rows that are blank are passed over.
func (r *Reader) next() error {
	for {
		if err := r.table.Next(); err != nil || r.time == nil || !r.table.IsBlank() {
			return err
		}
	}
}

// note passes on the notes of the table since the last call.
func (r *Reader) note(note func(texts ...string) error) error {
	all := r.table.Notes()
	texts := all[min(r.noted, len(all)):] // one may have been settled
	r.noted = len(all)
	return note(texts...)
}

// process passes the current row to its series, and its line to emit if one is due.
func (r *Reader) process(emit func(line any) error) error {
	s, result, err := r.step()
	if err != nil {
		return r.table.Wrap(err)
	}
	r.rows++
	line := r.line(s, result)
	if s.stream.Rows()%int64(r.opt.Hop) == 0 {
		s.last = nil
		return emit(line)
	}
	for _, list := range []*[]float32{&line.Posterior, &line.Output} {
		*list = slices.Clone(*list)
	}
	s.last, line.Time = line, strings.Clone(line.Time)
	return nil
}

// findColumns finds the columns that the model reads. It finds them by name. If the input or the
// model has no names, they are all columns except the one that identifies the series, in their
// order.
func (r *Reader) findColumns() (err error) {
	described, all := cmp.Or(r.model.Meta.Series, &model.Series{}), r.table.Columns()
	for _, name := range r.table.TimeColumns(described.Time) {
		r.time = append(r.time, slices.Index(all, name))
	}
	if slices.Contains(r.time, -1) {
		r.time = nil
	}
	switch id := r.opt.ID; {
	case id == nil && described.ID != "":
		r.id = slices.Index(all, described.ID)
	case id == nil || *id == "":
		r.id = -1
	default:
		if r.id, err = r.table.Find(*id); err != nil {
			return err
		}
	}
	var missing error
	for _, name := range described.Columns {
		i, err := r.table.Find(name)
		missing = cmp.Or(missing, err)
		r.inputs = append(r.inputs, i)
	}
	if missing != nil && r.table.Named {
		return missing
	}
	if missing == nil && len(r.inputs) > 0 {
		return nil
	}
	r.inputs = nil
	for i := range all {
		if i != r.id {
			r.inputs = append(r.inputs, i)
		}
	}
	if n := r.model.Config.DInput; len(r.inputs) != n {
		expected := fmt.Sprintf("%d", n)
		if described.Columns != nil {
			expected += ", the model's " + suggest.List(described.Columns)
		}
		return fmt.Errorf("%d columns of numbers, expected %s", len(r.inputs), expected)
	}
	return nil
}

// step passes the current row to its series.
func (r *Reader) step() (*rowSeries, series.Result, error) {
	s, err := r.find()
	if err != nil {
		return nil, series.Result{}, err
	}
	for c, i := range r.inputs {
		v, err := r.table.Number(i)
		if err != nil {
			return nil, series.Result{}, err
		}
		r.noteSentinel(c, v)
		r.row[c] = v
	}
	result, err := s.stream.Step(r.row)
	if column := (*series.ColumnError)(nil); errors.As(err, &column) {
		err = r.table.ColumnError(r.inputs[column.Column], fmt.Errorf("%w; --missing previous replaces it", column.Err))
	}
	return s, result, err
}

// noteSentinel adds a note if a value may stand for a missing one: a usual one that is far from
// those of the training set.
func (r *Reader) noteSentinel(c int, v float64) {
	meta := &r.model.Meta
	if c >= len(meta.InputMean) || c >= len(meta.InputStd) {
		return
	}
	mean := float64(meta.InputMean[c])
	if meta.Series != nil {
		mean += meta.Series.Offset(c)
	}
	if math.Abs(v-mean) > 10*float64(meta.InputStd[c]) && table.IsSentinel(v) {
		r.table.Note(r.inputs[c], "values are %v, far from those of the training set; --missing-values=%[2]v says that they are missing", v)
	}
}

// find returns the series of the current row, which may be new.
func (r *Reader) find() (*rowSeries, error) {
	id := ""
	if r.id >= 0 {
		if id = r.table.Text(r.id); r.table.Missing(r.id) {
			return nil, r.table.ColumnError(r.id, errors.New("the row has no identifier of its series"))
		}
	}
	if s := r.series[id]; s != nil {
		return s, nil
	}
	if most := min(maxSeries, max(1, r.opt.Bytes/r.predictor.StreamBytes())); len(r.series) == most {
		return nil, r.table.ColumnError(r.id, fmt.Errorf("more than %d series", most))
	}
	s := &rowSeries{id: strings.Clone(id), stream: r.predictor.NewStream()} // not the text of the whole cell
	r.series[s.id], r.order = s, append(r.order, s)
	return s, nil
}

// line returns the line of the current row.
func (r *Reader) line(s *rowSeries, result series.Result) *report.Row {
	line := &report.Row{Type: "row", ID: s.id, Row: s.stream.Rows()}
	if r.time != nil {
		line.Time = r.table.Time(r.time)
		at := line.Time // with the year first, or a number; its minutes may go back when clocks are put back
		if n := min(len(at), len("2006-01-02 15")); n >= 8 && len(at) == len(s.time) && at[:n] < s.time[:n] && !strings.Contains(at, "M") && strings.Trim(at[:4]+s.time[:4], "0123456789") == "" {
			r.table.Note(r.time[0], "%.40q follows %.40q: rows are read in the order of the input; sort it by time", at, s.time)
		}
		s.time = strings.Clone(at)
	}
	switch r.predictor.Mode() {
	case model.SeriesClassification:
		line.Posterior = result.Output
		line.Label = r.model.Meta.Labels[model.ArgMax(result.Output)]
	case model.SeriesRegression:
		line.Output = result.Output
	case model.SeriesForecast:
		line.Forecast = report.Numbers(result.Forecast)
	case model.SeriesAnomaly:
		line.Forecast, line.Expected = report.Numbers(result.Forecast), report.Numbers(result.Expected)
		line.SetScores(result.Scores)
	}
	return line
}
