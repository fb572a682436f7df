package task

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

const tsClasses = `# made up
@problemName Motion
@timeStamps false
@univariate false
@dimensions 2
@equalLength false
@classLabel true up down
@data
1,2,3:4,5,6:up
-1.5,2e1:0,7:down
`

const tsNumbers = "@problemName Rate\n@targetLabel true\n@data\n"

// tsFolder writes the two files of a data set.
func tsFolder(t *testing.T, train, test string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a[b") // not a pattern
	write(t, filepath.Join(dir, "Set_TRAIN.ts"), []byte(train))
	write(t, filepath.Join(dir, "Set_TEST.ts"), []byte(test))
	return dir
}

func TestTS(t *testing.T) {
	d := mustLoad(t, "ts", Options{Dir: tsFolder(t, tsClasses+strings.Repeat("0,1,2,3:4,5,6,7:up\n", 18), tsClasses)})
	if d.Train.Len() != 20 || d.Val.Len() != 20 || !d.NoValidation || d.Test.Len() != 2 || d.Channels != 2 || d.Outputs != 2 || d.MaxLen != 4 || d.Regression {
		t.Fatalf("%d, %d, %d examples; %+v", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Info)
	}
	must.Equal(t, len(d.Notes), 0, "notes for training")
	var e dataset.Example
	must.Do(t, d.Test.Example(&e, 1, 0))
	if e.Label != 1 || e.Len != 2 || !slices.Equal(e.X, []float32{-1.5, 20, 0, 7}) {
		t.Errorf("second test example %+v", e)
	}
	must.Equal(t, d.Labels[1], "down", "name of label 1")
	other := strings.Replace(tsClasses, "true up down", "true left down up", 1) // in another order
	must.Do(t, mustLoad(t, "ts", Options{Dir: tsFolder(t, tsClasses, other)}).Test.Example(&e, 1, 0))
	must.Equal(t, e.Label, 1, "label of a class that the test file lists elsewhere")
	must.Do(t, d.Train.Example(&e, 0, 0))
	must.Equal(t, slices.Equal(e.X, []float32{1, 2, 3, 4, 5, 6}), false, "series as it is, expected a variant")
	d = mustLoad(t, "ts", Options{Dir: tsFolder(t, tsClasses+strings.Repeat("0,1,2,3:4,5,6,7:up\n", 498), tsClasses)})
	must.Equal(t, [2]int{d.Train.Len(), d.Val.Len()}, [2]int{450, 50}, "series for training and validation")
	checkMoments(t, d)
	must.Do(t, d.Train.Example(&e, 449, 0))
	must.Equal(t, slices.Equal(e.X, []float32{0, 1, 2, 3, 4, 5, 6, 7}), true, "the series of a large set as it is")
}

// The validation set of a small set has the training examples, which a note says.
func TestTSNoValidation(t *testing.T) {
	d := mustLoad(t, "ts", Options{Dir: tsFolder(t, tsClasses, tsClasses), Split: "val"})
	must.Equal(t, fmt.Sprint(d.Notes), "[2 series are too few for a validation set: it has the training examples; --split test measures others]", "notes")
}

func TestBIDMC(t *testing.T) {
	train, test := tsNumbers, tsNumbers
	for i := range 30 { // series i has the target i
		line := strings.Repeat("0,", i) + "1:" + strings.Repeat("2,", i) + "3:" + string('0'+rune(i/10)) + string('0'+rune(i%10)) + "\n"
		if i < 20 {
			train += line
		} else {
			test += line
		}
	}
	d := mustLoad(t, "bidmc-hr", Options{Dir: tsFolder(t, train, test)})
	if d.Train.Len() != 21 || d.Val.Len() != 4 || d.Test.Len() != 5 || !d.Regression || d.Outputs != 1 || d.Channels != 2 {
		t.Fatalf("%d, %d, %d examples; %+v", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Info)
	}
	var e dataset.Example
	var seen []int
	order := numpyPerm(30, 0)
	for _, s := range []dataset.Set{d.Train, d.Val, d.Test} {
		for i := range s.Len() {
			must.Do(t, s.Example(&e, i, 0))
			if s == d.Train && int(e.Target[0]) != order[9+i] {
				t.Errorf("training example %d is series %v, expected %d", i, e.Target[0], order[9+i])
			}
			must.Equal(t, e.Len, int(e.Target[0])+1, "samples of series %v", e.Target[0])
			must.Equal(t, e.Label, -1, "label of series %v", e.Target[0])
			seen = append(seen, int(e.Target[0]))
		}
	}
	slices.Sort(seen)
	for i, k := range seen {
		if i != k {
			t.Fatalf("the splits hold %v", seen)
		}
	}
	mustFail(t, "classes", "bidmc-rr", Options{Dir: tsFolder(t, tsClasses, tsClasses)}, "Set_TRAIN.ts has classes")
}

func TestNumpyPerm(t *testing.T) {
	for _, test := range []struct {
		seed uint64
		n    int
		want []int
	}{
		{0, 10, []int{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}}, {1, 7, []int{6, 2, 1, 0, 4, 3, 5}}, {0, 1000, []int{993, 859, 298, 553, 672, 971, 27, 231}},
	} {
		if got := numpyPerm(test.n, test.seed)[:len(test.want)]; !slices.Equal(got, test.want) {
			t.Errorf("permutation of %d with seed %d: %v …, expected %v", test.n, test.seed, got, test.want)
		}
	}
}

func TestBadTS(t *testing.T) {
	mustFail(t, "another number of channels", "ts", Options{Dir: tsFolder(t, tsClasses, "@targetLabel true\n@data\n1:2\n")}, "differ in their channels")
	mustFail(t, "a class without a name", "ts", Options{Dir: tsFolder(t, tsClasses+"1:1:left\n", tsClasses)}, "Set_TRAIN.ts: line 11: class \"left\"")
	mustFail(t, "a class of the test file only", "ts", Options{Dir: tsFolder(t, tsClasses, strings.ReplaceAll(tsClasses, "up", "left"))}, `Set_TEST.ts: class "left", expected one of ["up" "down"] as in`)
	mustFail(t, "no folder", "ts", Options{}, "timeseriesclassification.com")
	dir := tsFolder(t, tsClasses, tsClasses)
	write(t, filepath.Join(dir, "Other_TRAIN.ts"), nil)
	mustFail(t, "two sets", "ts", Options{Dir: dir}, "contains 2 files *_TRAIN.ts")
	os.Remove(filepath.Join(dir, "Other_TRAIN.ts"))
	os.Remove(filepath.Join(dir, "Set_TEST.ts"))
	mustFail(t, "no test file", "ts", Options{Dir: dir}, "Set_TEST.ts", "timeseriesclassification.com", "NAME_TEST.ts")
}

// The three data sets have one channel, several channels, and several lengths.
func TestRealTS(t *testing.T) {
	for name, want := range map[string]struct{ train, val, test, channels, classes, longest int }{
		"OSULeaf": {200, 200, 242, 1, 6, 427}, "BasicMotions": {40, 40, 40, 6, 4, 100}, "JapaneseVowels": {270, 270, 370, 12, 9, 29},
	} {
		d := mustLoad(t, "ts", Options{Dir: realData(t, filepath.Join("ucr", name))})
		if d.Train.Len() != want.train || d.Val.Len() != want.val || d.Test.Len() != want.test || d.Channels != want.channels ||
			d.Outputs != want.classes || d.MaxLen != want.longest {
			t.Errorf("%s: %d, %d, %d examples; %+v", name, d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Info)
		}
	}
}
