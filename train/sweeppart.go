package train

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Part is a part of a sweep's runs: those whose index, divided by Of, has the remainder Index. The
// zero value has all runs. Parts may run at once in the same folder, or in folders whose contents
// are copied into one before Collect. They do not write sweep.csv.
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
	if err != nil || e != nil || i < 0 || i >= n {
		return p, configErrorf("part %q: expected I/N with I from 0 to N-1, such as 0/8 for the first of eight parts", text)
	}
	return p, nil
}

// whole reports whether the sweep is not divided.
func (p Part) whole() bool { return p.Of == 0 }

// has reports whether the part has run i.
func (p Part) has(i int) bool { return p.whole() || i%p.Of == p.Index }

// Collect writes sweep.csv with the results of all parts in the folder, as Run writes it if the
// sweep is not divided. If a run is not complete, the error names it.
func (s Sweep) Collect() ([]SweepRow, error) {
	s.Part = Part{}
	if _, err := os.Stat(s.Dir); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var missing []string
	for i := range f.Runs {
		if !f.Complete(i) {
			missing = append(missing, fmt.Sprintf("%d (%s)", i+1, f.Runs[i].Name()))
		}
	}
	n := len(missing)
	if n == 0 {
		return f.Rows(), nil
	}
	if n > maxMissing {
		missing = append(missing[:maxMissing], "…")
	}
	return nil, fmt.Errorf("train: %s: %d of %d runs are not complete: %s; run their parts again", s.Dir, n, len(f.Runs), strings.Join(missing, ", "))
}

// maxMissing is the number of runs that an error names.
const maxMissing = 10
