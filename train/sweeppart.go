package train

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// Part is a part of a sweep's runs: those whose index, divided by Of, has the remainder Index. The
// zero value has all runs. Parts may run at once in the same folder, or in folders whose contents
// are copied into one before Collect.
type Part struct {
	Index int // 0 … Of-1
	Of    int // number of parts; 0: the sweep is not divided
}

// ParsePart parses "I/N", such as "0/8" for the first of eight parts.
func ParsePart(text string) (Part, error) {
	index, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, e := strconv.Atoi(of)
	p := Part{i, n}
	if err != nil || e != nil || n < 1 || p.validate() != nil {
		return p, configErrorf("part %q: expected I/N with I from 0 to N-1, such as 0/8 for the first of eight parts", text)
	}
	return p, nil
}

func (p Part) validate() error {
	if p != (Part{}) && (p.Index < 0 || p.Index >= p.Of) {
		return configErrorf("sweep: part %d of %d: expected 0 to %d", p.Index, p.Of, p.Of-1)
	}
	return nil
}

// has reports whether the part has run i.
func (p Part) has(i int) bool { return p.Of == 0 || i%p.Of == p.Index }

const partPrefix = "sweep.part-" // of the tables of parts

// Table returns the name of the part's table in the folder of the sweep.
func (p Part) Table() string {
	if p.Of == 0 {
		return sweepFile
	}
	return fmt.Sprintf("%s%d-of-%d.csv", partPrefix, p.Index, p.Of)
}

func (p Part) lock() string {
	if p.Of == 0 {
		return sweepLock
	}
	return fmt.Sprintf("%s-%d-of-%d", sweepLock, p.Index, p.Of)
}

// Collect writes sweep.csv from the tables of the parts in the folder, as Run writes it if the
// sweep is not divided. If a run is not complete, the error names it, and sweep.csv keeps the rows
// that it had.
func (s Sweep) Collect() ([]SweepRow, error) {
	s.Part = Part{}
	if _, err := s.disk().Stat(s.Dir); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := s.disk().ReadDir(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partPrefix) && filepath.Ext(e.Name()) == ".csv" {
			if err := f.join(e.Name()); err != nil {
				return nil, err
			}
		}
	}
	var missing []string
	for i := range f.Runs {
		if !f.done[i] {
			missing = append(missing, fmt.Sprintf("%d (%s)", i+1, f.Runs[i].Name()))
		}
	}
	if n := len(missing); n > 0 {
		list := strings.Join(missing[:min(n, maxMissing)], ", ")
		if n > maxMissing {
			list += ", …"
		}
		return nil, fmt.Errorf("train: %s: %d of %d runs are not complete: %s; run their parts again", s.Dir, n, len(f.Runs), list)
	}
	return f.Rows(), f.write()
}

// maxMissing is the number of runs that an error names.
const maxMissing = 10

// join adds the complete runs of a part's table.
func (f *SweepFolder) join(table string) error {
	rows, err := f.sweep.oldRows(table)
	if err != nil {
		return err
	}
	for i := range f.Runs {
		row, ok := rows[strings.Join(f.Runs[i].key, ",")]
		if !ok || f.done[i] {
			continue
		}
		f.rows[i] = &row
		if f.done[i], err = f.Runs[i].ended(row); err != nil {
			return fmt.Errorf("%s: %w", f.Runs[i].Name(), err)
		}
	}
	return nil
}

// ended is complete, except that it accepts a run that diverged, which has no last checkpoint.
func (r *SweepRun) ended(row SweepRow) (bool, error) {
	if !row.Diverged {
		return r.complete(row)
	}
	recorded, err := loadRun(r.files, r.Dir)
	if err == nil {
		err = r.checkRecorded(recorded)
	}
	if errors.Is(err, ErrConfig) || errors.Is(err, ErrData) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
