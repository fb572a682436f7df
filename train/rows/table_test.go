package rows

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// tableOf writes files to a folder and loads the first one, or the folder if it is "".
func tableOf(t *testing.T, files map[string]string, path string, opt TableOptions) (*dataset.Dataset, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		testfiles.Write(t, filepath.Join(dir, name), text)
	}
	return Table(context.Background(), filepath.Join(dir, path), opt)
}

// described returns the series of a classification or a regression as text, sorted.
func described(t *testing.T, d *dataset.Dataset) string {
	t.Helper()
	var lines []string
	for name, s := range map[string]dataset.Set{"train": d.Train, "val": d.Val, "test": d.Test} {
		if s == nil {
			continue
		}
		for i := range s.Len() {
			var e dataset.Example
			must.Do(t, s.Example(&e, i, 0))
			target := fmt.Sprint(e.Target)
			if !d.Regression {
				target = d.Labels[e.Label]
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %v %s", name, e.Path, e.Len, e.X, target))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

const longCSV = `series,split,t,x,y,class
a,train,1,10,-1,up
b,val,1,7,8,down
a,train,0,9,-2.5,up
b,val,3,5,6,down
b,val,2,6,7,down
`

// The same two series in every layout.
func TestTableLayouts(t *testing.T) {
	const want = "train a 2 [9 10 -2.5 -1] up\nval b 3 [7 6 5 8 7 6] down"
	long := TableOptions{ID: "series", Time: "t", Split: "split", Options: Options{Targets: []string{"class"}}}
	wide := TableOptions{ID: "series", Split: "split", Options: Options{Targets: []string{"class"}}, Layout: LayoutWide}
	quoted := long
	quoted.ID = "ser;i\tes"
	objects := wide
	objects.Layout = ""
	for _, test := range []struct {
		name  string
		files map[string]string
		path  string
		opt   TableOptions
	}{
		{"long", map[string]string{"t.csv": longCSV}, "t.csv", long},
		{"semicolons, byte order mark", map[string]string{"t.csv": "\xef\xbb\xbf" + strings.ReplaceAll(longCSV, ",", ";")}, "t.csv", long},
		{"separators in quotes", map[string]string{"t.csv": strings.ReplaceAll(strings.Replace(longCSV, "class", `"class"`, 1), "series", "\"ser;i\tes\"")}, "t.csv", quoted},
		{"wide", map[string]string{"t.csv": "series,class,x_0,x_1,x_2,y_0,y_1,y_2,split\na,up,9,10,,-2.5,-1,,train\nb,down,7,6,5,8,7,6,validation\n"}, "t.csv", wide},
		{"wide, steps in another order, ragged", map[string]string{"t.csv": "split,series,class,x[2],x[1],y[1],y[2],x[3],y[3]\ntrain,a,up,10,9,-2.5,-1\nval,b,down,6,7,8,7,5,6\n"}, "t.csv", wide},
		{"rows of JSON", map[string]string{"t.jsonl": `{"series":"a","split":"train","t":0,"x":9,"y":-2.5,"class":"up"}
{"t":1,"x":10,"y":-1,"series":"a","split":"train","class":"up"}

{"series":"b","split":"val","t":"1","x":7,"y":8,"class":"down"}
{"series":"b","split":"val","t":2,"x":6,"y":7,"class":"down"}
{"series":"b","split":"val","t":3,"x":5,"y":6e0,"class":"down"}`}, "t.jsonl", long},
		{"series of JSON", map[string]string{"t.ndjson": `{"series":"a","split":"train","x":[9,10],"y":[-2.5,-1],"class":"up","comment":true}
{"class":"down","series":"b","split":"val","y":[8,7,6],"x":[7,"6",5]}
`}, "t.ndjson", objects},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := must.Get(tableOf(t, test.files, test.path, test.opt))(t)
			must.Equal(t, described(t, d), want, "series")
			must.Equal(t, strings.Join(d.Series.Columns, " "), "x y", "columns")
			must.Equal(t, strings.Join(d.Labels, " "), "down up", "labels")
			if d.MaxLen != 3 || d.Channels != 2 || d.Outputs != 2 || !slices.Equal(d.Mean, []float32{9.5, -1.75}) || !slices.Equal(d.Std, []float32{0.5, 0.75}) {
				t.Errorf("%+v, mean %v, deviation %v", d.Info, d.Mean, d.Std)
			}
		})
	}
}

// Files of a folder are series, and those NAME_TRAIN, NAME_VAL and NAME_TEST are splits.
func TestTableFolders(t *testing.T) {
	opt := TableOptions{Options: Options{Validation: 0.5}}
	d := must.Get(tableOf(t, map[string]string{
		"up/1.csv": "x,y\n1,2\n3,4\n", "up/2.csv": "y,x\n5,6\n", "down/1.tsv": "x\ty\n7\t8\n", "down/b.jsonl": `{"x":9,"y":0}`,
		".hidden/1.csv": "z\n1\n", "notes.md": "nothing", "up/README.txt": "none",
	}, "", opt))(t)
	if got := described(t, d); strings.Count(got, "train") != 2 || !strings.Contains(got, "up/2 1 [6 5] up") || !strings.Contains(got, "down/b 1 [9 0] down") || !strings.Contains(got, "up/1 2 [1 3 2 4] up") {
		t.Errorf("series of a folder:\n%s", got)
	}
	splits := map[string]string{
		"Set_TRAIN.tsv": "1\t0.5\t0.25\n2\t3\t4\n", "Set_TEST.tsv": "2\t5\t6\n", "Set_VAL.tsv": "1\t7\t8\n",
	}
	wide := TableOptions{Options: Options{Targets: []string{"1"}}}
	for _, path := range []string{"", "Set_TRAIN.tsv"} {
		d = must.Get(tableOf(t, splits, path, wide))(t)
		must.Equal(t, described(t, d), "test 4 2 [5 6] 2\ntrain 1 2 [0.5 0.25] 1\ntrain 2 2 [3 4] 2\nval 3 2 [7 8] 1", "series of %q", path)
	}
	must.Equal(t, d.Series.Columns[0], "value", "name of the channel")
	splits["Other_TRAIN.tsv"] = "1\t2\n"
	must.Reject(tableOf(t, splits, "", wide))(t, "for the same split", "Other_TRAIN.tsv")
	must.Reject(tableOf(t, map[string]string{"a.md": ""}, "", wide))(t, "has no file .csv")
	must.Reject(tableOf(t, nil, "absent.csv", wide))(t, os.ErrNotExist, "absent.csv")
}

// A split is a word of the file's name, not the end of one.
func TestTableSplitNames(t *testing.T) {
	text := "x\n1\n2\n"
	opt := TableOptions{Options: Options{Mode: model.SeriesForecast, Targets: []string{"x"}, Horizon: 1}}
	for _, test := range []struct {
		names []string
		want  string
	}{
		{[]string{"strain", "stress", "heat"}, "heat strain stress"},
		{[]string{"interval", "retest", "retrain"}, "interval retest retrain"},
		{[]string{"A_TRAIN", "A_TEST", "A_VAL"}, "A_TRAIN:train A_VAL:val A_TEST:test"},
		{[]string{"a-training", "a-valid"}, "a-training:train a-valid:val"},
	} {
		dir := t.TempDir()
		for _, name := range test.names {
			testfiles.Write(t, filepath.Join(dir, name+".csv"), text)
		}
		r := tableReader{opt: opt}
		var got []string
		for _, f := range must.Get(r.files(dir))(t) {
			name := strings.TrimSuffix(filepath.Base(f.path), ".csv")
			if f.split != "" {
				name += ":" + f.split
			}
			got = append(got, name)
		}
		must.Equal(t, strings.Join(got, " "), test.want, "files")
	}
}

// Without splits, a hash of the IDs selects a fraction of each class, whatever the order.
func TestTableFractions(t *testing.T) {
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("s%d,%d,%s", i, i, []string{"up", "down"}[i%2]))
	}
	opt := TableOptions{ID: "id", Layout: LayoutWide, Options: Options{Targets: []string{"class"}, Validation: 0.2, Test: 0.1}}
	load := func() *dataset.Dataset {
		return must.Get(tableOf(t, map[string]string{"t.csv": "id,x_0,class\n" + strings.Join(rows, "\n")}, "t.csv", opt))(t)
	}
	d := load()
	first := described(t, d)
	must.Equal(t, [3]int{d.Train.Len(), d.Val.Len(), d.Test.Len()}, [3]int{28, 8, 4}, "examples")
	for _, class := range d.Labels {
		n := 0
		for line := range strings.Lines(first) {
			if strings.HasPrefix(line, "val") && strings.HasSuffix(strings.TrimSpace(line), " "+class) {
				n++
			}
		}
		must.Equal(t, n, 4, "validation series of class %s", class)
	}
	slices.Reverse(rows)
	must.Equal(t, described(t, load()), first, "series in another order")
}

func TestTableRegression(t *testing.T) {
	opt := TableOptions{ID: "id", Layout: LayoutWide, Options: Options{Mode: model.SeriesRegression, Targets: []string{"b", "a"}, Validation: 0.25}}
	d := must.Get(tableOf(t, map[string]string{"t.csv": "id,a,b,1,2\np,1,10,0,1\nq,2,20,2,3\nr,3,30,4,5\ns,4,40,6,7\n"}, "t.csv", opt))(t)
	if got := described(t, d); !strings.Contains(got, "q 2 [2 3] [20 2]") || d.Outputs != 2 || d.Train.Len() != 3 || d.Val.Len() != 1 {
		t.Errorf("%+v\n%s", d.Info, got)
	}
	var mean float32
	for i := range 3 {
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, i, 0))
		mean += e.Target[0] / 3
	}
	if math.Abs(float64(d.TargetMean[0]-mean)) > 1e-5 || math.Abs(float64(d.TargetStd[0]/d.TargetStd[1])-10) > 1e-5 {
		t.Errorf("mean %v, expected %v; deviations %v", d.TargetMean, mean, d.TargetStd)
	}
	must.Equal(t, strings.Join(d.Series.Targets, " "), "b a", "targets")
}

// Missing values and missing rows.
func TestTableMissing(t *testing.T) {
	const text = "t,x,y\n2024-03-01 00:00,1,NA\n2024-03-01 01:00,?,2\n2024-03-01 04:00,4,nan\n2024-03-01 05:00,,5\n"
	opt := TableOptions{ID: "id", Time: "t", Options: Options{Mode: model.SeriesRegression, Targets: []string{"target"}}}
	rows := "id,target," + strings.ReplaceAll(text, "\n", "\na,7,")
	rows = strings.TrimSuffix(rows, "a,7,") + "b,1,0,1,1\nb,1,1,3,1\n"
	for missing, want := range map[string]string{
		model.MissingInterpolate: "a 6 [1 1.75 2.5 3.25 4 4 2 2 2.75 3.5 4.25 5] [7]",
		model.MissingPrevious:    "a 6 [1 1 1 1 4 4 %v 2 2 2 2 5] [7]",
	} {
		opt.Missing = missing
		opt.Validation = 0.5
		d := must.Get(tableOf(t, map[string]string{"t.csv": rows}, "t.csv", opt))(t)
		if strings.Contains(want, "%v") {
			want = fmt.Sprintf(want, d.Mean[1]) // nothing is known before
		}
		if got := described(t, d); !strings.Contains(got, want) {
			t.Errorf("%s: %s, expected %s", missing, got, want)
		}
	}
	opt.Missing = model.MissingError
	must.Reject(tableOf(t, map[string]string{"t.csv": rows}, "t.csv", opt))(t, `t.csv:3: column "x": the value "?" is missing; --missing previous or`)
}

// A series in which a column has no value takes the mean of the training set with missing =
// "previous". Without it, such a series is an error.
func TestTableMissingColumn(t *testing.T) {
	const text = "id,split,target,x,y\na,train,1,1,2\na,train,1,3,4\nb,train,2,5,\nb,train,2,6,\nc,val,3,,8\nc,val,3,,9\n"
	opt := TableOptions{ID: "id", Split: "split", Options: Options{Mode: model.SeriesRegression, Targets: []string{"target"}, Missing: model.MissingPrevious}}
	d := must.Get(tableOf(t, map[string]string{"t.csv": text}, "t.csv", opt))(t)
	must.Equal(t, described(t, d), "train a 2 [1 3 2 4] [1]\ntrain b 2 [5 6 3 3] [2]\nval c 2 [3.75 3.75 8 9] [3]", "series")
	opt.Means = map[string]float32{"x": -7, "z": 9} // of a model
	d = must.Get(tableOf(t, map[string]string{"t.csv": text}, "t.csv", opt))(t)
	must.Equal(t, described(t, d), "train a 2 [1 3 2 4] [1]\ntrain b 2 [5 6 3 3] [2]\nval c 2 [-7 -7 8 9] [3]", "series with the means of a model")
	must.Equal(t, d.Mean[0], 3.75, "mean of the training set")
	opt.Means = nil
	empty := strings.NewReplacer("1,2\n", "1,\n", "3,4\n", "3,\n").Replace(text)
	must.Reject(tableOf(t, map[string]string{"t.csv": empty}, "t.csv", opt))(t, `column "y" has no value in the training set`)
	opt.Missing = model.MissingInterpolate
	must.Reject(tableOf(t, map[string]string{"t.csv": text}, "t.csv", opt))(t, `series "b": column "y" has no value`)
}

// A first line with numbers is read as data, and a note says so. A header gives no note.
func TestTableWithoutHeader(t *testing.T) {
	forecast := TableOptions{Options: Options{Horizon: 1}}
	for text, note := range map[string]string{
		"0,1\n5,6\n7,8\n":     "t.csv: the first line contains a number, so it is read as data, not as a header; the columns are called 1, 2, …; it is a header if --target or --columns names one of its cells",
		"1,0.5\n5,6\n7,8\n":   "",
		"a,b\n5,6\n7,8\n":     "",
		"1_1,1_2\n5,6\n7,8\n": "",
	} {
		d := must.Get(tableOf(t, map[string]string{"t.csv": text}, "t.csv", forecast))(t)
		if got := strings.Join(d.Notes, "\n"); (got == "") != (note == "") || !strings.HasSuffix(got, note) {
			t.Errorf("%q: notes %q, expected %q", text, got, note)
		}
	}
	splits := map[string]string{"a_TRAIN.csv": "1,2\n3,4\n", "a_TEST.csv": "1,2\n"}
	d := must.Get(tableOf(t, splits, "", TableOptions{Options: Options{Targets: []string{"1"}}}))(t)
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "a_TRAIN.csv: the first line contains a number") {
		t.Errorf("notes %q of two files", d.Notes)
	}
}

// Times are exact where a float64 would round them.
func TestTableTimes(t *testing.T) {
	opt := TableOptions{Time: "t", Options: Options{Horizon: 1, Missing: model.MissingPrevious}}
	for _, times := range [][4]string{
		{"1700000000000000000", "1700000000000000100", "1700000000000000200", "1700000000000000400"},
		{"-1700000000000000400", "-1700000000000000300", "-1700000000000000200", "-1700000000000000000"},
		{"2024-01-01 00:00:00.0000001", "2024-01-01 00:00:00.0000002", "2024-01-01 00:00:00.0000003", "2024-01-01 00:00:00.0000005"},
		{"1969-12-31 23:59:59", "1969-12-31 23:59:59.5", "1970-01-01", "1970-01-01 00:00:01"},
		{"-1.5", "-1", "-0.5", "0.5"}, {"-0.5", "0", "0.5", "1.5"}, {"1e3", "2000", "3e+3", "5000.0"},
	} {
		rows := fmt.Sprintf("t,x\n%s,4\n%s,2\n%s,1\n%s,3\n", times[3], times[1], times[0], times[2])
		records, _, err := readTable("t.csv", []byte(rows), opt)
		must.Do(t, err)
		must.Equal(t, fmt.Sprint(records[0].raw), "[1 2 3 NaN 4]", "values at %s", times)
	}
	for _, late := range []string{"1e19", "9000000000000000000", "-1e300"} {
		_, _, err := readTable("t.csv", []byte("t,x\n0,1\n"+late+",2\n"), opt)
		must.Fail(t, err, `3: column "t": the time "`+late+`" is too large, expected a number up to 2^62`)
	}
}
