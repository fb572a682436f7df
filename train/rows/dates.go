package rows

import (
	"cmp"
	"fmt"
	"math"
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

// dateLayouts are the dates with one meaning. The first is that of most files.
var dateLayouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "2006-1", "2006/1",
	"2 Jan 2006", "2. Jan 2006", "2-Jan-2006", "2/Jan/2006", "Jan 2, 2006", "Jan 2 2006", "Jan. 2, 2006",
	"2 January 2006", "2. January 2006", "January 2, 2006", "January 2 2006",
}

// orderedLayouts are the dates in which day and month may have either order; after the first two,
// the year may also be first.
var orderedLayouts = map[string][]string{
	dayFirst:   {"2/1/2006", "2-1-2006", "2/1/06", "2-1-06", "2.1.2006", "2.1.06"},
	monthFirst: {"1/2/2006", "1-2-2006", "1/2/06", "1-2-06", "1.2.2006", "1.2.06"},
}

// dateTime matches a date, of which a weekday is not read, and a time of day: hour, minute, second,
// fraction, half of the day and offset from UTC.
var dateTime = regexp.MustCompile(`^(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(.*?\d)(?:(?:T|[:,]| )[T ]*(\d{1,2})(?:[:.h-](\d{2})(?:[:.-](\d{2})(?:[.,](\d{1,9}))?)?)?\s*([AaPp]\.?[Mm]\.?)?\s*(Z|UTC|GMT|[-+]\d{2}(?::?\d{2})?)?)?$`)

// dates parses the dates of a column. The zero value decides the order of day and month by those
// that leave no choice.
type dates struct {
	format string // --time-format: dmy, mdy, or % and letters as strftime has them; "": the column decides
	order  string // of dates with slashes or hyphens that end in the year, as far as it is known
	first  string // of these dates
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
	m := dateTime.FindStringSubmatch(text)
	if m == nil {
		return at, false, false
	}
	if at, ok = parseLayouts(m[1], dateLayouts); !ok {
		if at, ok = d.ordered(m[1], text); !ok {
			return at, false, false
		}
	}
	if m[2] == "" {
		return at, true, true
	}
	after, ok := timeOfDay(m[2:])
	return at.Add(after), m[7] == "", ok
}

func parseLayouts(text string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// ordered parses the date of a text whose day or month is first.
func (d *dates) ordered(date, text string) (at time.Time, ok bool) {
	if order := orderedLayouts[d.format]; order != nil {
		return parseLayouts(date, order)
	}
	days, months := orderedLayouts[dayFirst], orderedLayouts[monthFirst]
	if strings.Contains(date, ".") {
		return parseLayouts(date, days[4:])
	}
	at, isDay := parseLayouts(date, days[:2])
	swapped, isMonth := parseLayouts(date, months[:2])
	if !isDay && !isMonth { // a year of two digits may be first, unless a day does
		_, open := parseLayouts(date, days[2:4])
		swapped, isMonth = parseLayouts(date, months[2:4])
		isMonth = isMonth && !open
	}
	order := ""
	switch {
	case !isDay && !isMonth:
		return at, false
	case !isDay:
		at, order = swapped, monthFirst
	case !isMonth:
		order = dayFirst
	}
	d.first = cmp.Or(d.first, text)
	ok = order == "" || d.order == "" || order == d.order
	d.order = cmp.Or(order, d.order)
	return at, ok
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

// timeOfDay returns the time of the parts that dateTime matches. Its offset from UTC is subtracted.
func timeOfDay(part []string) (after time.Duration, ok bool) {
	number := func(text string) time.Duration { n, _ := strconv.Atoi(text); return time.Duration(n) }
	hour, minute, second := number(part[0]), number(part[1]), number(part[2])
	if half := strings.ToLower(part[4]); half != "" {
		if hour < 1 || hour > 12 {
			return 0, false
		}
		if hour %= 12; half[0] == 'p' {
			hour += 12
		}
	}
	after = hour*time.Hour + minute*time.Minute + second*time.Second + number((part[3] + "000000000")[:9])
	if zone := strings.ReplaceAll(part[5], ":", ""); len(zone) >= 3 && zone[0] < 'A' {
		offset := number(zone[1:3])*time.Hour + number(zone[3:])*time.Minute
		if zone[0] == '-' {
			offset = -offset
		}
		after -= offset
	}
	return after, hour <= 24 && minute < 60 && second <= 60
}

// settleDates decides the order of day and month, if no date did: one of them must give a possible
// series. If the month is first, it swaps the parts of the dates that could have both orders.
func (t *tableReader) settleDates() error {
	d := &t.dates
	if d.first == "" {
		return nil
	}
	if d.order == "" {
		same, days, months := true, true, true
		for _, s := range t.series {
			other := slices.Clone(s.times)
			t.swapDays(other)
			days, months = days && isPossible(s.times), months && isPossible(other)
			for i := 1; i < len(other); i++ {
				same = same && other[i]-other[i-1] == s.times[i]-s.times[i-1]
			}
		}
		if days == months && !same {
			return fmt.Errorf("%s: times such as %q may have the day or the month first: --time-format dmy or --time-format mdy says which", t.series[0].file, d.first)
		}
		if d.order = dayFirst; months && !days {
			d.order = monthFirst
		}
	}
	words, other := "day/month/year", monthFirst
	if d.order == monthFirst {
		words, other = "month/day/year", dayFirst
		for _, s := range t.series {
			t.swapDays(s.times)
		}
	}
	t.addNote("", "times such as %q are read as %s; --time-format %s changes it", d.first, words, other)
	return nil
}

// swapDays exchanges day and month of the times that could have both orders.
func (t *tableReader) swapDays(times []float64) {
	for i := range times {
		if at := t.date(times[i]); at.Day() <= 12 {
			y, m, d := at.Date()
			times[i] += time.Date(y, time.Month(d), int(m), 0, 0, 0, 0, time.UTC).Sub(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)).Seconds()
		}
	}
}

// date returns the date of a time.
func (t *tableReader) date(at float64) time.Time {
	return time.Unix(*t.epoch+int64(math.Floor(at)), 0).UTC()
}

// isPossible reports whether times increase, and whether fewer rows are missing than there are.
func isPossible(times []float64) bool {
	list, usual := steps(times)
	return len(list) == 0 || slices.Min(list) > 0 && (times[len(times)-1]-times[0])/usual <= float64(2*len(times)+64)
}

// steps returns the differences between times, and their lower median.
func steps(times []float64) (list []float64, usual float64) {
	for i := 1; i < len(times); i++ {
		list = append(list, times[i]-times[i-1])
	}
	if len(list) == 0 {
		return nil, 0
	}
	return list, slices.Sorted(slices.Values(list))[(len(list)-1)/2]
}

// repeatHour moves the times after an hour that occurs twice, as on the Sunday on which clocks are
// put back, by an hour, until an hour is left out.
func (t *tableReader) repeatHour(s *rawSeries) {
	const hour = 3600
	list, usual := steps(s.times)
	if !s.local || len(list) < 3 || usual <= 0 || usual > hour {
		return
	}
	moved, shift := slices.Clone(s.times), 0.0
	var notes []string
	for i, step := range list {
		at := t.date(s.times[i+1])
		switch {
		case step <= 0 && (step != usual-hour || at.Weekday() != time.Sunday || at.Hour() > 3):
			return // not sorted
		case step <= 0:
			shift += hour
			notes = append(notes, fmt.Sprintf("%s: the hour before %s occurs twice and is read as that in which clocks were put back; without --time, rows are evenly spaced", s.at(i+1), at.Add(hour*time.Second).Format("2006-01-02 15:04")))
		case shift > 0 && step == usual+hour:
			shift -= hour
		}
		moved[i+1] += shift
	}
	s.times = moved
	for _, note := range notes {
		t.addNote("", "%s", note)
	}
}
