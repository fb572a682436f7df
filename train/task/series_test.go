package task

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

// loadSeriesOf loads the task series from a path.
func loadSeriesOf(t *testing.T, path, split string, options model.Settings) (*dataset.Dataset, error) {
	t.Helper()
	return must.Get(Lookup("series"))(t).Load(t.Context(), Source{Dir: path, Split: split, Options: options})
}

// npy returns an NPY file of whole numbers.
func npy(shape string, values ...byte) string {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n", shape)
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + string(values)
}

func TestSeries(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(p), 0o777))
		must.Do(t, os.WriteFile(p, []byte(text), 0o666))
		return p
	}
	table := "machine,t,x,y,state,part\n"
	for i := range 40 {
		table += fmt.Sprintf("m%d,%d,%d,%d,%s,%s\n", i/2, i, i%7, i%5, []string{"good", "worn"}[i/2%2], []string{"train", "val", "test"}[i/2%3])
	}
	csv := path("t.csv", table)
	class := model.Settings{"id": "machine", "time": "t", "target": []any{"state"}, "split_column": "part"}
	d := must.Get(loadSeriesOf(t, csv, "", class))(t)
	must.Equal(t, [3]int{d.Train.Len(), d.Val.Len(), d.Test.Len()}, [3]int{7, 7, 6}, "series")
	must.Equal(t, fmt.Sprint(d.Labels, d.Series.Columns), "[good worn] [x y]", "labels and columns")
	must.Equal(t, d.Series.ID+" "+d.Series.Time, "machine t", "columns of IDs and times")
	d = must.Get(loadSeriesOf(t, csv, "test", class))(t)
	if d.Train != nil || d.Val != nil || d.Test.Len() != 6 || d.Mean != nil {
		t.Errorf("split test: %+v", d)
	}
	forecast := model.Settings{"columns": []any{"x", "y"}, "target": []any{"y"}, "horizon": int64(2), "season": int64(5), "test": 0.2}
	d = must.Get(loadSeriesOf(t, csv, "", forecast))(t)
	if !d.Forecasts() || d.Series.Horizon != 2 || d.Series.Season != 5 || d.Test == nil || d.Outputs != 1 {
		t.Errorf("forecast: %+v, %+v", d.Info, d.Series)
	}

	path("arrays/x.npy", npy("(4, 2)", 1, 2, 3, 4, 5, 6, 7, 8))
	path("arrays/y.npy", npy("(4,)", 0, 1, 0, 1))
	d = must.Get(loadSeriesOf(t, filepath.Join(dir, "arrays"), "", model.Settings{"validation": 0.5}))(t)
	must.Equal(t, [2]int{d.Train.Len(), d.Val.Len()}, [2]int{2, 2}, "series of arrays")
	d = must.Get(loadSeriesOf(t, filepath.Join(dir, "arrays"), "", model.Settings{"mode": "regression"}))(t)
	must.Equal(t, fmt.Sprint(d.Series.Targets), "[y]", "targets of arrays")
	must.Reject(loadSeriesOf(t, filepath.Join(dir, "arrays"), "", class))(t, train.ErrData, "options of tables")
	must.Reject(loadSeriesOf(t, filepath.Join(dir, "absent.csv"), "", class))(t, train.ErrData, os.ErrNotExist, "docs/data.md")
	must.Reject(loadSeriesOf(t, csv, "", model.Settings{"mode": "guess"}))(t, train.ErrConfig, `task "series": data: mode "guess"`)
	must.Reject(loadSeriesOf(t, csv, "", model.Settings{"layout": "deep"}))(t, `layout "deep"`)
	must.Reject(loadSeriesOf(t, csv, "", model.Settings{"mode": "regression", "horizon": int64(3)}))(t, train.ErrConfig, "horizon 3: an option of the modes")
	must.Reject(loadSeriesOf(t, csv, "", model.Settings{"columns": []any{"x"}, "layout": "long"}))(t, train.ErrData, "no class", "--horizon selects forecasts")

	good := model.Settings{"id": "machine", "time": "t", "target": []any{"state"}}
	src := Source{Dir: path("good.csv", "machine,t,x,state\na,0,1,good\nb,0,2,good\nc,0,3,good\n"), Options: good, Model: &model.Model{Meta: model.Meta{Labels: []string{"worn", "good"}}}}
	d = must.Get(must.Get(Lookup("series"))(t).Load(t.Context(), src))(t)
	must.Equal(t, strings.Join(d.Labels, " "), "worn good", "labels of a model")
}

// After training, the errors of a forecast are reported for the validation and the test set.
func TestReportForecasts(t *testing.T) {
	values := make([]float32, 200)
	for i := range values {
		values[i] = float32(i % 10)
	}
	d := must.Get(rows.FromSeries([]rows.Series{{Values: [][]float32{values}}}, []string{"x"}, rows.Options{Horizon: 3, Season: 10, Test: 0.2}))(t)
	tk := must.Get(Lookup("series"))(t)
	c := tk.Preset()
	c.Model.DModel, c.Model.NLayers, c.SSM.DState, c.Train.MaxSteps = 4, 1, 4, 1
	c.SetDir("unused")
	must.Do(t, tk.Resolve(&c))
	tr := must.Get(train.New(t.Context(), c, d, train.Options{}))(t)
	must.Do(t, tr.Fit(t.Context()))
	var b bytes.Buffer
	must.Do(t, tk.Report(t.Context(), &b, tr.Best(), d, 1))
	must.Fail(t, tk.Report(t.Context(), &b, tr.Best(), d, -1), "threads -1")
	for _, want := range []string{"Forecasts of the validation set:", "Forecasts of the test set:", "x, 3 rows ahead, 20 values", "x, 3 rows ahead, 40 values", "value one season (10 rows) ago  "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("report:\n%s\nexpected %q", b.String(), want)
		}
	}
}
