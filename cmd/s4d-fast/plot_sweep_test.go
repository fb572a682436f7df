package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// sweepDir makes the folder of a sweep with the lines of sweep.csv, without runs.
func sweepDir(t *testing.T, name string, lines ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	must.Do(t, os.Mkdir(dir, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "sweep.csv"), []byte(strings.Join(lines, "\n")+"\n"), 0o666))
	return dir
}

const (
	sweepHead = ",seed,diverged,epoch,step,val_loss,val_accuracy,val_rmse,relative_mse,test_accuracy,test_rmse,level"
	diverged  = ",true,0,0,,,,,,,"
)

func result(accuracy string) string { return ",false,1,9,0.5," + accuracy + ",,,,," }

// A curve is the mean over seeds against the last key whose values are numbers, with a gap where a
// run has no result.
func TestSweepPanel(t *testing.T) {
	dir := sweepDir(t, "a", "ssm.l_max,ssm.init,model.n_layers"+sweepHead,
		"8,lin,2,1"+result("0.5"), "8,lin,2,2"+result("0.75"), "8,lin,4,1"+result("1"), "8,lin,4,2"+result("1"),
		"8,inv,2,1"+result("0.25"), "8,inv,2,2"+diverged, "8,inv,4,1"+result("0.5"), "8,inv,4,2"+result("0"))
	p, err := sweepPanel(dir)
	must.Do(t, err)
	lin, inv := p.Curves[0], p.Curves[1]
	if len(p.Curves) != 2 || lin.Name != "length of the kernel = 8, S4D-Lin" || inv.Name != "length of the kernel = 8, S4D-Inv (1 diverged)" || p.X != "layers" || p.LogX || p.LogY {
		t.Fatalf("panel %+v", p)
	}
	must.Equal(t, fmt.Sprint(lin.X, lin.Y), "[2 4] [62.5 100]", "layers and means of lin")
	if !math.IsNaN(inv.Y[0]) || inv.Y[1] != 25 {
		t.Errorf("means of inv %v, expected [NaN 25]", inv.Y)
	}
	wrong := sweepDir(t, "b", "model.n_layers"+sweepHead, "2,1,false,1,9,0.5,,0.1,0.01,,,", "2,2,false,1,9,0.5,,0.1,1,,,")
	if p, err := sweepPanel(wrong); err != nil || !p.LogY || p.Curves[0].Name != "b" || math.Abs(p.Curves[0].Y[0]-0.1) > 1e-15 || !strings.HasPrefix(p.Title, "Sweep: geometric means") {
		t.Errorf("errors of 0.01 and 1: %+v, %v", p, err)
	}
	if fmt.Sprint(lin.Runs) != "[{2 50} {2 75} {4 100} {4 100}]" || !strings.HasPrefix(p.Title, "Sweep: means") || p.Y != "validation accuracy [%]" {
		t.Errorf("runs %v, title %q, axis %q", lin.Runs, p.Title, p.Y)
	}
}

func TestPlotSweep(t *testing.T) {
	steps := "ssm.dt_min+ssm.dt_max"
	a := sweepDir(t, "s4d", "ssm.init,"+steps+sweepHead, "lin,0.001,1"+result("0.5"), "lin,0.1,1"+result("0.75"), "inv,0.001,1"+result("0.2"), "inv,0.1,1"+result("0.3"))
	mustHave(t, drawn(t, 1200, 500, "sweep", a), "Sweep", "S4D-Lin", "S4D-Inv", "Δ", "validation accuracy [%]")
	mustHave(t, drawn(t, 1200, 500, "sweep", sweepOf(t, "ssm.init=dfout")), "Sweep of delay", "S4D-DFouT", "relative squared error (validation set)")
	undamped := sweepOf(t, "ssm.init=lin,dfout")
	mustHave(t, drawn(t, 1200, 500, "sweep", undamped), "Δ, ξ")
	runs, err := filepath.Glob(filepath.Join(undamped, "*=0.03*"))
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %q, %v", runs, err)
	}
	mustHave(t, drawn(t, 1200, 4*232+80, append([]string{"delay"}, runs...)...), "output of S4D-DFouT, ξ = 0.03")
}

// sweepOf runs a sweep over Δ.
func sweepOf(t *testing.T, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep")
	steps := sets("ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.01,0.03")
	ok(t, slices.Concat([]string{"sweep", "delay", "--out", dir}, sets(set...), shortDelay, steps)...)
	return dir
}
