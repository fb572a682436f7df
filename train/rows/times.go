package rows

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
)

// maxTime bounds times, so that an int64 has the difference of two.
const maxTime = 1 << 62

// since returns a time relative to the first whole one of all series: a float64 alone would round
// times in nanoseconds.
func (t *tableReader) since(whole int64, fraction float64) float64 {
	if t.epoch == nil {
		t.epoch = &whole
	}
	return float64(whole-*t.epoch) + fraction
}

// parseTime parses a number, or a date with or without a time, in seconds. A whole number is exact.
func (t *tableReader) parseTime(s *rawSeries, text string) (float64, error) {
	at, ok, err := t.dates.compact(text)
	if err != nil {
		return 0, err
	}
	if ok {
		if s.local = !strings.HasSuffix(text, "Z"); !strings.Contains(text, "T") {
			t.addNote("", "times such as %q are read as dates; --time-format number changes it", text[:4]+"…")
		}
		return t.since(at.Unix(), 0), nil
	}
	pattern := strings.Contains(t.dates.format, "%")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= -maxTime && n <= maxTime && !pattern {
		return t.since(n, 0), nil
	}
	if v, err := table.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !pattern {
		if math.Abs(v) > maxTime {
			return 0, fmt.Errorf("the time %.40q is too large, expected a number up to 2^62", text)
		}
		whole, fraction := math.Modf(v)
		return t.since(int64(whole), fraction), nil
	}
	at, s.local, ok = t.dates.parse(text)
	switch {
	case ok:
		return t.since(at.Unix(), float64(at.Nanosecond())/1e9), nil
	case pattern:
		return 0, fmt.Errorf("%.40q does not fit --time-format %q", text, t.dates.format)
	}
	return 0, fmt.Errorf("%.40q is not a time, expected a number or a time such as 2024-03-31 14:00; --time-format describes other ones, such as %%d/%%m/%%y", text)
}

// sort sorts a series' rows by time and inserts a row of missing values for each row that is
// missing. The step between rows is the lower median of all steps.
func (t *tableReader) sort(s *rawSeries) error {
	t.countDays(s)
	t.repeatHour(s)
	order := make([]int, len(s.times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.times[a], s.times[b]) })
	list, usual := steps(slices.Sorted(slices.Values(s.times)))
	if i := slices.Index(list, 0); i >= 0 {
		a, b := order[i], order[i+1]
		err := fmt.Errorf("%s: the row has the same time as line %d", s.at(max(a, b)), s.lines[min(a, b)])
		if s.id == "" {
			err = fmt.Errorf("%w; if the file has several series, --id names the column that identifies them", err)
		}
		return err
	}
	c := len(t.columns)
	x := make([]float64, 0, len(s.rows))
	for i, k := range order {
		if i > 0 {
			gap := math.Round(list[i-1]/usual) - 1
			if err := t.checkGap(s, list[i-1], usual, gap, len(x)/c); err != nil {
				return fmt.Errorf("%s: %w", s.at(k), err)
			}
			x = append(x, slices.Repeat([]float64{math.NaN()}, int(gap)*c)...)
		}
		x = append(x, s.rows[k*c:(k+1)*c]...)
	}
	s.rows = x
	return nil
}

// checkGap returns an error if a number of rows cannot be missing after n rows of a series.
func (t *tableReader) checkGap(s *rawSeries, step, usual, gap float64, n int) error {
	switch {
	case gap < 0:
		return fmt.Errorf("the time is %g after that of the row before, expected about %g; omit --time to treat the rows as evenly spaced", step, usual)
	case gap > 0 && t.opt.Missing == model.MissingError:
		return fmt.Errorf("the time is %g after that of the row before, expected about %g: rows are missing; %s", step, usual, missingHint)
	case float64(n)+gap > float64(2*len(s.times)+64):
		return errors.New("more rows are missing than present")
	}
	return t.count(int(gap) * len(t.columns))
}
