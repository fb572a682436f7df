package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

// SweepFolder is the folder of a sweep: a folder per run, and sweep.csv or the table of the part,
// which is locked until Close. Runs may be made in any order, also on other machines. One goroutine
// at a time may use it.
type SweepFolder struct {
	Runs   []SweepRun // the whole grid, in the order of the table
	sweep  Sweep
	rows   []*SweepRow // one per run; nil: none
	done   []bool      // the run is complete
	locked *filelock.Lock
}

// Open validates the configurations of all runs, makes and locks the folder, and reads the table in
// it. A table or a run that cannot be read is an error. A damaged table counts as empty. A run that
// is damaged, or has another configuration, counts as incomplete. Open does not use Load, Begin and
// Reporter.
func (s Sweep) Open() (*SweepFolder, error) {
	if err := s.Part.validate(); err != nil {
		return nil, err
	}
	runs, err := s.runs()
	if err != nil {
		return nil, err
	}
	f := &SweepFolder{Runs: runs, sweep: s, rows: make([]*SweepRow, len(runs)), done: make([]bool, len(runs))}
	if f.locked, err = lockFolder(s.disk(), s.Dir, s.Part.lock()); err != nil {
		return nil, err
	}
	if err := s.disk().RemoveTemporary(filepath.Join(s.Dir, s.Part.Table())); err != nil {
		f.Close()
		return nil, fmt.Errorf("train: %w", err)
	}
	old, err := s.oldRows(s.Part.Table())
	if err != nil {
		f.Close()
		return nil, err
	}
	for i := range runs {
		row, ok := old[strings.Join(runs[i].key, ",")]
		if !ok {
			continue
		}
		f.rows[i] = &row
		if f.done[i], err = runs[i].complete(row); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", runs[i].Name(), err)
		}
	}
	if !slices.Contains(f.done, true) { // sweep.csv has at least one row
		return f, nil
	}
	return f, f.write()
}

// Complete reports whether run i has ended, with its row in the table and its folder complete.
func (f *SweepFolder) Complete(i int) bool { return f.done[i] }

// CheckData returns an error if the complete run i had other data. It loads the data only if their
// folder has another name than in the run's configuration.
func (f *SweepFolder) CheckData(ctx context.Context, i int) error {
	r := &f.Runs[i]
	recorded, err := loadRun(r.files, r.Dir)
	if err != nil || recorded.Dir() == r.Config.Dir() || f.sweep.Load == nil {
		return err
	}
	data, err := f.sweep.Load(ctx, r.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	_, st, err := r.readState(checkpointFile)
	if err != nil {
		return err
	}
	now := newFingerprint(data)
	if err := st.Data.compare(&now); err != nil {
		return configErrorf("out: the run in %s had other data: %w; choose another folder, or the same data", r.Dir, err)
	}
	return nil
}

// Record stores the row of run i, whose folder is complete, and rewrites sweep.csv. The table keeps
// the rows of earlier runs with the same names.
func (f *SweepFolder) Record(i int, row SweepRow) error {
	row.Values, row.Seed = f.Runs[i].Values, f.Runs[i].Seed
	f.rows[i], f.done[i] = &row, true
	return f.write()
}

// Rows returns the rows of the complete runs, in the order of the table.
func (f *SweepFolder) Rows() (rows []SweepRow) {
	for i, row := range f.rows {
		if f.done[i] {
			rows = append(rows, *row)
		}
	}
	return rows
}

func (f *SweepFolder) write() error {
	var rows []SweepRow
	for _, row := range f.rows {
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return f.sweep.write(rows)
}

// Close unlocks the folder.
func (f *SweepFolder) Close() error {
	if f.locked == nil {
		return nil
	}
	return f.locked.Close()
}

// oldRows returns the rows of an existing table with the same axes, by the name of the run. A table
// that is missing or damaged has none.
func (s Sweep) oldRows(table string) (map[string]SweepRow, error) {
	t, err := readSweep(s.disk(), s.Dir, table)
	if err != nil && !errors.Is(err, ErrData) { // cannot be read
		return nil, err
	}
	if err != nil || !slices.EqualFunc(t.Axes, s.Axes, func(a, b Axis) bool { return a.Name() == b.Name() }) {
		return nil, nil
	}
	rows := map[string]SweepRow{}
	for _, row := range t.Rows {
		rows[strings.Join(runName(t.Axes, row.Values, row.Seed), ",")] = row
	}
	return rows, nil
}

// checkRecorded returns an error if the configuration in the run's folder differs from that of the
// run. Without the data, it also rejects some differences that New accepts.
func (r *SweepRun) checkRecorded(recorded Config) error {
	c := r.Config // in recorded the data have set these
	c.Model.Encoder = cmp.Or(c.Model.Encoder, recorded.Model.Encoder)
	c.Model.DInput = cmp.Or(c.Model.DInput, recorded.Model.DInput)
	c.Model.DOutput = cmp.Or(c.Model.DOutput, recorded.Model.DOutput)
	return r.checkConfig(c, recorded, nil)
}

// complete reports whether the run's folder holds this run, complete and with the result in its
// row. A file that cannot be read is an error.
func (r *SweepRun) complete(row SweepRow) (bool, error) {
	recorded, err := loadRun(r.files, r.Dir)
	if err == nil {
		err = r.checkRecorded(recorded)
	}
	var st state
	if err == nil {
		_, st, err = r.readState(checkpointFile)
	}
	switch {
	case errors.Is(err, ErrConfig), errors.Is(err, ErrData), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case st.Best == nil || row.Best == nil || st.Best.Step != row.Best.Step:
		return false, nil
	}
	return st.finished(r.Config.Train), nil
}
