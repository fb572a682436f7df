package rows

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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
		must.Equal(t, fmt.Sprint(d.Train.Len(), d.Val.Len(), d.Notes), `2 2 [arrays ["weights"] are not read in mode classification, which reads x and columns, or x_train, x_val, x_test, and y with the same endings; --mode selects another]`, "%s", name)
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
	labels := npyFile("|u1", false, []int{60}, slices.Repeat([]byte{0, 1, 0}, 20))
	ramp := make([]float32, 240)
	for i := range ramp {
		ramp[i] = float32(i)
	}
	for _, c := range []struct {
		shape []int
		opt   Options
		want  string // channels and the longest series
		notes string
	}{
		{[]int{60, 4, 1}, Options{}, "1 4", "x has the shape [60 4 1]: read as 1 channels of 4 steps; --layout channels-first reads 4 channels of 1 steps"},
		{[]int{60, 4}, Options{ArrayLayout: LayoutChannelsLast}, "1 4", ""},
		{[]int{80, 3}, Options{Horizon: 1, ArrayLayout: LayoutChannelsLast}, "3 64", ""},
		{[]int{3, 80}, Options{Horizon: 1, ArrayLayout: LayoutChannelsFirst}, "3 64", ""},
		{[]int{3, 80}, Options{Horizon: 1}, "1 64", "x has the shape [3 80]: read as 3 series of 80 steps; --layout channels-first reads one series of 3 channels, and --layout channels-last one of 80"},
		{[]int{240}, Options{Horizon: 1}, "1 64", ""},
	} {
		d := must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Store, map[string][]byte{"x": npyFile("<f4", false, c.shape, ramp), "y": labels}), c.opt))(t)
		must.Equal(t, fmt.Sprint(d.Channels, " ", min(d.MaxLen, 64)), c.want, "channels and length of %v with %+v", c.shape, c.opt)
		must.Equal(t, strings.Join(slices.DeleteFunc(d.Notes, func(s string) bool { return !strings.HasPrefix(s, "x has") }), "\n"), c.notes, "notes of %v", c.shape)
	}
	_, err := arraysOf(t, "a.npz", npzFile(t, zip.Store, map[string][]byte{"x": x, "y": y, "x_train": x, "y_train": y}), Options{})
	must.Fail(t, err, "arrays x and x_train")
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

// A note names a column that is constant in the training set alone, since its deviation is unknown.
func TestConstantInTraining(t *testing.T) {
	text := numbersCSV("x,late", 100, func(i int) []any { return []any{i * i % 7, 5 + max(i-95, 0)} })
	d := must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", TableOptions{Options: Options{Horizon: 1}}))(t)
	must.Equal(t, fmt.Sprint(d.Notes), `[column "late" is constant in the training set but not after it, so the network cannot learn it; --columns lists the inputs]`, "notes")
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
		{"two kinds", `column "c": 5 values are -8888, and the others 50`, func(i int) any {
			return cmp.Or(map[int]float64{7: -9999, 3: -8888}[i%20], wave(i))
		}},
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
	opt = TableOptions{Options: Options{Horizon: 1, Offsets: map[string]float64{"x": 0}}} // an evaluation
	d = must.Get(tableOf(t, map[string]string{"m.csv": text}, "m.csv", opt))(t)
	noted(t, d, `column "x": 5 values are -9999`, "an evaluation")
	opt.MissingValues = []string{"none"}
	d = must.Get(tableOf(t, map[string]string{"t.csv": text}, "t.csv", opt))(t)
	must.Equal(t, len(d.Notes), 0, "notes with --missing-values=none")
}

// hourly returns the times of n hours in a layout of package time.
func hourly(layout string, from time.Time, n int) (list []string) {
	for i := range n {
		list = append(list, from.Add(time.Duration(i)*time.Hour).Format(layout))
	}
	return list
}

// datesTest is a column of times, and the note about it or the error.
type datesTest struct {
	name   string
	times  []string
	format string
	want   string
}

func (c datesTest) check(t *testing.T) {
	t.Helper()
	text := "time,x\n"
	for i, at := range c.times {
		text += fmt.Sprintf("\"%s\",%d\n", at, i*i)
	}
	opt := TableOptions{Time: "time", TimeFormat: c.format, Options: Options{Horizon: 1, Validation: 0.3}}
	d, err := tableOf(t, map[string]string{"t.csv": text}, "t.csv", opt)
	if err != nil {
		must.Equal(t, c.want != "" && strings.Contains(err.Error(), c.want), true, "%s: error %v", c.name, err)
		return
	}
	notes := strings.Join(d.Notes, "\n")
	must.Equal(t, strings.Contains(notes, c.want) && (notes == "") == (c.want == "") && strings.Count(notes, "new day") < 2, true, "%s: notes %s", c.name, notes)
	windows := d.Val.(*windowSet).windows
	must.Equal(t, windows[len(windows)-1].to, len(c.times), "%s: rows", c.name)
}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

// Times are read as people write them. Where day and month are open, the column decides, or the
// error names the flag.
func TestDates(t *testing.T) {
	fall := append(hourly("2006-01-02 15:04", day(2023, 10, 28), 27), hourly("2006-01-02 15:04", day(2023, 10, 29).Add(2*time.Hour), 24)...)
	for _, c := range []datesTest{
		{"months", []string{"1949-01", "1949-02", "1949-03", "1949-04"}, "", ""},
		{"slashes, year first", hourly("2006/1/2 15:04", day(1990, 1, 1), 48), "", ""},
		{"dots", hourly("02.01.2006 15:04:05", day(2009, 1, 1), 48), "", ""},
		{"dots and 2 digits", hourly("02.01.06 15:04", day(2009, 1, 1), 48), "", ""},
		{"dots in the time", hourly("02.01.2006 15.04.05", day(2004, 3, 10), 48), "", ""},
		{"day first", hourly("02/01/2006 15:04", day(2006, 12, 12), 48), "", `"12/12/2006 00:00" are read as day/month/year; --time-format mdy`},
		{"month first", hourly("01/02/2006 03:04 PM", day(2024, 1, 12), 48), "", `"01/12/2024 12:00 AM" are read as month/day/year; --time-format dmy`},
		{"month first, 2 digits", hourly("1/2/06 15:04", day(2024, 1, 14), 48), "", "month/day/year"},
		{"hours that fit one order", hourly("02/01/2006 15:04", day(2024, 1, 1), 100), "", "day/month/year"},
		{"days that fit both", []string{"01/01/2024", "02/01/2024", "03/01/2024", "04/01/2024"}, "", "--time-format dmy or --time-format mdy says which"},
		{"the same with a format", []string{"01/01/2024", "02/01/2024", "03/01/2024", "04/01/2024"}, "mdy", ""},
		{"digits", hourly("200601021504", day(2024, 1, 31), 30), "", `"2024…" are read as dates; --time-format number`},
		{"days of digits", []string{"20240130", "20240131", "20240201", "20240202"}, "", "are read as dates"},
		{"numbers of 8 digits", []string{"20240101", "20240102", "20240103"}, "number", ""},
		{"other numbers of 8 digits", []string{"19999998", "19999999", "20000000"}, "", ""},
		{"seconds", []string{"1704067200", "1704070800", "1704074400"}, "%s", ""},
		{"names and 2 digits", hourly("02-Jan-06 15:04", day(2024, 1, 1), 48), "", `"01-Jan-24 00:00" are read with the year last; --time-format %y-%b-%d`},
		{"a pattern", []string{"240101", "240102", "240103"}, "%y%m%d", ""},
		{"a wrong pattern", []string{"240101", "240102"}, "%Y%m%d", `"240101" does not fit --time-format "%Y%m%d"`},
		{"both orders", []string{"13/01/2024", "01/14/2024"}, "", "--time-format describes"},
		{"2 digits that may be the year", []string{"24/01/15", "24/01/16"}, "", "--time-format dmy or --time-format %y/%m/%d says which"},
		{"the year first, 2 digits", hourly("06/01/02 15:04", day(2024, 1, 15), 48), "", `"24/01/15 00:00" are read as year/month/day; --time-format dmy`},
		{"day first, 2 digits", hourly("2/1/06 15:04", day(2024, 1, 10), 48), "", "day/month/year"},
		{"month first, 2 digits, as spreadsheets write it", hourly("1/2/06 15:04", day(2024, 1, 10), 48), "", "month/day/year"},
		{"months of digits", []string{"202311", "202312", "202401", "202402"}, "", `"2023…" are read as dates`},
		{"a counter like months", []string{"200011", "200012", "200013"}, "", `one of "200011" and "200013" is a date, and the other is none: --time-format number`},
		{"a counter that becomes a month", []string{"199913", "200001", "200002"}, "", "--time-format number"},
		{"ISO 8601 without hyphens", []string{"20240131T2200Z", "20240131T2300Z", "20240201T0000Z"}, "", ""},
		{"quarters", []string{"2023Q3", "2023-Q4", "2024 q1"}, "", ""},
		{"names of time zones", []string{"2024-01-01 00:00 EST", "2024-01-01 01:00 EST", "2024-01-01 02:00 EST"}, "", ""},
		{"names of places", []string{"2024-03-31T01:00+01:00[Europe/Berlin]", "2024-03-31T03:00+02:00[Europe/Berlin]", "2024-03-31T04:00+02:00[Europe/Berlin]"}, "", ""},
		{"names of time zones in a pattern", append(hourly("2006-01-02 15:04 CEST", day(2023, 10, 28), 27), hourly("2006-01-02 15:04 CET", day(2023, 10, 29).Add(2*time.Hour), 24)...), "%Y-%m-%d %H:%M %Z", "the hour before 2023-10-29 03:00 occurs twice"},
		{"an hour that is left out", append(hourly("2006-01-02 15:04", day(2024, 3, 30), 26), hourly("2006-01-02 15:04", day(2024, 3, 31).Add(3*time.Hour), 24)...), "", "the hour before 2024-03-31 03:00 is left out and is read as that by which clocks were put forward"},
		{"an hour that is missing on a weekday", append(hourly("2006-01-02 15:04", day(2024, 3, 28), 26), hourly("2006-01-02 15:04", day(2024, 3, 29).Add(3*time.Hour), 24)...), "", "rows are missing"},
		{"times of day", hourly("15:04:05.0", day(2024, 1, 1), 24), "", ""},
		{"times of several days", hourly("3:04 PM", day(2024, 1, 1).Add(8*time.Hour), 90), "", "t.csv:18: the time of day begins a new day; without --time"},
		{"a time of day after dates", []string{"2024-01-01 00:00", "2024-01-01 01:00", "02:00"}, "", "expected about"},
		{"offsets", []string{"2024-01-01T00:00:00+0000", "2024-01-01T02:00:00+01", "2024-01-01 02:00:00 UTC", "2024-01-01T03:00:00.000Z"}, "", ""},
		{"names", []string{"31 Jan 2024", "Feb 1, 2024", "Friday, 2 February 2024", "3-Feb-2024"}, "", ""},
		{"an hour that occurs twice", fall, "", "the hour before 2023-10-29 03:00 occurs twice"},
		{"a row that occurs twice", []string{"2023-10-24 01:00", "2023-10-24 02:00", "2023-10-24 02:00", "2023-10-24 03:00"}, "", "the same time as line"},
	} {
		c.check(t)
	}
}

// Times are read as programs write them.
func TestDatesOfPrograms(t *testing.T) {
	for _, c := range []datesTest{
		{"other months", []string{"2023M11", "Dec-2023", "Jan 2024", "February 2024", "03/2024", "2024 APR", "2024-May-1"}, "", ""},
		{"months and 2 digits", []string{"Nov-23", "Dec-23", "Jan-24"}, "", `"Nov-23" are read with the year last`},
		{"quarters first", []string{"Q3 2023", "T4-2023", "2024-T1"}, "", ""},
		{"days of the year", []string{"2023-364", "2023-365", "2024-001"}, "", ""},
		{"hours of digits", hourly("2006010215", day(2024, 1, 31), 30), "", `"2024…" are read as dates`},
		{"digits and the hour", hourly("20060102 15", day(2024, 1, 9), 40), "", ""},
		{"ctime", hourly("Mon Jan _2 15:04:05 2006", day(2024, 1, 9), 40), "", ""},
		{"date", hourly("Mon Jan _2 15:04:05 MST 2006", day(2024, 1, 9), 40), "", ""},
		{"JavaScript", hourly("Mon Jan 02 2006 15:04:05 GMT+0100 (Central European Standard Time)", day(2024, 1, 9), 40), "", ""},
		{"JavaScript, local", hourly("1/2/2006, 3:04:05\u202fPM", day(2024, 1, 30), 40), "", "month/day/year"},
		{"intervals", hourly("02.01.2006 15:04 - 02.01.2006 23:59", day(2024, 1, 9), 40), "", ""},
		{"intervals of ISO 8601", hourly("2006-01-02T15:04Z/2006-01-02T23:59Z", day(2024, 1, 9), 40), "", ""},
		{"underscores", hourly("2006-01-02_15:04:05", day(2024, 1, 9), 40), "", ""},
		{"characters", hourly("2006年01月02日 15:04", day(2024, 1, 9), 40), "", ""},
		{"log", hourly("[02/Jan/2006:15:04:05 +0000]", day(2024, 1, 9), 40), "", ""},
		{"Java", hourly("2006-01-02T15:04Z[UTC]", day(2024, 1, 9), 40), "", ""},
		{"a place behind", hourly("2006-01-02 15:04:05 America/New_York", day(2024, 1, 9), 40), "", ""},
	} {
		c.check(t)
	}
}

// A date and a time of day may be in two columns.
func TestDateAndClock(t *testing.T) {
	date, clock := "Date,Time,x\n", hourly("15.04.05", day(2004, 3, 20), 30)
	for i, at := range hourly("02/01/2006", day(2004, 3, 20), 30) {
		date += fmt.Sprintf("%s,%s,%d\n", at, clock[i], i*i)
	}
	must.Get(tableOf(t, map[string]string{"t.csv": date + ",,\n"}, "t.csv", TableOptions{Time: "Date,Time", Options: Options{Horizon: 1}}))(t)
	parts := numbersCSV("year,month,day,hour,minute,x", 96, func(i int) []any { return []any{2024, 2, 28 + i/48, i % 48 / 2, i % 2 * 30, i * i} })
	d := must.Get(tableOf(t, map[string]string{"t.csv": parts}, "t.csv", TableOptions{Time: "year,month,day,hour,minute", Options: Options{Horizon: 1}}))(t)
	must.Equal(t, fmt.Sprint(d.Series.Columns, d.Notes), "[x] []", "columns and notes")
	must.Reject(tableOf(t, map[string]string{"t.csv": parts}, "t.csv", TableOptions{Time: "year,mont", Options: Options{Horizon: 1}}))(t, `no column "mont"`)
}

// Lines without values at the end, as spreadsheets append them, are no rows. Others are missing.
func TestBlankLines(t *testing.T) {
	text := numbersCSV("x,y", 40, func(i int) []any { return []any{i * i % 7, i % 5} })
	d := must.Get(tableOf(t, map[string]string{"t.csv": text + ",\n,\n"}, "t.csv", TableOptions{Options: Options{Horizon: 1}}))(t)
	must.Equal(t, fmt.Sprint(d.Val.(*windowSet).windows[0].to), "40", "rows")
	must.Reject(tableOf(t, map[string]string{"t.csv": text + ",\n,\n1,2\n"}, "t.csv", TableOptions{Options: Options{Horizon: 1}}))(t, "t.csv:44: a line without values is before this one; --missing")
	d = must.Get(tableOf(t, map[string]string{"t.csv": text + ",\n,\n1,2\n"}, "t.csv", TableOptions{Options: Options{Horizon: 1, Missing: "previous"}}))(t)
	must.Equal(t, fmt.Sprint(d.Val.(*windowSet).windows[0].to), "43", "rows with missing ones")
	d = must.Get(tableOf(t, map[string]string{"w.csv": "y,1,2\na,1,2\nb,1,2\na,1,2\nb,1,2\n,,\n"}, "w.csv", TableOptions{Options: Options{Targets: []string{"y"}}}))(t)
	must.Equal(t, d.Train.Len()+d.Val.Len(), 4, "series of a wide table")
}

// Columns without a number are left out with a note. One that has a number later is an error at its
// first other cell.
func TestTextColumns(t *testing.T) {
	text := "sensor,x,empty,at\n" + strings.Repeat("a,1,,2024-01-01\nb,3,,2024-01-02\n", 8)
	d := must.Get(tableOf(t, map[string]string{"t.csv": text}, "t.csv", TableOptions{Options: Options{Horizon: 1}}))(t)
	must.Equal(t, fmt.Sprint(d.Series.Columns, len(d.Notes)), "[x] 3", "columns and number of notes")
	must.Equal(t, strings.HasSuffix(d.Notes[0], `t.csv:2: column "sensor": "a" is not a number; the column is left out, and --columns lists the inputs`), true, "note %s", d.Notes[0])
	must.Equal(t, strings.Contains(d.Notes[2], `column "at": "2024-01-01" is not a number; --time names the column`), true, "note %s", d.Notes[2])
	must.Reject(tableOf(t, map[string]string{"t.csv": text + "5,6,,7\n"}, "t.csv", TableOptions{Options: Options{Horizon: 1}}))(t, `t.csv:2: column "sensor": "a" is not a number`)
	must.Reject(tableOf(t, map[string]string{"t.csv": text}, "t.csv", TableOptions{Columns: []string{"x", "sensor"}, Options: Options{Horizon: 1}}))(t, `t.csv:2: column "sensor": "a" is not a number`)
}

// Headers of other programs and versions are read as NumPy reads them.
func TestArrayHeaders(t *testing.T) {
	plain := npyFile("<f4", false, []int{4}, []float32{0, 1, 2, 3})
	second := append([]byte("\x93NUMPY\x02\x00"), plain[8], plain[9], 0, 0)
	changed := func(old, new string) []byte { return bytes.Replace(plain, []byte(old), []byte(new), 1) }
	for name, file := range map[string][]byte{
		"version 2":   append(second, plain[10:]...),
		"native":      changed("<f4", "=f4"),
		"other order": changed("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }    ", `{"shape":(4L,),"fortran_order":False, "descr":"<f4"}         `),
		"float16":     npyFile("<f2", false, []int{4}, []uint16{0, 0x3c00, 0x4000, 0x4200}),
	} {
		d := must.Get(arraysOf(t, "x.npy", file, Options{Horizon: 1, Validation: 0.3}))(t)
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 0, 0))
		must.Equal(t, fmt.Sprint(e.X, e.Target), "[0 1] [1 2]", "%s", name)
	}
	for bits, want := range map[uint64]float64{0x0001: 0x1p-24, 0x83ff: -1023 * 0x1p-24, 0x7bff: 65504, 0xfc00: math.Inf(-1), 0x3555: 0.333251953125} {
		must.Equal(t, half(bits), want, "%#x", bits)
	}
}
