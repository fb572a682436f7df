package train

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestParseAxis(t *testing.T) {
	for s, want := range map[string]Axis{
		"ssm.init=lin,inv":           {[]string{"ssm.init"}, []string{"lin", "inv"}},
		"ssm.dt_min+ssm.dt_max=0.1":  {[]string{"ssm.dt_min", "ssm.dt_max"}, []string{"0.1"}},
		"optim.milestones=[1,2],[3]": {[]string{"optim.milestones"}, []string{"[1,2]", "[3]"}},
		"optim.betas=[0.8,0.9]":      {[]string{"optim.betas"}, []string{"[0.8,0.9]"}},
	} {
		if got, err := ParseAxis(s); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "ssm.init", "ssm.init=", "ssm.init=lin,", "=lin", "a+=1"} {
		if _, err := ParseAxis(s); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func table(t *testing.T, dir string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "sweep.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A sweep that is interrupted in its third run and started again has the results of one that was not.
func TestSweep(t *testing.T) {
	sweep := func(dir string) Sweep {
		return Sweep{Base: tiny(t), Dir: dir, Seeds: 2, Axes: []Axis{
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
		if runs != 4 {
			t.Errorf("%d runs", runs)
		}
		if run == 3 {
			tr.Report(stopAt(2, cancel))
		}
	}
	if _, err := s.Run(ctx); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("interrupted sweep: %v", err)
	}
	if got := table(t, dir); len(got) != 3 {
		t.Errorf("after two runs the table has %d lines", len(got))
	}
	if _, err := sweep(dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := table(t, dir); !slices.EqualFunc(got, want, func(a, b []string) bool { return slices.Equal(a, b) }) {
		t.Errorf("resumed sweep:\n%v\nwant\n%v", got, want)
	}
}

func TestSweepRefuses(t *testing.T) {
	for _, s := range []Sweep{{Seeds: 0}, {Seeds: 1, Axes: []Axis{{[]string{"ssm.colour"}, []string{"red"}}}}} {
		s.Base, s.Dir = tiny(t), t.TempDir()
		if _, err := s.Run(t.Context()); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: error %v", s.Axes, err)
		}
	}
}

// Every value of every preset makes a run that can begin, on its own and with the others' first values.
func TestSweepPresets(t *testing.T) {
	for _, name := range SweepPresets() {
		axes, err := SweepPreset(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range axes {
			for _, v := range a.Values {
				cfg := preset(t, "scifar")
				cfg.Data.Dir = "somewhere"
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
	if err != nil || len(axes) != 3 || !reflect.DeepEqual(axes[2], given) || axes[0].Name() != "train.epochs" || len(axes[1].Keys) != 4 {
		t.Errorf("step with ssm.init=real: %v, %v", axes, err)
	}
	if axes, err := SweepPreset("", []Axis{given}); err != nil || len(axes) != 1 {
		t.Errorf("no preset: %v, %v", axes, err)
	}
	if _, err := SweepPreset("figure12", nil); !errors.Is(err, ErrConfig) {
		t.Errorf("unknown preset: error %v", err)
	}
}
