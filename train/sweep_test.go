package train

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestParseAxis(t *testing.T) {
	for s, want := range map[string]Axis{
		"ssm.init=lin,inv":            {[]string{"ssm.init"}, []string{"lin", "inv"}},
		"ssm.dt_min + ssm.dt_max=0.1": {[]string{"ssm.dt_min", "ssm.dt_max"}, []string{"0.1"}},
		"optim.milestones=[1,2],[3]":  {[]string{"optim.milestones"}, []string{"[1,2]", "[3]"}},
		"optim.betas=[0.8,0.9]":       {[]string{"optim.betas"}, []string{"[0.8,0.9]"}},
	} {
		if got, err := ParseAxis(s); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "ssm.init", "ssm.init=", "ssm.init=lin,", "=lin", "a+=1"} {
		must.Reject(ParseAxis(s))(t, ErrConfig)
	}
}

func table(t *testing.T, dir string) [][]string {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(dir, "sweep.csv")))(t)
	defer f.Close()
	return must.Get(csv.NewReader(f).ReadAll())(t)
}

// A sweep that is interrupted in its third run and started again has the results of an
// uninterrupted one.
func TestSweep(t *testing.T) {
	sweep := func(dir string) Sweep {
		return Sweep{Base: tiny(t).Config, Load: loadEchoes, Dir: dir, Seeds: 2, Axes: []Axis{
			{[]string{"ssm.init"}, []string{"lin", "dfout"}}, {[]string{"optim.lr"}, []string{"0.01"}}}}
	}
	whole := t.TempDir()
	rows, err := sweep(whole).Run(t.Context())
	if err != nil || len(rows) != 4 || rows[3].Values[0] != "dfout" || rows[3].Seed != 2 || rows[3].Best == nil {
		t.Fatalf("%+v, %v", rows, err)
	}
	want := table(t, whole)
	if len(want) != 5 || want[0][0] != "ssm.init" || want[1][7] == "" && want[1][9] == "" {
		t.Errorf("table %v", want)
	}

	dir := t.TempDir()
	s := sweep(dir)
	ctx, cancel := context.WithCancel(t.Context())
	s.Begin = func(run, runs int, _ string, tr *Trainer) {
		must.Equal(t, runs, 4, "runs")
		if run == 3 {
			tr.reporter = stopAt(2, cancel)
		}
	}
	must.Reject(s.Run(ctx))(t, ErrInterrupted)
	must.Equal(t, len(table(t, dir)), 3, "lines of the table after two runs")
	var begun []int
	s = sweep(dir)
	s.Begin = func(run, _ int, _ string, _ *Trainer) { begun = append(begun, run) }
	must.Get(s.Run(t.Context()))(t)
	if !slices.Equal(begun, []int{3, 4}) {
		t.Errorf("resumed sweep begins the runs %v", begun)
	}
	if got := table(t, dir); !slices.EqualFunc(got, want, func(a, b []string) bool { return slices.Equal(a, b) }) {
		t.Errorf("resumed sweep:\n%v\nexpected\n%v", got, want)
	}
}

func TestSweepRejects(t *testing.T) {
	for want, sets := range map[string][]string{
		"unknown key ssm.colour":            {"ssm.colour=red"},
		"set their number (--seeds)":        {"seed=5,6"},
		"ssm.init occurs twice":             {"ssm.init=lin,inv", "ssm.init=dfout,legs"},
		"ssm.dt_max occurs twice":           {"ssm.dt_min+ssm.dt_max=0.01,0.1", "ssm.dt_max=0.5"},
		"ssm.init=lin seed=1 are the same":  {"ssm.init=lin,lin"},
		"optim.lr=1e-2 seed=1 are the same": {"optim.lr=0.01,1e-2"},
		"ssm.init=dfout optim.lr=-1 seed=1": {"ssm.init=dfout,inv", "optim.lr=0.1,-1"}, // the second run
		"from a file":                       {"ssm.init=lin,imported"},
	} {
		s := Sweep{Seeds: 1, Base: tiny(t).Config, Load: loadEchoes, Dir: filepath.Join(t.TempDir(), "sweep")}
		for _, set := range sets {
			a := must.Get(ParseAxis(set))(t)
			s.Axes = append(s.Axes, a)
		}
		must.Reject(s.Run(t.Context()))(t, ErrConfig, want)
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%q: a run has begun", sets)
		}
	}
	must.Reject((Sweep{Base: tiny(t).Config, Load: loadEchoes, Dir: t.TempDir()}).Run(t.Context()))(t, ErrConfig)
}

// Sweeps make missing runs, and those that have too few epochs.
func TestSweepResumes(t *testing.T) {
	s := Sweep{Base: tiny(t, "train.epochs=1").Config, Load: loadEchoes, Dir: t.TempDir(), Seeds: 1, Axes: []Axis{{[]string{"ssm.init"}, []string{"lin", "inv", "dfout"}}}}
	must.Get(s.Run(t.Context()))(t)
	must.Do(t, os.RemoveAll(filepath.Join(s.Dir, "ssm.init=lin,seed=1")))
	ctx, cancel := context.WithCancel(t.Context())
	var begun []string
	s.Begin = func(_, _ int, name string, _ *Trainer) {
		if begun = append(begun, name); name == "ssm.init=inv seed=1" {
			cancel()
		}
	}
	if _, err := s.Run(ctx); err != nil || !slices.Equal(begun, []string{"ssm.init=lin seed=1"}) {
		t.Errorf("began %q, %v", begun, err)
	}
	must.Do(t, s.Base.Set("train.epochs=2"))
	begun = nil
	if _, err := s.Run(ctx); !errors.Is(err, ErrInterrupted) || len(begun) != 2 {
		t.Errorf("with more epochs began %q, %v", begun, err)
	}
	if got := table(t, s.Dir); len(got) != 2 || got[1][3] != "2" {
		t.Errorf("table %v, expected a row of two epochs", got)
	}
}

// Every value of every preset gives a valid configuration with the first values of the other axes.
func TestSweepPresets(t *testing.T) {
	for _, name := range SweepPresets() {
		axes := must.Get(SweepPreset(name, nil))(t)
		for _, a := range axes {
			for _, v := range a.Values {
				cfg := preset(t, "scifar")
				for _, b := range axes {
					value := b.Values[0]
					if b.Name() == a.Name() {
						value = v
					}
					for _, key := range b.Keys {
						if err := cfg.Set(key + "=" + value); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
				if err := cfg.Validate(); err != nil {
					t.Errorf("%s: %s=%s: %v", name, a.Name(), v, err)
				}
			}
		}
	}
	given := Axis{[]string{"ssm.init"}, []string{"real"}}
	axes, err := SweepPreset("step", []Axis{given})
	if err != nil || len(axes) != 2 || !reflect.DeepEqual(axes[1], given) || len(axes[0].Keys) != 4 {
		t.Errorf("step with ssm.init=real: %v, %v", axes, err)
	}
	for want, set := range map[string]string{
		"ssm.dt_min occurs twice": "ssm.dt_min=0.4",
		"ssm.xi_max occurs":       "ssm.xi_max+optim.lr=0.01,0.02",
		"(--seeds)":               "seed=5",
		"optim.lr occurs":         "optim.lr+optim.lr=0.1",
	} {
		a := must.Get(ParseAxis(set))(t)
		must.Reject(SweepPreset("step", []Axis{a}))(t, ErrConfig, want)
	}
	must.Reject(SweepPreset("figure12", nil))(t, ErrConfig)
}

// Rows may be recorded in any order; the table has that of the grid. Until Close the folder is
// locked.
func TestSweepFolder(t *testing.T) {
	s := Sweep{Base: tiny(t).Config, Dir: t.TempDir(), Seeds: 3}
	f := must.Get(s.Open())(t)
	must.Reject(s.Open())(t, ErrConfig, "another process")
	must.Equal(t, f.Runs[2].Name(), "seed=3", "name")
	for i := range f.Runs {
		must.Do(t, os.Mkdir(f.Runs[i].Dir, 0o755))
	}
	must.Do(t, f.Record(2, SweepRow{Level: "avx2"}))
	must.Do(t, f.Record(0, SweepRow{Diverged: true}))
	must.Equal(t, f.Complete(1), false, "run 2 is complete")
	must.Equal(t, len(f.Rows()), 2, "rows")
	if got := table(t, s.Dir); len(got) != 3 || got[1][0] != "1" || got[2][0] != "3" {
		t.Errorf("table %v", got)
	}
	must.Do(t, f.Close())
}

// Data may be moved. Complete runs of other data are an error.
func TestSweepOfOtherData(t *testing.T) {
	loaded, examples := 0, 8
	s := Sweep{Base: tiny(t).Config, Dir: t.TempDir(), Seeds: 1, Axes: []Axis{{[]string{"ssm.init"}, []string{"lin", "inv"}}},
		Load: func(_ context.Context, c Config) (*dataset.Dataset, error) {
			loaded++
			d := echoData(c)
			d.Train = echo{n: examples, length: 6}
			return d, nil
		}}
	run := func(dir string) ([]SweepRow, error) {
		s.Base.SetDir(dir)
		return s.Run(t.Context())
	}
	must.Get(run("here"))(t)
	want := table(t, s.Dir)
	for _, dir := range []string{"here", "moved"} {
		must.Get(run(dir))(t)
		must.Equal(t, fmt.Sprint(table(t, s.Dir)), fmt.Sprint(want), "table with the data in %s", dir)
	}
	must.Equal(t, loaded, 4, "data sets loaded")
	examples++
	must.Reject(run("other"))(t, ErrConfig, "ssm.init=lin,seed=1 had other data: 9 training examples, expected 8")
}

// Runs with different names have different folders, all of them in the sweep's folder.
func TestRunFolders(t *testing.T) {
	folders := map[string]string{}
	for _, value := range []string{"a/b", "a_b", `a\b`, "a%2Fb", "a%b", "../b", "ab"} {
		dir := runFolder("sweep", []string{"data.dir=" + value, "seed=1"})
		if other, ok := folders[dir]; ok || filepath.Dir(dir) != "sweep" {
			t.Errorf("%q has the folder %s, as has %q", value, dir, other)
		}
		folders[dir] = value
	}
	must.Equal(t, runFolder("sweep", []string{"ssm.init=lin", "seed=1"}), filepath.Join("sweep", "ssm.init=lin,seed=1"), "folder")
}
