package train

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Reading a table returns what was written, to six digits.
func TestReadSweep(t *testing.T) {
	accuracy, mse, rmse := 0.75, 0.125, 3.5
	s := Sweep{Dir: t.TempDir(), Axes: []Axis{
		{[]string{"ssm.init"}, []string{"lin", "dfout"}}, {[]string{"ssm.dt_min", "ssm.dt_max"}, []string{"0.1", "0.2"}}}}
	rows := []SweepRow{
		{Values: []string{"lin", "0.1"}, Seed: 1, Best: &Metrics{Epoch: 2, Step: 30, ValLoss: 0.5, ValAccuracy: &accuracy}, Test: &Result{Accuracy: 0.25}},
		{Values: []string{"lin", "0.2"}, Seed: 2, Diverged: true},
		{Values: []string{"dfout", "0.1"}, Seed: 1, Diverged: true, Best: &Metrics{Epoch: 1, Step: 15, ValLoss: 2, ValRMSE: &rmse, RelativeMSE: &mse}, Test: &Result{RMSE: 4}, Level: "avx2+avx512"},
	}
	must.Do(t, s.write(rows))
	got := must.Get(ReadSweep(s.Dir))(t)
	if !reflect.DeepEqual(got.Axes, s.Axes) {
		t.Errorf("axes %v, expected %v", got.Axes, s.Axes)
	}
	if !reflect.DeepEqual(got.Rows, rows) {
		t.Errorf("rows %+v, expected %+v", got.Rows, rows)
	}
}

func TestReadSweepRejects(t *testing.T) {
	head := "ssm.init," + strings.Join(sweepColumns, ",") + "\n"
	for want, text := range map[string]string{
		"no rows":                        head,
		"columns":                        "a,b\n1,2\n",
		"wrong number of fields":         head + "lin,1\n",
		`val_loss "much"`:                head + "lin,1,false,1,2,much,,,,,,avx2\n",
		`seed "-1": expected an integer`: head + "lin,-1,false,1,2,0.5,,,,,,avx2\n",
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, sweepFile), []byte(text), 0o666))
		must.Reject(ReadSweep(dir))(t, ErrData, want, dir)
	}
	must.Reject(ReadSweep(filepath.Join(t.TempDir(), "nowhere")))(t, ErrData)
}
