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
var sweepColumns = []string{"seed", "diverged", "epoch", "step", "val_loss", "val_accuracy", "val_rmse", "relative_mse", "test_accuracy", "test_rmse", "level"}

func (s Sweep) write(rows []SweepRow) error {
	err := atomicfile.System().Replace(filepath.Join(s.Dir, sweepFile), 0o666, func(w io.Writer) error { return writeRows(w, s.Axes, rows) })
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

// numbers returns the metrics of a row in the order of their columns. Those that the task does not
// have are nil.
func (r *SweepRow) numbers() (n [6]*float64) {
	if b := r.Best; b != nil {
		n = [6]*float64{&b.ValLoss, b.ValAccuracy, b.ValRMSE, b.RelativeMSE}
	}
	switch {
	case r.Test == nil:
	case n[1] != nil:
		n[4] = &r.Test.Accuracy
	default:
		n[5] = &r.Test.RMSE
	}
	return n
}

// fields returns a row of the table. Metrics that the task does not have are empty.
func (r *SweepRow) fields() []string {
	best := Metrics{}
	if r.Best != nil {
		best = *r.Best
	}
	f := append(slices.Clone(r.Values), fmt.Sprint(r.Seed), fmt.Sprint(r.Diverged), fmt.Sprint(best.Epoch), fmt.Sprint(best.Step))
	for _, v := range r.numbers() {
		text := ""
		if v != nil {
			text = strconv.FormatFloat(*v, 'g', 6, 64)
		}
		f = append(f, text)
	}
	return append(f, r.Level)
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
	return readSweep(dir, sweepFile)
}

func readSweep(dir, table string) (*SweepTable, error) {
	path := filepath.Join(dir, table)
	text, err := atomicfile.System().ReadFile(path, maxSweep)
	if err != nil {
		return nil, contentError(fmt.Errorf("train: sweep: %w", err))
	}
	t, err := parseSweep(text)
	if err != nil {
		return nil, DataError(fmt.Errorf("train: %s: %w", path, err))
	}
	t.Dir = dir
	return t, nil
}

// maxSweep is the largest size of a table in bytes.
const maxSweep = 16 << 20

func parseSweep(text []byte) (*SweepTable, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll() // every record has as many fields as the first
	if err != nil {
		return nil, err
	}
	if len(records) < 2 {
		return nil, errors.New("no rows, expected one per run")
	}
	head := records[0]
	n := len(head) - len(sweepColumns)
	if n < 0 || !slices.Equal(head[n:], sweepColumns) {
		return nil, fmt.Errorf("%d columns, expected those of a sweep, which end in %q", len(head), sweepColumns)
	}
	t, values := &SweepTable{}, make([]map[string]bool, n)
	for i, name := range head[:n] {
		t.Axes, values[i] = append(t.Axes, Axis{Keys: strings.Split(name, "+")}), map[string]bool{}
	}
	for _, record := range records[1:] {
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
	return t, nil
}

// parseSweepRow is the inverse of SweepRow.fields.
func parseSweepRow(record []string, axes int) (SweepRow, error) {
	f := record[axes:] // of sweepColumns
	row := SweepRow{Values: record[:axes], Diverged: f[1] == "true", Level: f[10]}
	var whole [4]uint64
	var err error
	for _, i := range []int{0, 2, 3} {
		if whole[i], err = strconv.ParseUint(f[i], 10, 63); err != nil {
			return row, fmt.Errorf("%s %.20q: expected an integer", sweepColumns[i], f[i])
		}
	}
	var n [6]*float64
	for i := range n {
		if text := f[4+i]; text != "" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return row, fmt.Errorf("%s %.20q: expected a number", sweepColumns[4+i], text)
			}
			n[i] = &v
		}
	}
	row.Seed = whole[0]
	if n[0] != nil {
		row.Best = &Metrics{Epoch: int(whole[2]), Step: int(whole[3]), ValLoss: *n[0], ValAccuracy: n[1], ValRMSE: n[2], RelativeMSE: n[3]}
	}
	switch {
	case n[4] != nil:
		row.Test = &Result{Accuracy: *n[4]}
	case n[5] != nil:
		row.Test = &Result{RMSE: *n[5]}
	}
	return row, nil
}

// Config returns the complete configuration of a row's run, from the run's folder.
func (t *SweepTable) Config(row SweepRow) (Config, error) {
	return LoadRun(runFolder(t.Dir, runName(t.Axes, row.Values, row.Seed)))
}
