package train

import (
	"bytes"
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
	sweepFile  = "sweep.csv"
	sweepLock  = "lock"       // locked while Run runs
	resultFile = "result.csv" // in the folder of a complete run: the table of this run
)

// sweepColumns are the columns of the table after those of the axes.
var sweepColumns = []string{"seed", "diverged", "epoch", "step", "val_loss", "val_accuracy", "val_rmse", "relative_mse", "test_accuracy", "test_rmse", levelColumn}

const levelColumn = "level"

// write replaces the table.
func (s Sweep) write(rows []SweepRow) error {
	err := s.disk().Write(filepath.Join(s.Dir, sweepFile), 0o666, func(w io.Writer) error { return writeRows(w, s.Axes, rows) })
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

func writeRows(w io.Writer, axes []Axis, rows []SweepRow) error {
	out := csv.NewWriter(w)
	var head []string
	for _, a := range axes {
		head = append(head, a.Name())
	}
	_ = out.Write(append(head, sweepColumns...)) // Flush returns the error
	for _, r := range rows {
		_ = out.Write(r.fields())
	}
	out.Flush()
	return out.Error()
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

// ReadSweep reads the table in a sweep's folder. Its numbers have six digits. If the table is
// missing or invalid, the error is ErrData.
func ReadSweep(dir string) (*SweepTable, error) {
	return readSweep(atomicfile.System(), dir, sweepFile)
}

func readSweep(files atomicfile.Files, dir, table string) (*SweepTable, error) {
	path := filepath.Join(dir, table)
	text, err := files.ReadFile(path, maxSweep)
	if err != nil {
		return nil, contentError(fmt.Errorf("train: sweep: %w", err))
	}
	t, err := parseSweep(text)
	if err != nil {
		return nil, dataError{fmt.Errorf("train: %s: %w", path, err)}
	}
	t.Dir = dir
	return t, nil
}

// maxSweep is the largest size of a table in bytes.
const maxSweep = 16 << 20

func parseSweep(text []byte) (*SweepTable, error) {
	in := csv.NewReader(bytes.NewReader(text)) // every record has as many fields as the first
	head, err := in.Read()
	if err == io.EOF {
		return nil, errNoRows
	}
	if err != nil {
		return nil, err
	}
	n := len(head) - len(sweepColumns)
	if n < 0 || !slices.Equal(head[n:], sweepColumns) {
		return nil, fmt.Errorf("%d columns, expected those of a sweep, which end in %q", len(head), sweepColumns)
	}
	t, values := &SweepTable{}, make([]map[string]bool, n)
	for i, name := range head[:n] {
		t.Axes, values[i] = append(t.Axes, Axis{Keys: strings.Split(name, "+")}), map[string]bool{}
	}
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		row, err := parseSweepRow(record, n)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", len(t.Rows)+1, err)
		}
		for i, v := range row.Values {
			if !values[i][v] {
				values[i][v], t.Axes[i].Values = true, append(t.Axes[i].Values, v)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil, errNoRows
	}
	return t, nil
}

var errNoRows = errors.New("no rows, expected one per run")

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
			errs = append(errs, fmt.Errorf("%s %.20q: expected a number", name, fields[name]))
		}
		return &v
	}
	whole := func(name string) uint64 {
		v, err := strconv.ParseUint(fields[name], 10, 63)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %.20q: expected an integer", name, fields[name]))
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
