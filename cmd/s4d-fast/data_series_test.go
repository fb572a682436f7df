package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

// rows.Table reads what data series writes.
func TestDataSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.csv")
	ok(t, "data", "series", path, "--anomalies", "3", "--seed", "7")
	d := must.Get(rows.Table(context.Background(), path, rows.TableOptions{
		Time: "time", Columns: []string{"load"}, Options: rows.Options{Horizon: 24, Season: 168},
	}))(t)
	var last dataset.Example
	must.Do(t, d.Val.Example(&last, d.Val.Len()-1, 0))
	rows := must.Get(csv.NewReader(bytes.NewReader(must.Get(os.ReadFile(path))(t))).ReadAll())(t)
	equal(t, "rows with a header", len(rows), 17521)
	value := must.Get(strconv.ParseFloat(rows[17520][slices.Index(rows[0], "load")], 32))(t)
	equal(t, "last target", last.Target[last.Len-1], float32(value))
	checkRun(t, nil, []string{"data", "series", path, "--anomalies", "1000"}, exitUsage, "--anomalies 1000: expected 0 to 730")
}
