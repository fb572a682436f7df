package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/series"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rowsModel saves a model of the columns temp and load, with random weights, and returns its path.
func rowsModel(t *testing.T, mode string, change func(*model.Model)) (string, *model.Model) {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 1, 8, 1
	c.SSM = ssm.Config{DState: 8, Init: ssm.DFouT, Disc: ssm.ZOH, AReal: 0.5, XiMin: 1e-3, XiMax: 0.1}
	meta := model.Meta{
		Task: "series", InputMean: []float32{20, 300}, InputStd: []float32{5, 90},
		Series: &model.Series{Mode: mode, Columns: []string{"temp", "load"}, Targets: []string{"temp"}, Time: "time", ID: "room"},
	}
	switch mode {
	case model.SeriesClassification:
		c.DOutput, meta.Labels, meta.Series.Targets = 2, []string{"empty", "used"}, nil
	case model.SeriesForecast, model.SeriesAnomaly:
		c.Pool = model.PoolNone
		meta.Series.Horizon, meta.Series.Residual = 3, []float32{2}
	}
	m := must.Get(model.New(c, 1))(t)
	m.Meta = meta
	if change != nil {
		change(m)
	}
	path := filepath.Join(t.TempDir(), "rows.safetensors")
	must.Do(t, m.Save(path))
	return path, m
}

// roomRows returns rows of temp and load.
func roomRows(n int) [][]float32 {
	r := random.New(1, random.Signal, 0, 0)
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = []float32{20 + 5*float32(r.Normal(uint64(2*i))), 300 + 90*float32(r.Normal(uint64(2*i+1)))}
	}
	return rows
}

// rowLines checks every line of an output against the schema and returns its parts.
func rowLines(t *testing.T, stdout string) (start report.RowStart, rows []report.Row, end report.RowEnd) {
	t.Helper()
	all := reporttest.Lines(t, stdout)
	decode(t, all[0], &start)
	decode(t, all[len(all)-1], &end)
	equal(t, "types of the first and the last line", start.Type+" "+end.Type, "start end")
	for _, line := range all[1 : len(all)-1] {
		var r report.Row
		decode(t, line, &r)
		equal(t, "type", r.Type, "row")
		rows = append(rows, r)
	}
	return start, rows, end
}

// stream runs the command on an input and returns its lines.
func streamRows(t *testing.T, input string, args ...string) (report.RowStart, []report.Row, report.RowEnd) {
	t.Helper()
	code, stdout, stderr := invoke(strings.NewReader(input), append([]string{"rows"}, args...)...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return rowLines(t, stdout)
}

// Every mode gives for every row, from CSV and from JSON Lines with columns in any order, what
// package series gives.
func TestRows(t *testing.T) {
	rows := roomRows(20)
	forms := map[string]string{"csv": "load;time;temp;spare\n", "jsonl": ""}
	for i, row := range rows {
		forms["csv"] += fmt.Sprintf("%v;12:%02d;%v;x\n", row[1], i, row[0])
		forms["jsonl"] += fmt.Sprintf(`{"spare":{"unit":["K"]},"load":%v,"temp":"%v","time":"12:%02d"}`+"\n", row[1], row[0], i)
	}
	for _, mode := range model.SeriesModes() {
		path, m := rowsModel(t, mode, nil)
		s := must.Get(series.New(m, series.Options{}))(t).NewStream()
		var want []report.Row
		for i, row := range rows {
			r := must.Get(s.Step([]float64{printed(row[0]), printed(row[1])}))(t)
			line := report.Row{Type: "row", Row: int64(i + 1), Time: fmt.Sprintf("12:%02d", i)}
			output := slices.Clone(r.Output)
			switch mode {
			case model.SeriesClassification:
				line.Posterior, line.Label = output, m.Meta.Labels[model.ArgMax(output)]
			case model.SeriesRegression:
				line.Output = output
			default:
				line.Forecast = asPrinted(r.Forecast)
			}
			if line.Expected = asPrinted(r.Expected); line.Expected != nil {
				line.SetScores(r.Scores)
			}
			want = append(want, line)
		}
		for format, text := range forms {
			start, got, end := streamRows(t, text, path, "--format", format)
			compareRows(t, mode+" "+format, got, want)
			equal(t, "columns", fmt.Sprint(start.Columns), "[temp load]")
			equal(t, "mode", start.Mode, mode)
			equal(t, "rows", end.Rows, 20)
			equal(t, "series", end.Series, 1)
		}
	}
}

// asPrinted returns forecasts as the command prints them: the shortest text of each float32.
func asPrinted(list []float64) (numbers []report.Number) {
	for _, v := range list {
		numbers = append(numbers, report.Number(printed(float32(v))))
	}
	return numbers
}

// printed returns the number that the shortest text of a float32 is.
func printed(v float32) float64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n
}

func compareRows(t *testing.T, name string, got, want []report.Row) {
	t.Helper()
	text := func(rows []report.Row) (lines []string) {
		for _, r := range rows {
			score := math.NaN()
			if r.Score != nil {
				score = float64(*r.Score)
			}
			r.Score, r.Scores = nil, nil
			lines = append(lines, fmt.Sprintf("%+v %v", r, score))
		}
		return lines
	}
	if a, b := text(got), text(want); !slices.Equal(a, b) {
		t.Errorf("%s: rows\n%s\nexpected\n%s", name, strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// An invalid row is an error. The rows before it are printed, and the end line.
func TestBadRows(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesForecast, nil)
	checkRun(t, strings.NewReader("temp,load,name\n1,2,\n"), []string{"rows", path, "--id", "name"}, exitBadInput, `:2: column "name": the row has no identifier of its series`)
	checkRun(t, strings.NewReader("{\"temp\":1,\"load\":2}\n{\"temp\":1,\"load\":2,\"room\":\"a\"}\n"), []string{"rows", path}, exitBadInput,
		`standard input:2: the first object has no key "room"; expected all columns in the first object`)
	small, _ := rowsModel(t, model.SeriesForecast, func(m *model.Model) { m.Meta.InputStd[0] = 1e-4 })
	checkRun(t, strings.NewReader("temp,load\n20,300\n3e38,300\n"), []string{"rows", small}, exitBadInput,
		"standard input:3: series: after row 2: output 1 of the network is NaN, expected a finite number")
	code, stdout, _ := invoke(strings.NewReader("temp,load\n1,2\n3,x\n"), "rows", path)
	equal(t, "exit code", code, exitBadInput)
	if _, rows, end := rowLines(t, stdout); len(rows) != 1 || end.Rows != 1 {
		t.Errorf("%d row lines, the end line counts %d; expected 1", len(rows), end.Rows)
	}
}

// Audio and rows do not take each other's models.
func TestRowsOrAudio(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesForecast, nil)
	checkRun(t, nil, []string{"stream", path, clip(t, 8000, 100)}, exitBadInput, `the network reads rows with the columns ["temp" "load"], not audio; use s4d-fast rows`)
	checkRun(t, strings.NewReader("1\n"), []string{"rows", digitsModel(t)}, exitBadInput, "the network reads audio at 8000 Hz, expected one that reads rows")
	checkRun(t, nil, []string{"rows", path, "--hop", "0"}, exitUsage, "--hop 0: expected 1 to 16777216")
	checkRun(t, nil, []string{"rows", path, "--window=-1"}, exitUsage, "--window -1: expected 0 to 16777216")
	checkRun(t, strings.NewReader("1,2\n"), []string{"rows", path, "--window", "64"}, exitUsage, "--window requires a classification or regression")
}

// A row is printed as soon as its line has arrived. A signal ends the input; a line that is not
// complete is dropped.
func TestRowsInterrupted(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesForecast, nil)
	for _, c := range []struct {
		sent       string
		code, rows int
	}{
		{"temp,lo", 128 + int(syscall.SIGINT), 0},
		{"temp,load\n", exitOK, 0},
		{"temp,load\n20,300\n", exitOK, 1},
		{"temp,load\n20,300\n21,30", exitOK, 1},
		{"temp,load\n20,300\n21,", exitOK, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			in, source := io.Pipe()
			defer source.Close()
			var stdout, stderr bytes.Buffer
			done := make(chan int, 1)
			go func() {
				done <- run(ctx, []string{"rows", path}, streams{in: in, out: &stdout, err: &stderr})
			}()
			must.Get(source.Write([]byte(c.sent)))(t)
			synctest.Wait() // it waits for more
			equal(t, fmt.Sprintf("%q: rows before the signal", c.sent), strings.Count(stdout.String(), `"type":"row"`), c.rows)
			cancel(program.Signal(syscall.SIGINT))
			equal(t, fmt.Sprintf("%q: exit code", c.sent), <-done, c.code)
			if c.code != exitOK {
				equal(t, "output", stdout.String(), "")
				return
			}
			if _, _, end := rowLines(t, stdout.String()); end.Rows != int64(c.rows) {
				t.Errorf("%q: the end line counts %d rows, expected %d", c.sent, end.Rows, c.rows)
			}
		})
	}
}

// A note says how an input that can be read in two ways was read. With --strict it is an error
// before the first line of output.
func TestRowsNotes(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesForecast, nil)
	for text, note := range map[string]string{
		"temp,load\n20,300\n":              "",
		"temp load\n20 300\n":              `note: standard input: the cells are separated by " ", not by ","; --separator changes it`,
		"[{\"temp\":20,\n\"load\":300}]\n": "",
	} {
		code, stdout, stderr := invoke(strings.NewReader(text), "rows", path)
		equal(t, "exit code for "+text, code, exitOK)
		_, rows, _ := rowLines(t, stdout)
		equal(t, "rows of "+text, len(rows), 1)
		equal(t, "notes on "+text, strings.TrimSpace(stderr), note)
		code, stdout, stderr = invoke(strings.NewReader(text), "rows", path, "--strict")
		equal(t, "a start line with --strict", stdout == "", note != "")
		equal(t, "exit code with --strict: "+stderr, code, map[bool]int{true: exitOK, false: exitBadInput}[note == ""])
	}
	streamRows(t, "temp:load\n20,5:n/v\n", path, "--separator", ":", "--decimal", ",", "--missing-values", "n/v", "--missing", "previous")
}
