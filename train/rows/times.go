package rows

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
)

// instant is a time, whole + fraction. In a number, both parts have its sign. In a date, whole is
// rounded down and fraction is not negative. A float64 alone would round times in nanoseconds.
type instant struct {
	whole    int64
	fraction float64
}

func (a instant) compare(b instant) int {
	return cmp.Or(cmp.Compare(a.whole, b.whole), cmp.Compare(a.fraction, b.fraction))
}

// after returns how long a is after b.
func (a instant) after(b instant) float64 {
	return float64(a.whole-b.whole) + (a.fraction - b.fraction)
}

// maxTime bounds times, so that an int64 has the difference of two.
const maxTime = 1 << 62

// parseTime parses a number, or a date with or without a time, in seconds. A whole number is exact.
func (t *tableReader) parseTime(s *rawSeries, text string) (instant, error) {
	if strings.Contains(t.dates.format, "%") {
		if at, local, ok := t.dates.parse(text); ok {
			s.local = local
			return instant{at.Unix(), float64(at.Nanosecond()) / 1e9}, nil
		}
		return instant{}, fmt.Errorf("%.40q does not fit --time-format %q", text, t.dates.format)
	}
	if at, ok := t.dates.compact(text); ok {
		s.local = true
		t.addNote("times such as %q are read as dates; --time-format number changes it", text[:4]+"…")
		return instant{whole: at.Unix()}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= -maxTime && n <= maxTime {
		return instant{whole: n}, nil
	}
	if v, err := table.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
		if math.Abs(v) > maxTime {
			return instant{}, fmt.Errorf("the time %.40q is too large, expected a number up to 2^62", text)
		}
		whole, fraction := math.Modf(v)
		return instant{int64(whole), fraction}, nil
	}
	if at, local, ok := t.dates.parse(text); ok {
		s.local = local
		return instant{at.Unix(), float64(at.Nanosecond()) / 1e9}, nil
	}
	return instant{}, fmt.Errorf("%.40q is not a time, expected a number or a time such as 2024-03-31 14:00; --time-format describes other ones, such as %%d/%%m/%%y", text)
}

// sort sorts a series' rows by time and inserts a row of missing values for each row that is
// missing. The step between rows is the lower median of all steps.
func (t *tableReader) sort(s *rawSeries) error {
	t.repeatHour(s)
	order := make([]int, len(s.times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.times[a].compare(s.times[b]) })
	var steps []float64
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		step := s.times[b].after(s.times[a])
		if step == 0 {
			err := fmt.Errorf("%s: the row has the same time as line %d", s.at(max(a, b)), s.lines[min(a, b)])
			if s.id == "" {
				err = fmt.Errorf("%w; if the file has several series, --id names the column that identifies them", err)
			}
			return err
		}
		steps = append(steps, step)
	}
	c := len(t.columns)
	x := make([]float64, 0, len(s.x))
	for i, k := range order {
		if i > 0 {
			if i == 1 {
				slices.Sort(steps)
			}
			gap, err := t.gap(s, k, s.times[k].after(s.times[order[i-1]]), steps[(len(steps)-1)/2])
			if err != nil {
				return err
			}
			if float64(len(x)/c)+gap > float64(2*len(order)+64) {
				return fmt.Errorf("%s: more rows are missing than present", s.at(k))
			}
			n := int(gap) * c
			if err := t.count(n); err != nil {
				return fmt.Errorf("%s: %w", s.at(k), err)
			}
			x = append(x, slices.Repeat([]float64{math.NaN()}, n)...)
		}
		x = append(x, s.x[k*c:(k+1)*c]...)
	}
	s.x = x
	return nil
}

// gap returns the number of rows that are missing before row k.
func (t *tableReader) gap(s *rawSeries, k int, step, usual float64) (float64, error) {
	n := math.Round(step / usual)
	switch {
	case n == 1:
		return 0, nil
	case n < 1:
		return 0, fmt.Errorf("%s: the time is %g after that of the row before, expected about %g; omit --time to treat the rows as evenly spaced", s.at(k), step, usual)
	case t.opt.Missing == model.MissingError:
		return 0, fmt.Errorf("%s: the time is %g after that of the row before, expected about %g: rows are missing; %s", s.at(k), step, usual, missingHint)
	}
	return n - 1, nil
}
