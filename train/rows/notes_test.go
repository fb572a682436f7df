package rows

import (
	"archive/zip"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// noted compares the notes of a data set with the part that one of them has, or with none.
func noted(t *testing.T, d *dataset.Dataset, want, name string) {
	t.Helper()
	notes := strings.Join(d.Notes, "\n")
	must.Equal(t, strings.Contains(notes, want) && (notes == "") == (want == ""), true, "%s: notes %s", name, notes)
}

// The steps of a wide table have the order of the file if their numbers rise or fall. A note tells
// of another order, of columns without a number, and of numbers in the middle.
func TestWideNames(t *testing.T) {
	const other = "have the order of the numbers in the names of the columns"
	for _, c := range []struct{ names, columns, want, note string }{
		{"t-3,t-2,t-1,t-0", "", "t [1 2 3 4]", ""},
		{"t-2,t-1,t+0,t+1", "", "t [1 2 3 4]", ""},
		{"lag_4,lag_3,lag_2,lag_1", "", "lag [1 2 3 4]", ""},
		{"4000,3996,3992,3988", "", "value [1 2 3 4]", ""},
		{"4000.5,3996.5,3992.5,3988.5", "", "value [1 2 3 4]", `columns such as "4000.5" are the steps of one channel; --columns 4000 reads`},
		{"w4000,w3996,w3992,w3988", "", "w [1 2 3 4]", ""},
		{"v0,v10,v1,v2", "", "v [1 3 4 2]", other},
		{"x1,y2,x2,y1", "", "x,y [1 3 4 2]", other},
		{"id,v0,v1,v2", "", "value [1 2 3 4]", `not all names of columns end in a number (["id"]), so the 4 columns are the steps of one channel; --columns v`},
		{"id,v0,v1,v2", "v", "v [2 3 4]", ""},
		{"id,v0,v1,v2", "value", "value [1 2 3 4]", ""},
		{"t0_x,t0_y,t1_x,t1_y", "", "t_x,t_y [1 3 2 4]", `columns such as "t0_x" are the steps of the channels ["t_x" "t_y"]; --columns value`},
		{"t0_x,t0_y,t1_x,t1_y", "t_y", "t_y [2 4]", "t0_x"},
		{"t0_x,t0_y,t1_x,t1_y", "value", "value [1 2 3 4]", ""},
		{"a(t-1),b(t-1),a(t-0),b(t-0)", "", "a(t-),b(t-) [1 3 2 4]", "are the steps of the channels"},
		{"red,green,blue,white", "", "value [1 2 3 4]", ""},
	} {
		opt := TableOptions{Options: Options{Targets: []string{"label"}}}
		if c.columns != "" {
			opt.Columns = []string{c.columns}
		}
		d := must.Get(tableOf(t, map[string]string{"w.csv": "label," + c.names + "\na,1,2,3,4\nb,1,2,3,4\n"}, "w.csv", opt))(t)
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 0, 0))
		must.Equal(t, fmt.Sprint(strings.Join(d.Series.Columns, ","), " ", e.X), c.want, "channels and values of %s", c.names)
		noted(t, d, c.note, c.names)
	}
}

// Tables beside the splits of a folder are named. N_DEV is a validation set. Folders that have the
// names of splits are splits, with or without folders of classes.
func TestSplitNames(t *testing.T) {
	const rows = "label,v0,v1\na,1,2\nb,3,4\n"
	opt := TableOptions{Options: Options{Targets: []string{"label"}}}
	for _, c := range []struct{ path, note string }{{"", `["N_EVAL.csv" "extra.csv"] are not read`}, {"N_TRAIN.csv", `["N_EVAL.csv"] are not read`}} {
		files := map[string]string{"N_TRAIN.csv": rows, "N_TEST.csv": rows, "N_DEV.csv": rows, "N_EVAL.csv": rows, "extra.csv": rows, "N.csv": "text", "README.csv": "text", "a.txt": "text"}
		d := must.Get(tableOf(t, files, c.path, opt))(t)
		must.Equal(t, fmt.Sprint(d.Train.Len(), d.Val.Len(), d.Test.Len()), "2 2 2", "series")
		noted(t, d, c.note, c.path)
	}
	nested := map[string]string{}
	for _, name := range []string{"train/a/1", "train/b/2", "val/a/3", "test/a/4", "test/b/5"} {
		nested[name+".csv"] = "x\n1\n3\n"
	}
	d := must.Get(tableOf(t, nested, "", TableOptions{}))(t)
	must.Equal(t, fmt.Sprint(d.Labels, d.Train.Len(), d.Val.Len(), d.Test.Len()), "[a b] 2 1 2", "classes and series")
	flat := map[string]string{"train/1.csv": "x,y\n1,0\n2,0\n", "test/2.csv": "x,y\n1,1\n3,1\n", "train/3.csv": "x,y\n1,1\n4,1\n"}
	d = must.Get(tableOf(t, flat, "", TableOptions{Options: Options{Targets: []string{"y"}}}))(t)
	must.Equal(t, fmt.Sprint(d.Labels, d.Test.Len()), "[0 1] 1", "classes and series")
	must.Reject(tableOf(t, flat, "", TableOptions{}))(t, "no class; --target names the column")
}

// A note names constant channels of arrays and wide tables, and keys of series that are not read.
func TestUnusedValues(t *testing.T) {
	x := npyFile("<f4", false, []int{2, 2, 2}, []float32{1, 2, 5, 5, 3, 4, 5, 5})
	d := must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Store, map[string][]byte{"x": x, "y": npyFile("<i8", false, []int{2}, []int64{0, 1})}), Options{ArrayLayout: LayoutChannelsFirst}))(t)
	noted(t, d, `channel "2" is 5 everywhere`, "arrays")
	opt := TableOptions{Options: Options{Targets: []string{"label"}}}
	d = must.Get(tableOf(t, map[string]string{"w.csv": "label,x0,x1,y0,y1\na,1,2,5,5\nb,3,4,5,5\n"}, "w.csv", opt))(t)
	noted(t, d, `channel "y" is 5 everywhere`, "a wide table")
	d = must.Get(tableOf(t, map[string]string{"w.jsonl": `{"label":"a","age":30,"x":[1,2]}` + "\n" + `{"label":"b","age":31,"x":[3,4]}`}, "w.jsonl", opt))(t)
	noted(t, d, `keys ["age"] hold no series and are not read`, "objects")
}

// A note names columns that count time in other ways, and identifiers.
func TestCountsAndIdentifiers(t *testing.T) {
	for _, c := range []struct {
		name, want string
		value      func(i int) any
	}{
		{"jitter", "counts rows or time", func(i int) any { return 1700000000 + 600*i + i*7919%13 }},
		{"Excel's days", "counts rows or time", func(i int) any { return fmt.Sprintf("%.5f", 45292+float64(i)/24) }},
		{"falls", "counts rows or time", func(i int) any { return 1000 - i }},
		{"one twice", "counts rows or time", func(i int) any { return i - i/50 }},
		{"weeks of digits", "counts rows or time", func(i int) any { return time.Date(2024, 1, 1+7*i, 0, 0, 0, 0, time.UTC).Format("20060102") }},
		{"a random walk", "", func(i int) any { return float64(i) + 3*math.Sin(float64(i*i)) }},
		{"steps that differ", "", func(i int) any { return i * i }},
		{"id", `column "id" repeats its values, as the identifier of several series does`, func(i int) any { return i / 20 }},
		{"restarts", `column "restarts" repeats its values`, func(i int) any { return i / 25 }},
		{"level", "", func(i int) any { return i / 20 }},
	} {
		text := numbersCSV("x,"+c.name, 100, func(i int) []any {
			x := fmt.Sprintf("%.4f", 60+10*math.Sin(float64(i)/3))
			if c.name == "restarts" {
				x = fmt.Sprintf("%.4f", math.Pow(float64(i%25), 2))
			}
			return []any{x, c.value(i)}
		})
		d := must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", TableOptions{Options: Options{Horizon: 1, Targets: []string{"x"}}}))(t)
		noted(t, d, c.want, c.name)
	}
}

// Words such as off are 0 or 1 in a column of such words. Among other words the column is text, and
// among numbers a note tells of them. The numbers that pandas writes as names are names.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, head string
		row        func(i int) []any
		columns    string
		note       string
	}{
		{"switch", "x,on", func(i int) []any { return []any{i * i, []string{"on", "off", "off"}[i%3]} }, "[x on]", ""},
		{"letters", "x,flag", func(i int) []any { return []any{i * i, []string{"T", "F", "F"}[i%3]} }, "[x flag]", ""},
		{"text", "x,sex", func(i int) []any { return []any{i * i, []string{"F", "M", "M"}[i%3]} }, "[x]", `column "sex": "M" is not a number; the column is left out`},
		{"gap", "x,y", func(i int) []any { return []any{i * i, []any{3, 4, "off"}[i%3]} }, "[x y]", `column "y": "off" beside numbers is read as 1 or 0; --missing-values=off`},
		{"index", ",0,1", func(i int) []any { return []any{i, i * i, i % 7} }, "[0 1]", "the first column has no name and is left out, as the index of rows; --id \"Unnamed: 0\""},
		{"index of names", ",a,b", func(i int) []any { return []any{i, i * i, i % 7} }, "[a b]", `--id "1" or --time "1" uses it`},
	} {
		d := must.Get(tableOf(t, map[string]string{"m.csv": numbersCSV(c.head, 60, c.row)}, "m.csv", TableOptions{Options: Options{Horizon: 1}}))(t)
		must.Equal(t, fmt.Sprint(d.Series.Columns), c.columns, "%s", c.name)
		noted(t, d, c.note, c.name)
	}
	d := must.Get(tableOf(t, map[string]string{"w.csv": "0,1,2\n5,6,0\n7,8,1\n"}, "w.csv", TableOptions{Options: Options{Targets: []string{"2"}}}))(t)
	must.Equal(t, fmt.Sprint(d.Labels, d.MaxLen), "[0 1] 2", "classes and series")
	noted(t, d, "the first line, 0, 1, 2 …, names the columns", "numbers as names")
	files := map[string]string{}
	for i, name := range []string{"a/1.csv", "a/2.csv", "b/1.csv", "b/2.csv"} {
		files[name] = fmt.Sprintf("x,y\n%d,%d %%\n3,4 $\n", i, i+1)
	}
	d = must.Get(tableOf(t, files, "", TableOptions{}))(t)
	must.Equal(t, strings.Count(strings.Join(d.Notes, "\n"), "1.csv: column \"y\": \"1 %\" is read as 1; --missing-values=")+len(d.Notes), 3, "a note of each unit in four files: %q", d.Notes)
}
