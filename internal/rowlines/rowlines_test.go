package rowlines

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
)

// persistence returns a model of the columns x and y that forecasts the present value of x.
func persistence(t *testing.T) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 1, 2, 1
	c.Norm, c.Mixing, c.Pool = model.NormNone, model.MixingNone, model.PoolNone
	m := must.Get(model.New(c, 1))(t)
	m.Weights.Zero()
	m.Weights.EncoderWeight[0], m.Weights.EncoderWeight[3], m.Weights.DecoderWeight[0] = 1, 1, 1
	m.Meta = model.Meta{
		InputMean: []float32{0, 0}, InputStd: []float32{1, 1},
		Series: &model.Series{Mode: model.SeriesForecast, Columns: []string{"x", "y"}, Targets: []string{"x"}, Horizon: 1, Time: "date,hour", ID: "id"},
	}
	return m
}

// read returns the lines of an input, without the measured times, and its notes.
func read(ctx context.Context, t *testing.T, input string, opt Options) (lines, notes []string, err error) {
	t.Helper()
	m := persistence(t)
	opt.Model, opt.Table.Name, opt.Hop = "m", "in", max(opt.Hop, 1)
	opt.Bytes = max(opt.Bytes, 1<<20)
	r, err := New(ctx, m, must.Get(series.New(m, series.Options{}))(t), strings.NewReader(input), opt)
	if err != nil {
		return nil, nil, err
	}
	emit := func(line any) error {
		text, _, _ := strings.Cut(string(must.Get(json.Marshal(line))(t)), `,"seconds"`)
		lines = append(lines, text)
		return nil
	}
	err = r.Run(ctx, emit, func(texts ...string) error { notes = append(notes, texts...); return nil })
	must.Do(t, r.End(emit))
	return lines[1:], notes, err
}

// Columns are found by name. A series has a line for every few rows, and one for its last row.
func TestLines(t *testing.T) {
	const input = "y;id;date;hour;x\n1;a;1.2.2026;23:00;2,5\n;;;;\n1;b;1.2.2026;23:00;3\n1;a;2.2.2026;00:00;4\n"
	const a1, b1, a2 = `{"type":"row","row":1,"id":"a","time":"1.2.2026 23:00","forecast":[2.5]}`,
		`{"type":"row","row":1,"id":"b","time":"1.2.2026 23:00","forecast":[3]}`, `{"type":"row","row":2,"id":"a","time":"2.2.2026 00:00","forecast":[4]}`
	end := func(series string) string { return `{"type":"end","rows":3,"series":` + series }
	for _, c := range []struct {
		opt  Options
		want []string
	}{
		{Options{}, []string{a1, b1, a2, end("2")}},
		{Options{Hop: 2}, []string{a2, b1, end("2")}},
		{Options{Hop: 2, ID: new(string)}, []string{
			`{"type":"row","row":2,"time":"1.2.2026 23:00","forecast":[3]}`, `{"type":"row","row":3,"time":"2.2.2026 00:00","forecast":[4]}`, end("1"),
		}},
	} {
		got, notes, err := read(t.Context(), t, input, c.opt)
		must.Do(t, err)
		must.Equal(t, strings.Join(got, "\n"), strings.Join(c.want, "\n"), "lines")
		must.Equal(t, len(notes) == 1 && strings.Contains(notes[0], "decimal comma"), true, "notes %q", notes)
	}
}

// The lines before an invalid row are passed on. The error names the row.
func TestInvalidRows(t *testing.T) {
	const missing = `in:3: column "y": the value is missing, expected a number as in training; --missing previous replaces it`
	id := "name"
	for _, c := range []struct {
		input, want string
		opt         Options
		lines       int
	}{
		{"", "in: no rows", Options{}, 0},
		{"x,why\n1,2\n", `in:1: no column "y"; the columns are ["x" "why"]`, Options{}, 0},
		{"x,y\n1,2\n", `in:1: no column "name"`, Options{ID: &id}, 0},
		{"1,2,3\n", `in:1: 3 columns of numbers, expected 2, the model's ["x" "y"]`, Options{}, 0},
		{"x,y\n1,2\n3,high\n", `in:3: column "y": "high" is not a number`, Options{}, 2},
		{"x,y\n1,2\n3,\n", missing, Options{}, 2},
		{"x,y,name\n1,2,\n", `in:2: column "name": the row has no identifier of its series`, Options{ID: &id}, 1},
	} {
		lines, _, err := read(t.Context(), t, c.input, c.opt)
		must.Fail(t, err, c.want)
		must.Equal(t, len(lines), c.lines, "lines of %q", c.input)
	}
	_, notes, err := read(t.Context(), t, "x,y\n1,-9999\n", Options{})
	must.Do(t, err)
	must.Equal(t, strings.Join(notes, ""), `in: column "y": values are -9999, far from those of the training set; --missing-values=-9999 says that they are missing`, "notes")
	_, notes, err = read(t.Context(), t, "x,y,date,hour\n1,2,2023-10-29,02:45\n1,2,2023-10-29,02:00\n1,2,2024-01-01,12 AM\n1,2,2024-01-01,01 AM\n1,2,2024-01-02,00\n1,2,2024-01-03,00\n1,2,2024-01-02,01\n1,2,2024-01-02,00\n", Options{})
	must.Do(t, err)
	must.Equal(t, strings.Join(notes, ""), `in: column "date": "2024-01-02 01" follows "2024-01-03 00": rows are read in the order of the input; sort it by time`, "notes")
	_, _, err = read(t.Context(), t, "x,y\n1,n/v\n", Options{Table: table.Options{MissingValues: []string{"n/v"}}})
	must.Fail(t, err, "the value is missing")
}

// After the end of a context, an incomplete row is dropped, and an incomplete header is an error.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, _, err := read(ctx, t, "x,", Options{})
	must.Equal(t, err, stopped, "error")
	lines, _, err := read(ctx, t, "x,y\n1,2\n3,", Options{})
	must.Do(t, err)
	must.Equal(t, len(lines), 2, "lines")
}
