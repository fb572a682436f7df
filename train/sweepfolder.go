package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

// SweepFolder is the folder of a sweep: a folder per run with its row in result.csv, and sweep.csv,
// which is locked until Close unless the sweep is a Part. Runs may be made in any order, also on
// other machines. One goroutine at a time may use it.
type SweepFolder struct {
	Runs   []SweepRun // the whole grid, in the order of the table
	sweep  Sweep
	rows   []*SweepRow // one per run; nil: it is not complete
	locked *filelock.Lock
}

// Open validates the configurations of all runs, makes and locks the folder, and reads the results
// in it. A result that cannot be read is an error. A run whose result is damaged or has another
// configuration counts as incomplete. Open does not use Load, Begin and Reporter.
func (s Sweep) Open() (*SweepFolder, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, err
	}
	f := &SweepFolder{Runs: runs, sweep: s, rows: make([]*SweepRow, len(runs))}
	if err := f.read(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// read locks the folder and reads the results in it.
func (f *SweepFolder) read() (err error) {
	if f.sweep.Part.whole() {
		if f.locked, err = lockFolder(atomicfile.System(), f.sweep.Dir, sweepLock); err != nil {
			return err
		}
		if err := atomicfile.System().RemoveTemporary(filepath.Join(f.sweep.Dir, sweepFile)); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	for i := range f.Runs {
		if f.rows[i], err = f.Runs[i].result(); err != nil {
			return fmt.Errorf("%s: %w", f.Runs[i].Name(), err)
		}
	}
	return f.write()
}

// Complete reports whether run i has ended, with its result in its folder.
func (f *SweepFolder) Complete(i int) bool { return f.rows[i] != nil }

// CheckData returns an error if the complete run i had other data. It loads the data only if their
// folder has another name than in the run's configuration.
func (f *SweepFolder) CheckData(ctx context.Context, i int) error {
	r := &f.Runs[i]
	recorded, err := LoadRun(r.Dir)
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

// Record stores the row of run i, which is complete, in its folder and in sweep.csv.
func (f *SweepFolder) Record(i int, row SweepRow) error {
	r := &f.Runs[i]
	row.Values, row.Seed = r.Values, r.Seed
	f.rows[i] = &row
	err := r.replace(resultFile, func(w io.Writer) error { return writeRows(w, f.sweep.Axes, []SweepRow{row}) })
	return cmp.Or(err, f.write())
}

// Rows returns the rows of the complete runs, in the order of the table.
func (f *SweepFolder) Rows() (rows []SweepRow) {
	for _, row := range f.rows {
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return rows
}

// write replaces the table, unless the sweep is a Part or has no result.
func (f *SweepFolder) write() error {
	rows := f.Rows()
	if len(rows) == 0 || !f.sweep.Part.whole() {
		return nil
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

// result returns the row in the run's folder, or nil if the run is not complete or has another
// configuration or budget. A file that cannot be read is an error.
func (r *SweepRun) result() (*SweepRow, error) {
	t, err := readSweep(r.Dir, resultFile)
	var recorded Config
	if err == nil {
		recorded, err = LoadRun(r.Dir)
	}
	if err == nil {
		c := r.Config // in recorded the data have set these
		c.Model.Encoder = cmp.Or(c.Model.Encoder, recorded.Model.Encoder)
		c.Model.DInput = cmp.Or(c.Model.DInput, recorded.Model.DInput)
		c.Model.DOutput = cmp.Or(c.Model.DOutput, recorded.Model.DOutput)
		err = r.checkConfig(c, recorded, nil)
	}
	switch {
	case errors.Is(err, ErrConfig), errors.Is(err, ErrData), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case recorded.Train.Epochs != r.Config.Train.Epochs || recorded.Train.Patience != r.Config.Train.Patience:
		return nil, nil
	}
	return &t.Rows[0], nil
}
