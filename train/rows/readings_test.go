package rows

import (
	"archive/zip"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Classes that are numbers compare as numbers. The labels have the spelling of the first file.
func TestNumericClasses(t *testing.T) {
	for _, c := range []struct{ train, test, want string }{
		{"-1,1,2\n1,3,4\n-1,5,6\n1,7,8\n", "-1.0,1,2\n1.0,3,4\n", "[-1 1]"},
		{"1.0000000e+00,1,2\n0.0,3,4\n1,5,6\n0,7,8\n", "1,1,2\n", "[0 1]"},
		{"0.5,1,2\n10,3,4\n0.50,5,6\n10.0,7,8\n", "1e1,1,2\n", "[0.5 10]"},
		{"01,1,2\n02,3,4\n01,5,6\n02,7,8\n", "01,1,2\n", "[01 02]"},
		{"a,1,2\n1,3,4\na,5,6\n1,7,8\n", "1.0,1,2\n", "[1 1.0 a]"}, // text
	} {
		d := must.Get(tableOf(t, map[string]string{"w_TRAIN.csv": c.train, "w_TEST.csv": c.test}, "w_TRAIN.csv", TableOptions{Options: Options{Targets: []string{"1"}}}))(t)
		must.Equal(t, fmt.Sprint(d.Labels), c.want, "labels of %q and %q", c.train, c.test)
		must.Equal(t, strings.Contains(strings.Join(d.Notes, "\n"), `class "1.0" occurs in the test set but not in the training set`), c.want == "[1 1.0 a]", "note in %q", d.Notes)
	}
	// A model's spelling is kept.
	d := must.Get(tableOf(t, map[string]string{"w.csv": "-1,1,2\n1,3,4\n"}, "w.csv", TableOptions{Options: Options{Targets: []string{"1"}, Labels: []string{"-1.0", "1.0"}}}))(t)
	must.Equal(t, fmt.Sprint(d.Labels), "[-1.0 1.0]", "labels of the model")
}

// The validation set of arrays has several names. Arrays that are not read are named.
func TestValidationArrays(t *testing.T) {
	x, y := npyFile("<f4", false, []int{2, 2}, []float32{1, 2, 3, 4}), npyFile("<i8", false, []int{2}, []int64{0, 1})
	for _, name := range []string{"val", "valid", "validation"} {
		d := must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Store, map[string][]byte{"x_train": x, "y_train": y, "x_" + name: x, "y_" + name: y, "weights": y}), Options{}))(t)
		must.Equal(t, fmt.Sprint(d.Train.Len(), d.Val.Len(), d.Notes), `2 2 [arrays ["weights"] are not read; x, y, columns and those of the splits _train, _val and _test are]`, "%s", name)
	}
}

// The axes of arrays follow the layout, then the number of names. Otherwise a note tells how they
// were read if they might have been meant otherwise.
func TestArrayLayouts(t *testing.T) {
	x := npyFile("<f4", false, []int{2, 3, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	y, names := npyFile("<i8", false, []int{2}, []int64{0, 1}), npyFile("|S1", false, []int{2}, []byte("ab"))
	for _, c := range []struct {
		layout string
		names  []byte
		want   string
		note   string
	}{
		{"", nil, "3 [1 2 3 4 5 6]", "x has the shape [2 3 2]: read as 3 channels of 2 steps; --layout channels-last reads 2 channels of 3 steps"},
		{LayoutChannelsFirst, nil, "3 [1 2 3 4 5 6]", ""},
		{LayoutChannelsLast, nil, "2 [1 3 5 2 4 6]", ""},
		{"", names, "2 [1 3 5 2 4 6]", ""},
	} {
		arrays := map[string][]byte{"x": x, "y": y}
		if c.names != nil {
			arrays["columns"] = c.names
		}
		d := must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Store, arrays), Options{ArrayLayout: c.layout}))(t)
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 0, 0))
		must.Equal(t, fmt.Sprint(d.Channels, " ", e.X), c.want, "channels and first series with layout %q", c.layout)
		must.Equal(t, strings.Join(d.Notes, "\n"), c.note, "notes with layout %q", c.layout)
	}
}

// numbersCSV returns n rows with the values that f returns.
func numbersCSV(header string, n int, f func(i int) []any) string {
	text := header + "\n"
	for i := range n {
		line := fmt.Sprintln(f(i)...)
		text += strings.ReplaceAll(line, " ", ",")
	}
	return text
}

// A small deviation next to a large mean reaches the network: its mean is subtracted before the
// values become float32. Columns without a deviation are left out.
func TestLowVariance(t *testing.T) {
	text := numbersCSV("t,energy,power,fixed,fine", 100, func(i int) []any {
		return []any{i, 987654321 + i*i%7, 50 + i%10, 20000.1, fmt.Sprintf("%.7f", 1e5+1e-5*float64(i%10))}
	})
	opt := TableOptions{Time: "t", Options: Options{Horizon: 1, Targets: []string{"power"}}}
	d := must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", opt))(t)
	must.Equal(t, fmt.Sprint(d.Series.Columns, d.Notes), `[energy power fine] [column "fixed" is 20000.1 in every row and is left out; --columns lists the inputs]`, "columns and notes")
	must.Equal(t, fmt.Sprint(d.Series.Offsets[1]), "0", "offset of an ordinary column")
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 0, 0))
	for i := range e.Len {
		at := i // of the first window
		if got := float64(e.X[i]) + d.Series.Offsets[0]; math.Abs(got-float64(987654321+at*at%7)) > 1e-5 {
			t.Fatalf("row %d: energy %f", i, got)
		}
		if got := float64(e.X[2*e.Len+i]) + d.Series.Offsets[2] - 1e5; math.Abs(got-1e-5*float64(at%10)) > 1e-9 {
			t.Fatalf("row %d: fine %g", i, got)
		}
	}
	if d.Std[0] > 3 || d.Std[0] < 1 || d.Std[2] > 4e-5 || d.Std[2] < 1e-5 {
		t.Errorf("standard deviations %v", d.Std)
	}
	// An evaluation has the columns and the offsets of the model.
	opt.Offsets = map[string]float64{"energy": 987654000, "power": 0}
	d = must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", opt))(t)
	must.Equal(t, fmt.Sprint(d.Series.Columns, d.Series.Offsets, d.Notes), "[energy power] [9.87654e+08 0] []", "columns and offsets of the model")
	// Arrays have no flag that selects columns.
	x := make([]float64, 64)
	for i := range x {
		x[i] = 1e4 + 1e-5*float64(i%5)
	}
	d = must.Get(arraysOf(t, "x.npy", npyFile("<f8", false, []int{64}, x), Options{Horizon: 1}))(t)
	if d.Std[0] > 2e-5 || d.Std[0] < 1e-5 {
		t.Errorf("standard deviation %v of an array", d.Std)
	}
}

// Notes name columns that count rows or time, and values that stand for missing ones.
func TestColumnNotes(t *testing.T) {
	wave := func(i int) float64 { return 60 + 10*math.Sin(float64(i)/3) }
	for _, c := range []struct {
		name, want string
		value      func(i int) any
	}{
		{"row number", `column "c" counts rows or time`, func(i int) any { return i }},
		{"milliseconds", `column "c" counts rows or time`, func(i int) any { return 1700000000000 + 1000*i }},
		{"days with gaps", `column "c" counts rows or time`, func(i int) any { return float64(i+i/30) / 24 }},
		{"-9999", `column "c": 5 values are -9999, and the others 50`, func(i int) any { return map[bool]any{true: -9999, false: wave(i)}[i%20 == 7] }},
		{"999.9", `column "c": 1 values are 999.9, and the others 50`, func(i int) any { return map[bool]any{true: 999.9, false: wave(i)}[i == 70] }},
		{"-1e30", `--missing-values=-1e+30 says`, func(i int) any { return map[bool]any{true: -1e30, false: wave(i)}[i == 70] }},
		{"a meter", "", func(i int) any { return i * i }},
		{"a switch", "", func(i int) any { return i / 50 }},
		{"an outlier", "", func(i int) any { return map[bool]any{true: 400.5, false: wave(i)}[i == 70] }},
	} {
		text := numbersCSV("x,c", 100, func(i int) []any { return []any{fmt.Sprintf("%.4f", wave(i)), c.value(i)} })
		d := must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", TableOptions{Options: Options{Horizon: 1, Targets: []string{"x"}}}))(t)
		notes := strings.Join(d.Notes, "\n")
		must.Equal(t, strings.Contains(notes, c.want) && (notes == "") == (c.want == ""), true, "%s: notes %s", c.name, notes)
	}
	text := numbersCSV("x", 100, func(i int) []any { return []any{map[bool]any{true: -9999, false: wave(i)}[i%20 == 7]} })
	opt := TableOptions{Options: Options{Horizon: 1, Missing: "previous", MissingValues: []string{"-9999.0"}}}
	d := must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", opt))(t)
	must.Equal(t, d.Mean[0] > 50 && d.Notes == nil, true, "mean %v and notes %q with --missing-values", d.Mean, d.Notes)
}
