package rows

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The orders of day and month in --time-format.
const (
	dayFirst   = "dmy"
	monthFirst = "mdy"
	anyNumber  = "number" // 20240131 is a number
)

var timeLayouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
}

var (
	numericDate = regexp.MustCompile(`^(\d{1,4})([-/.])(\d{1,2})(?:[-/.](\d{1,4}))?(?:(?:T|,? +)(\S.*))?$`)
	dayMonth    = regexp.MustCompile(`^(?:[A-Za-z]{3,9},? +)?(\d{1,2})[-/. ]+([A-Za-z]{3,9})[-/., ]+(\d{4})(?:[T:, ]+(\S.*))?$`)
	monthDay    = regexp.MustCompile(`^(?:[A-Za-z]{3,9},? +)?([A-Za-z]{3,9})\.? +(\d{1,2}),? +(\d{4})(?:[T:, ]+(\S.*))?$`)
	clock       = regexp.MustCompile(`^(\d{1,2})(?:[:.h-](\d{2})(?:[:.-](\d{2})(?:[.,](\d{1,9}))?)?)?\s*([AaPp]\.?[Mm]\.?)?\s*(Z|UTC|GMT|[-+]\d{2}(?::?\d{2})?)?$`)
)

// dates parses the dates of a column. The zero value decides the order of day and month by those
// that leave no choice.
type dates struct {
	format string // --time-format: dmy, mdy, or % and letters as strftime has them; "": the column decides
	order  string // of dates with slashes or hyphens that end in the year, as far as it is known
	first  string // of these dates
	open   bool   // one of them could have both orders; its time is that of dayFirst
}

// strftime has the letters that --time-format may contain, as package time writes them.
var strftime = strings.NewReplacer("%Y", "2006", "%y", "06", "%m", "01", "%d", "02", "%H", "15", "%I", "03", "%M", "04", "%S", "05", "%p", "PM",
	"%f", "999999999", "%z", "-0700", "%Z", "MST", "%b", "Jan", "%B", "January", "%a", "Mon", "%A", "Monday", "%j", "002", "%T", "15:04:05", "%F", "2006-01-02", "%%", "%")

// check returns an error if the format is unknown.
func (d *dates) check() error {
	if d.format == "" || d.format == dayFirst || d.format == monthFirst || d.format == anyNumber || strings.Contains(d.format, "%") {
		return nil
	}
	return fmt.Errorf(`--time-format %q: expected dmy, mdy, number, or a pattern such as %%d/%%m/%%Y %%H:%%M`, d.format)
}

// parse parses a date with or without a time. local: it states no offset from UTC.
func (d *dates) parse(text string) (at time.Time, local, ok bool) {
	if strings.Contains(d.format, "%") {
		at, err := time.Parse(strftime.Replace(d.format), text)
		return at, !strings.Contains(strings.ToLower(d.format), "%z"), err == nil
	}
	for i, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, i > 1, true
		}
	}
	var year, month, day int
	rest := ""
	if m := numericDate.FindStringSubmatch(text); m != nil {
		if year, month, day, ok = d.numeric(m); !ok {
			return at, false, false
		}
		rest = m[5]
	} else if m := dayMonth.FindStringSubmatch(text); m != nil {
		year, month, day, rest = number(m[3]), monthOf(m[2]), number(m[1]), m[4]
	} else if m := monthDay.FindStringSubmatch(text); m != nil {
		year, month, day, rest = number(m[3]), monthOf(m[1]), number(m[2]), m[4]
	}
	at = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if month < 1 || month > 12 || at.Day() != day {
		return at, false, false
	}
	after, local, ok := timeOfDay(rest)
	return at.Add(after), local, ok
}

// compact parses a date of 8, 12 or 14 digits, such as 20240131.
func (d *dates) compact(text string) (at time.Time, ok bool) {
	layout := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(text)]
	if layout == "" || d.format != "" || text[:2] != "19" && text[:2] != "20" {
		return at, false
	}
	at, err := time.Parse(layout, text)
	return at, err == nil
}

func number(text string) int { n, _ := strconv.Atoi(text); return n }

// monthOf returns the number of a month by its English name; 0: it has none.
func monthOf(name string) int {
	for m := time.January; m <= time.December; m++ {
		if full := strings.ToLower(m.String()); strings.ToLower(name) == full || strings.ToLower(name) == full[:3] {
			return int(m)
		}
	}
	return 0
}

// numeric returns the parts of a date of numbers, the submatches of numericDate.
func (d *dates) numeric(m []string) (year, month, day int, ok bool) {
	a, b, c := number(m[1]), number(m[3]), number(m[4])
	switch {
	case len(m[1]) == 4 && len(m[4]) <= 2:
		if m[4] == "" {
			c = 1 // a month
		}
		return a, b, c, true
	case len(m[1]) > 2 || len(m[4]) != 4 && len(m[4]) != 2:
		return 0, 0, 0, false
	case len(m[4]) == 2:
		if c += 2000; c > 2068 {
			c -= 100
		}
		if d.format == "" && m[2] != "." && b <= 12 { // the year may be first
			return 0, 0, 0, false
		}
	}
	order := d.format
	if order == "" && m[2] == "." {
		order = dayFirst
	}
	if order == "" {
		if d.first == "" {
			d.first = m[0]
		}
		switch {
		case a > 12:
			order = dayFirst
		case b > 12:
			order = monthFirst
		}
		if d.open = d.open || order == ""; order != "" && d.order != "" && order != d.order {
			return 0, 0, 0, false
		}
		if order != "" {
			d.order = order
		}
	}
	if order == monthFirst {
		a, b = b, a
	}
	return c, b, a, true
}

// timeOfDay parses a time such as 14:30, 2:30:00.5 PM or 14.30 +0100. Its offset from UTC is
// subtracted.
func timeOfDay(text string) (after time.Duration, local, ok bool) {
	if text == "" {
		return 0, true, true
	}
	m := clock.FindStringSubmatch(text)
	if m == nil {
		return 0, false, false
	}
	hour, minute, second := number(m[1]), number(m[2]), number(m[3])
	if half := strings.ToLower(m[5]); half != "" {
		if hour < 1 || hour > 12 {
			return 0, false, false
		}
		if hour %= 12; half[0] == 'p' {
			hour += 12
		}
	}
	if hour > 24 || minute > 59 || second > 60 {
		return 0, false, false
	}
	after = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	after += time.Duration(number((m[4] + "000000000")[:9]))
	if zone := strings.ReplaceAll(m[6], ":", ""); len(zone) >= 3 && zone != "UTC" && zone != "GMT" {
		offset := time.Duration(number(zone[1:3]))*time.Hour + time.Duration(number(zone[3:]))*time.Minute
		if zone[0] == '-' {
			offset = -offset
		}
		after -= offset
	}
	return after, m[6] == "", true
}

// settleDates decides the order of day and month, if no date did: one of them must give a possible
// series. If the month is first, it swaps the parts of the dates that could have both orders.
func (t *tableReader) settleDates() error {
	d := &t.dates
	if d.first == "" {
		return nil
	}
	if d.order == "" {
		swapped, same, possible := true, true, [2]bool{true, true}
		for _, s := range t.series {
			other := slices.Clone(s.times)
			swapDays(other)
			possible[0] = possible[0] && isPossible(s.times)
			possible[1] = possible[1] && isPossible(other)
			for i := 1; i < len(other); i++ {
				same = same && other[i].after(other[i-1]) == s.times[i].after(s.times[i-1])
			}
		}
		if swapped = possible[1] && !possible[0]; possible[0] == possible[1] && !same {
			return fmt.Errorf("%s: times such as %q may have the day or the month first: --time-format dmy or --time-format mdy says which", t.series[0].file, d.first)
		}
		if d.order = dayFirst; swapped {
			d.order = monthFirst
		}
	}
	if words, other := "day/month/year", monthFirst; d.order == monthFirst {
		for _, s := range t.series {
			swapDays(s.times)
		}
		t.addNote("times such as %q are read as month/day/year; --time-format %s changes it", d.first, dayFirst)
	} else {
		t.addNote("times such as %q are read as %s; --time-format %s changes it", d.first, words, other)
	}
	return nil
}

// swapDays exchanges day and month of the times that could have both orders.
func swapDays(times []instant) {
	for i := range times {
		at := time.Unix(times[i].whole, 0).UTC()
		if at.Day() <= 12 {
			y, m, d := at.Date()
			times[i].whole = time.Date(y, time.Month(d), int(m), at.Hour(), at.Minute(), at.Second(), 0, time.UTC).Unix()
		}
	}
}

// isPossible reports whether times increase, and whether fewer rows are missing than there are.
func isPossible(times []instant) bool {
	var steps []float64
	for i := 1; i < len(times); i++ {
		steps = append(steps, times[i].after(times[i-1]))
	}
	if len(steps) == 0 {
		return true
	}
	total := times[len(times)-1].after(times[0])
	slices.Sort(steps)
	return steps[0] > 0 && total/steps[(len(steps)-1)/2] <= float64(2*len(times)+64)
}

// repeatHour moves the times after an hour that occurs twice, as on the Sunday on which clocks are
// put back, by an hour, until an hour is left out.
func (t *tableReader) repeatHour(s *rawSeries) {
	const hour = 3600
	var steps []float64
	for i := 1; i < len(s.times); i++ {
		steps = append(steps, s.times[i].after(s.times[i-1]))
	}
	if !s.local || len(steps) < 3 {
		return
	}
	sorted := slices.Sorted(slices.Values(steps))
	usual := sorted[len(sorted)/2]
	if usual <= 0 || usual > hour || sorted[0] != usual-hour {
		return
	}
	for i, step := range steps {
		at := time.Unix(s.times[i+1].whole, 0).UTC()
		if step <= 0 && (step != usual-hour || at.Weekday() != time.Sunday || at.Hour() > 3) {
			return // not sorted
		}
	}
	shift := int64(0)
	for i, step := range steps {
		switch {
		case step <= 0:
			shift += hour
			t.addNote("%s: the hour before %s occurs twice and is read as that in which clocks were put back; without --time, rows are evenly spaced", s.at(i+1), time.Unix(s.times[i+1].whole, 0).UTC().Add(hour*time.Second).Format("2006-01-02 15:04"))
		case shift > 0 && step == usual+hour:
			shift -= hour
		}
		s.times[i+1].whole += shift
	}
}
