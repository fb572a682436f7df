package train

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

const (
	sweepFile = "sweep.csv"
	sweepLock = "lock" // locked while Run runs
)

// sweepColumns are the columns of the table after those of the axes.
var sweepColumns = []string{"seed", "diverged", "epoch", "step", "val_loss", "val_accuracy", "val_rmse", "relative_mse", "test_accuracy", "test_rmse", levelColumn}

const levelColumn = "level" // missing in tables of earlier versions

// write replaces sweep.csv.
func (s Sweep) write(rows []SweepRow) error {
	err := s.disk().Write(filepath.Join(s.Dir, sweepFile), 0o666, func(w io.Writer) error {
		out := csv.NewWriter(w)
		var head []string
		for _, a := range s.Axes {
			head = append(head, a.Name())
		}
		_ = out.Write(append(head, sweepColumns...)) // Flush returns the error
		for _, r := range rows {
			_ = out.Write(r.fields())
		}
		out.Flush()
		return out.Error()
	})
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// fields returns a row of the table. Metrics that the task does not have are empty.
func (r SweepRow) fields() []string {
	f := append(append([]string{}, r.Values...), fmt.Sprint(r.Seed), fmt.Sprint(r.Diverged))
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 6, 64)
	}
	best := Metrics{}
	var loss *float64
	if r.Best != nil {
		best, loss = *r.Best, &r.Best.ValLoss
	}
	f = append(f, fmt.Sprint(best.Epoch), fmt.Sprint(best.Step), number(loss), number(best.ValAccuracy), number(best.ValRMSE), number(best.RelativeMSE))
	switch {
	case r.Test == nil:
		return append(f, "", "", r.Level)
	case best.ValAccuracy != nil:
		return append(f, number(&r.Test.Accuracy), "", r.Level)
	}
	return append(f, "", number(&r.Test.RMSE), r.Level)
}

// SweepTable is the content of a sweep's sweep.csv.
type SweepTable struct {
	Dir  string
	Axes []Axis // with their values in the table
	Rows []SweepRow
}

// ReadSweep reads the table in a sweep's folder. Its numbers have six digits. Errors are ErrData.
func ReadSweep(dir string) (*SweepTable, error) { return readSweep(atomicfile.System(), dir) }

func readSweep(files atomicfile.Files, dir string) (*SweepTable, error) {
	path := filepath.Join(dir, sweepFile)
	f, err := files.Open(path)
	if err != nil {
		return nil, dataError{fmt.Errorf("train: sweep: %w", err)}
	}
	defer f.Close()
	records, err := csv.NewReader(io.LimitReader(f, 64<<20)).ReadAll() // with equally many fields each
	if err != nil {
		return nil, dataError{fmt.Errorf("train: %s: %w", path, err)}
	}
	if len(records) < 2 {
		return nil, dataError{fmt.Errorf("train: %s has no rows: expected one per run", path)}
	}
	if last := len(records[0]) - 1; records[0][last] != levelColumn { // a table of an earlier version
		for i := range records {
			records[i] = append(records[i], "")
		}
		records[0][last+1] = levelColumn
	}
	head := records[0]
	n := len(head) - len(sweepColumns)
	if n < 0 || !slices.Equal(head[n:], sweepColumns) {
		return nil, dataError{fmt.Errorf("train: %s: columns %q: expected those of a sweep, which end in %q", path, head, sweepColumns)}
	}
	t := &SweepTable{Dir: dir}
	for _, name := range head[:n] {
		t.Axes = append(t.Axes, Axis{Keys: strings.Split(name, "+")})
	}
	for i, record := range records[1:] {
		row, err := parseSweepRow(record, n)
		if err != nil {
			return nil, dataError{fmt.Errorf("train: %s: run %d: %w", path, i+1, err)}
		}
		for i, v := range row.Values {
			if a := &t.Axes[i]; !slices.Contains(a.Values, v) {
				a.Values = append(a.Values, v)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// parseSweepRow is the inverse of SweepRow.fields.
func parseSweepRow(record []string, axes int) (SweepRow, error) {
	row := SweepRow{Values: record[:axes]}
	fields := map[string]string{}
	for i, name := range sweepColumns {
		fields[name] = record[axes+i]
	}
	var errs []error
	number := func(name string) *float64 {
		if fields[name] == "" {
			return nil
		}
		v, err := strconv.ParseFloat(fields[name], 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: expected a number", name, fields[name]))
		}
		return &v
	}
	whole := func(name string) uint64 {
		v, err := strconv.ParseUint(fields[name], 10, 63)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: expected an integer", name, fields[name]))
		}
		return v
	}
	row.Seed, row.Diverged, row.Level = whole("seed"), fields["diverged"] == "true", fields[levelColumn]
	best := Metrics{Epoch: int(whole("epoch")), Step: int(whole("step"))}
	best.ValAccuracy, best.ValRMSE, best.RelativeMSE = number("val_accuracy"), number("val_rmse"), number("relative_mse")
	if loss := number("val_loss"); loss != nil {
		best.ValLoss = *loss
		row.Best = &best
	}
	switch accuracy, rmse := number("test_accuracy"), number("test_rmse"); {
	case accuracy != nil:
		row.Test = &Result{Accuracy: *accuracy}
	case rmse != nil:
		row.Test = &Result{RMSE: *rmse}
	}
	return row, errors.Join(errs...)
}

// Config returns the complete configuration of a row's run, from the run's folder.
func (t *SweepTable) Config(row SweepRow) (Config, error) {
	return LoadRun(runFolder(t.Dir, runName(t.Axes, row.Values, row.Seed)))
}
