package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
)

// A table trains a forecast, which eval compares with naive ones, and which stream continues row by
// row.
func TestTrainSeries(t *testing.T) {
	dir := t.TempDir()
	table, run := filepath.Join(dir, "load.csv"), filepath.Join(dir, "run")
	ok(t, "data", "series", table)
	hours := strings.SplitAfter(string(must.Get(os.ReadFile(table))(t)), "\n")
	must.Do(t, os.WriteFile(table, []byte(strings.Join(hours[:1501], "")), 0o600))
	args := append([]string{"train", "series", "--data", table, "--time", "time", "--target", "load", "--mode", "anomaly", "--horizon", "3", "--season", "24", "--out", run}, small...)
	contains(t, "output of train", ok(t, args...), "Best epoch", "R²", "Forecasts of the validation set:", "load, 3 rows ahead, 150 values", "last value", "value one season (24 rows) ago", "best.safetensors", "Plot: ")
	picture := must.Get(png.DecodeConfig(bytes.NewReader(read(t, filepath.Join(run, "series.png")))))(t)
	must.Equal(t, 2*picture.Height > picture.Width, true, "a panel of rows and one of scores in %dx%d", picture.Width, picture.Height)
	file := filepath.Join(run, "best.safetensors")
	s := must.Get(model.Load(file))(t).Meta.Series
	if s == nil || s.Mode != model.SeriesAnomaly || strings.Join(s.Columns, " ") != "temperature load" || s.Horizon != 3 || s.Window != 256 || len(s.Residual) != 1 || s.Residual[0] <= 0 {
		t.Fatalf("description of the rows: %+v", s)
	}

	contains(t, "output of eval", ok(t, "eval", file, "--data", table), "load, 3 rows ahead, 150 values", "last value")
	predictions := filepath.Join(dir, "predictions.jsonl")
	var e evaluation
	must.Do(t, json.Unmarshal([]byte(ok(t, "eval", file, "--data", table, "--split", "all", "--json", "--predictions", predictions)), &e))
	if len(e.Forecasts) != 1 || e.R2 == nil || e.Forecasts[0].SeasonAgo == nil || e.Forecasts[0].N < 1000 || math.Abs(e.Forecasts[0].Network.RMSE-*e.RMSE) > 0.2**e.RMSE {
		t.Errorf("evaluation %+v", e)
	}
	contains(t, "predictions", string(read(t, predictions)), `"target":[null,null`)

	in := must.Get(os.Open(table))(t)
	defer in.Close()
	code, stdout, stderr := invoke(in, "rows", file)
	must.Equal(t, code, exitOK, "exit code of stream; %s", stderr)
	scored := 0
	lines := bufio.NewScanner(strings.NewReader(stdout))
	for lines.Scan() {
		var row struct{ Score *float64 }
		must.Do(t, json.Unmarshal(lines.Bytes(), &row))
		if row.Score != nil {
			scored++
		}
	}
	must.Equal(t, scored, 1497, "rows with a score")

	ok(t, append([]string{"train", "series", "--out", run, "--resume"}, "--set", "train.epochs=3")...)
	checkRun(t, nil, []string{"train", "series", "--data", table, "--target", "load", "--horizon", "3", "--strict", "--out", filepath.Join(dir, "bad")}, exitBadInput, `load.csv:2: column "time": "2024-01-01 00:00" is not a number`)
	checkRun(t, nil, []string{"train", "series", "--data", table, "--mode", "guess", "--out", filepath.Join(dir, "bad")}, exitUsage, `mode "guess"`)
	checkRun(t, nil, []string{"train", "ts", "--data", dir, "--horizon", "3", "--out", filepath.Join(dir, "bad")}, exitUsage, "--horizon")
}

// eval replaces missing values before the first known one by the means of the model, as in
// training, not by those of the evaluated file.
func TestEvalMissing(t *testing.T) {
	path, _ := rowsModel(t, model.SeriesClassification, func(m *model.Model) {
		m.Meta.Data = model.Settings{"data.target": []any{"state"}, "data.id": "room", "data.missing": "previous"}
	})
	dir := t.TempDir()
	predictions := func(name, text string) string {
		file, out := filepath.Join(dir, name+".csv"), filepath.Join(dir, name+".jsonl")
		testfiles.Write(t, file, "room,state,temp,load\n"+text)
		ok(t, "eval", path, "--data", file, "--split", "all", "--predictions", out)
		return string(read(t, out))
	}
	text := "a,used,%s,300\na,used,50,310\nb,empty,40,200\n"
	must.Equal(t, predictions("gap", fmt.Sprintf(text, "")), predictions("filled", fmt.Sprintf(text, "20")), "predictions")
}
