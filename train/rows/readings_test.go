package rows

import (
	"archive/zip"
	"fmt"
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
