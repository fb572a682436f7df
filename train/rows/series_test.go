package rows

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestFromSeries(t *testing.T) {
	x := []float32{1, nan32, 3}
	list := []Series{
		{Values: [][]float32{x, {4, 5, 6}}, Label: "10"}, {ID: "b", Values: [][]float32{{7}, {8}}, Label: "9"},
		{Values: [][]float32{{1}, {2}}, Label: "9", Split: "test"}, {Values: [][]float32{{1}, {2}}, Label: "no", Split: "val"},
	}
	d := must.Get(FromSeries(list, []string{"x", "y"}, Options{Missing: model.MissingInterpolate}))(t)
	must.Equal(t, described(t, d), "test 3 1 [1 2] 9\ntrain 1 3 [1 2 3 4 5 6] 10\ntrain b 1 [7 8] 9\nval 4 1 [1 2] no", "series")
	must.Equal(t, fmt.Sprint(d.Labels), "[9 10 no]", "labels")
	if x[1] == x[1] {
		t.Error("the missing value of the caller's slice was replaced")
	}
	for want, change := range map[string]func(l []Series){
		`series "1": 1 channels, expected 2`:                     func(l []Series) { l[0].Values = l[0].Values[:1] },
		`series "b": column "y" has 2 values, expected 1 as "x"`: func(l []Series) { l[1].Values = [][]float32{{7}, {8, 9}} },
		`series "b": column "y" has no value`:                    func(l []Series) { l[1].Values = [][]float32{{7}, {nan32}} },
		`series "b": split "dev"`:                                func(l []Series) { l[1].Split = "dev" },
	} {
		l := slices.Clone(list)
		change(l)
		must.Reject(FromSeries(l, []string{"x", "y"}, Options{Missing: model.MissingInterpolate}))(t, "rows: ", want)
	}
	must.Reject(FromSeries(list, []string{"x", "y"}, Options{}))(t, `series "1": row 2: column "x": the value is missing`)
}

// With labels, the classes of series get the numbers of these labels, and a class without series is
// not an error.
func TestFromSeriesLabels(t *testing.T) {
	one := []Series{{Values: [][]float32{{1}}, Label: "worn"}, {Values: [][]float32{{2}}, Label: "worn", Split: "val"}}
	opt := Options{Labels: []string{"new", "good", "worn"}}
	d := must.Get(FromSeries(one, []string{"x"}, opt))(t)
	must.Equal(t, fmt.Sprint(d.Labels, d.Outputs), "[new good worn] 3", "labels and outputs")
	var e dataset.Example
	must.Do(t, d.Val.Example(&e, 0, 0))
	must.Equal(t, e.Label, 2, "label of the validation set")
	one[0].Label = "odd"
	must.Reject(FromSeries(one, []string{"x"}, opt))(t, `series "1": class "odd", expected one of ["new" "good" "worn"]`)
}

// Of every class with two series, one is for validation, however small the fraction is.
func TestSmallClassesAreValidated(t *testing.T) {
	var list []Series
	for class, n := range []int{1, 2, 4, 12} {
		for range n {
			list = append(list, Series{Values: [][]float32{{1, 2}}, Label: fmt.Sprint(class)})
		}
	}
	for _, test := range []struct {
		validation, test float64
		want             string // series for validation, per class
	}{{0, 0, "[0 1 1 1]"}, {0.05, 0, "[0 1 1 1]"}, {0.4, 0, "[0 1 2 5]"}, {0.1, 0.5, "[0 0 1 1]"}} {
		d := must.Get(FromSeries(list, []string{"x"}, Options{Validation: test.validation, Test: test.test}))(t)
		count := make([]int, 4)
		var e dataset.Example
		for i := range d.Val.Len() {
			must.Do(t, d.Val.Example(&e, i, 0))
			count[e.Label]++
		}
		must.Equal(t, fmt.Sprint(count), test.want, "series for validation (fractions %g, %g)", test.validation, test.test)
	}
}

// ramp returns a series of two channels: x[l] = l and y[l] = −2l.
func ramp(n int) [][]float32 {
	x := [][]float32{make([]float32, n), make([]float32, n)}
	for l := range n {
		x[0][l], x[1][l] = float32(l), -2*float32(l)
	}
	return x
}

// Every row of a split is the target of exactly one position, and the input is Horizon rows
// before it.
func TestForecastWindows(t *testing.T) {
	for _, test := range []struct{ n, horizon, window, context int }{
		{100, 1, 512, 0}, {100, 1, 10, 0}, {101, 3, 10, 7}, {100, 24, 7, 200}, {1000, 5, 1, 1},
	} {
		opt := Options{Targets: []string{"y"}, Horizon: test.horizon, Window: test.window, Context: test.context, Validation: 0.2, Test: 0.1}
		d := must.Get(FromSeries([]Series{{ID: "a", Values: ramp(test.n)}, {ID: "b", Values: ramp(test.n / 2), Split: "val"}}, []string{"x", "y"}, opt))(t)
		context := test.context
		if context == 0 {
			context = 64
		}
		trained, tested := test.n-int(math.Round(0.2*float64(test.n)))-int(math.Round(0.1*float64(test.n))), test.n-int(math.Round(0.1*float64(test.n)))
		for _, split := range []struct {
			set  dataset.Set
			id   string
			rows [2]int
		}{{tiles(d.Train), "a", [2]int{test.horizon, trained}}, {d.Val, "a", [2]int{trained, tested}}, {d.Val, "b", [2]int{test.horizon, test.n / 2}}, {d.Test, "a", [2]int{tested, test.n}}} {
			seen := map[int]int{}
			for i := range split.set.Len() {
				var e dataset.Example
				must.Do(t, split.set.Example(&e, i, 0))
				must.Equal(t, e.Len, split.set.Length(i), "length of example %d", i)
				if e.Path != split.id {
					continue
				}
				scored := 0
				for p := range e.Len {
					row := e.X[p] + float32(test.horizon)
					must.Equal(t, e.X[e.Len+p], -2*e.X[p], "y at row %v", e.X[p])
					if y := e.Target[p]; y == y {
						must.Equal(t, y, -2*row, "target of row %v", row)
						seen[int(row)]++
						scored++
					}
				}
				first := int(e.X[0])
				if unscored := e.Len - scored; scored > test.window || unscored > context || unscored < context && first != 0 {
					t.Errorf("%+v: %d targets, %d rows of context from row %d", test, scored, unscored, first)
				}
			}
			for row := range test.n {
				want := 0
				if row >= split.rows[0] && row < split.rows[1] {
					want = 1
				}
				must.Equal(t, seen[row], want, "%+v: series %s, rows %v: times that row %d is a target", test, split.id, split.rows, row)
			}
		}
		if mean := float32(trained-1) / 2; d.Mean[0] != mean || d.TargetMean[0] != -2*mean || d.TargetStd[0] != d.Std[1] || d.Outputs != 1 || !d.PerPosition || !d.Regression {
			t.Errorf("%+v: mean %v, target's mean %v, expected %v; %+v", test, d.Mean, d.TargetMean, mean, d.Info)
		}
	}
}

// tiles returns the windows of a training set before they shift.
func tiles(s dataset.Set) dataset.Set {
	if s, ok := s.(*shiftedSet); ok {
		return s.windowSet
	}
	return s
}

// The windows of a long training series are others in every epoch. All are in the training rows and
// have the full length, and together they cover every row.
func TestShiftedWindows(t *testing.T) {
	opt := Options{Targets: []string{"y"}, Horizon: 3, Window: 20, Context: 7, Validation: 0.2, Seed: 5}
	list := []Series{{Values: ramp(300)}, {Values: ramp(10)}, {Values: ramp(100), Split: "train"}}
	load := func(seed uint64) *shiftedSet {
		opt.Seed = seed
		return must.Get(FromSeries(list, []string{"x", "y"}, opt))(t).Train.(*shiftedSet)
	}
	set := load(5)
	must.Equal(t, set.Len(), 64, "examples per epoch")
	seen := map[string]map[int]bool{"1": {}, "2": {}, "3": {}}
	var e, again dataset.Example
	for epoch := range 40 {
		for i := range set.Len() {
			must.Do(t, set.Example(&e, i, epoch))
			if e.Len > set.Length(i) || e.Len < 5 {
				t.Fatalf("example %d has %d rows, Length is %d", i, e.Len, set.Length(i))
			}
			scored := 0
			for p := range e.Len {
				if y := e.Target[p]; y == y {
					must.Equal(t, y, -2*(e.X[p]+3), "target of row %v", e.X[p]+3)
					seen[e.Path][int(e.X[p])+3] = true
					scored++
				}
			}
			must.Equal(t, scored, map[string]int{"1": 20, "2": 5, "3": 20}[e.Path], "targets in a window of series %s", e.Path)
			must.Do(t, load(5).Example(&again, i, epoch))
			must.Equal(t, again.X[0], e.X[0], "first row of the same window")
		}
	}
	for id, rows := range map[string][2]int{"1": {3, 240}, "2": {3, 8}, "3": {3, 100}} {
		for row := range 300 {
			must.Equal(t, seen[id][row], row >= rows[0] && row < rows[1], "row %d of series %s is a target", row, id)
		}
	}
	first := func(s dataset.Set, epoch int) (rows []float32) {
		for i := range s.Len() {
			must.Do(t, s.Example(&e, i, epoch))
			rows = append(rows, e.X[0])
		}
		return rows
	}
	if slices.Equal(first(set, 0), first(set, 1)) || slices.Equal(first(set, 0), first(load(6), 0)) {
		t.Error("the windows do not depend on epoch and seed")
	}
	last, season := make([]float32, 0, 100), make([]float32, 0, 100)
	for i := range set.Len() {
		must.Do(t, set.Example(&e, i, 0))
		last, season = last[:e.Len], season[:e.Len]
		must.Do(t, set.Naive(last, season, i))
		must.Equal(t, last[e.Len-1], e.X[2*e.Len-1], "last value of example %d", i)
	}

	// Split returns each row once, for an evaluation.
	d := must.Get(FromSeries(list, []string{"x", "y"}, opt))(t)
	for split, want := range map[string]int{"train": 237 + 5 + 97, "all": 300 - 3 + 10 - 3 + 97} {
		once, rows := must.Get(d.Split(split))(t), 0
		for i := range once.Len() {
			must.Do(t, once.Example(&e, i, 3))
			for _, y := range e.Target {
				if y == y {
					rows++
				}
			}
		}
		must.Equal(t, rows, want, "targets of split %s", split)
	}
}

// Missing values of the input repeat the last known value, across windows too, and missing targets
// are not scored.
func TestForecastMissing(t *testing.T) {
	x := []float32{nan32, 1, nan32, nan32, nan32, 5, 6, 7, 8, 9, 10, 11}
	d := must.Get(FromSeries([]Series{{ID: "a", Values: [][]float32{x}, Split: "train"}, {ID: "b", Values: [][]float32{{1, 2}}, Split: "val"}}, []string{"x"},
		Options{Horizon: 1, Window: 2, Context: 1, Missing: model.MissingPrevious}))(t)
	var e dataset.Example
	set := tiles(d.Train)
	must.Do(t, set.Example(&e, 1, 0)) // rows 3 and 4 are missing: the window of targets 5 and 6
	if set.Len() != 5 || !slices.Equal(e.X, []float32{1, 1, 5}) || e.Target[0] == e.Target[0] || !slices.Equal(e.Target[1:], []float32{5, 6}) {
		t.Errorf("%d windows, the second %+v", set.Len(), e)
	}
	must.Do(t, set.Example(&e, 0, 0))
	must.Equal(t, e.X[0], d.Mean[0], "input before the first known value")
	must.Equal(t, d.Mean[0], float32(57)/8, "mean of the known values")
}

func TestNaiveForecasts(t *testing.T) {
	x := []float32{0, 1, nan32, 3, 4, 5, 6, 7, 8, 9}
	load := func(horizon, season int) dataset.ForecastSet {
		opt := Options{Horizon: horizon, Season: season, Context: 100, Missing: model.MissingPrevious}
		return must.Get(FromSeries([]Series{{Values: [][]float32{x}, Split: "train"}, {Values: [][]float32{ramp(20)[0]}, Split: "val"}}, []string{"x"}, opt))(t).Train.(dataset.ForecastSet)
	}
	for _, test := range []struct {
		horizon, season int
		last, past      string
	}{
		{1, 0, "[0 1 1 3 4 5 6 7 8]", "[NaN NaN NaN NaN NaN NaN NaN NaN NaN]"},
		{1, 3, "[0 1 1 3 4 5 6 7 8]", "[NaN NaN 0 1 NaN 3 4 5 6]"},
		{4, 3, "[0 1 1 3 4 5]", "[NaN NaN 0 1 NaN 3]"},
		{2, 4, "[0 1 1 3 4 5 6 7]", "[NaN NaN 0 1 NaN 3 4 5]"},
	} {
		set := load(test.horizon, test.season)
		n := set.Length(0)
		last, past := make([]float32, n), make([]float32, n)
		must.Do(t, set.Naive(last, past, 0))
		must.Equal(t, fmt.Sprint(last), test.last, "%+v: last values", test)
		must.Equal(t, fmt.Sprint(past), test.past, "%+v: values of the season before", test)
		must.Fail(t, set.Naive(last[1:], past, 0), "expected", fmt.Sprint(n))
	}
}
