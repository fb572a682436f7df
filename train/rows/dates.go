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
	yearFirst  = "%y/%m/%d"
	anyNumber  = "number" // 20240131 is a number
)

// dateLayouts are the dates with one meaning. The first is that of most files.
var dateLayouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "2006-1", "2006/1", "2006M1", "2006-002", "1/2006", "1-2006", "2006-Jan-2", "2006 Jan", "2006-Jan", "20060102", "Jan-2006", "Jan 2006", "January 2006",
	"2 Jan 2006", "2. Jan 2006", "2-Jan-2006", "2/Jan/2006", "Jan 2, 2006", "Jan 2 2006", "Jan. 2, 2006",
	"2 January 2006", "2. January 2006", "January 2, 2006", "January 2 2006",
}

// shortLayouts are dates with a year of 2 digits, which is last.
var shortLayouts = []string{"2-Jan-06", "2 Jan 06", "2/Jan/06", "Jan-06"}

// orderedLayouts are the dates in which day and month may have either order. A year of 2 digits may
// also be first.
var orderedLayouts = map[string][]string{
	dayFirst:   {"2/1/2006", "2-1-2006", "2/1/06", "2-1-06", "2.1.2006", "2.1.06"},
	monthFirst: {"1/2/2006", "1-2-2006", "1/2/06", "1-2-06", "1.2.2006", "1.2.06"},
}

// quarter matches a quarter of a year: 2024Q1, Q1 2024.
var quarter = regexp.MustCompile(`^(?:(\d{4})[- ]?[QqTt]([1-4])|[QqTt]([1-4])[-/ ](\d{4}))$`)

// Times in whose place another text is read: those with the year behind the time of day, as ctime
// and date write them, and intervals, of which the beginning counts.
var (
	yearBehind = regexp.MustCompile(`^(?:[A-Z][a-z]{2} +)?([A-Z][a-z]{2}) +(\d{1,2}) ([\d:]+)(?: [A-Z]{3,4})? (\d{4})$`)
	interval   = regexp.MustCompile(`^(.*\d:\d\S*)(?: - |/)\d.*:.*$`)
	otherSigns = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "年", "-", "月", "-", "日", "", " Uhr", "")
)

// dateTime matches a date, of which a weekday is not read, and a time of day: hour, minute, second,
// fraction, half of the day and offset from UTC. Other names of time zones are not read.
var dateTime = regexp.MustCompile(`^(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(.*?\d)(?:(?:T|[:,_]| )[T ]*(\d{1,2})(?:[:.h-](\d{1,2})(?:[:.-](\d{2})(?:[.,](\d{1,9}))?)?)?\s*([AaPp]\.? ?[Mm]\.?)?\s*(Z|UTC|GMT|(?:UTC|GMT)?[-+]\d{2}(?::?\d{2})?)?(?: ?[A-Z]{3,5}| ?[A-Z]\w+/[\w/+-]+|\[[\w/+-]+\]| \([\w ]+\)|\])?)?$`)

// clock matches a time of day that stands alone.
var clock = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)? ?([AaPp][Mm])?$`)

// dates parses the dates of a column. The zero value decides the order of day and month by those
// that leave no choice.
type dates struct {
	format string // --time-format: dmy, mdy, or % and letters as strftime has them; "": the column decides
	order  string // of dates with slashes or hyphens that end in the year, as far as it is known
	first  string // of these dates
	// yearLast: one of these dates cannot begin with a year of 2 digits.
	yearLast bool
	short    string // the first with the name of a month and a year of 2 digits
	digits   string // the first whole number
	isDate   bool   // that is a date of digits only, as all others then are
	clock    bool   // times of day stand alone
}

// strftime has the letters that --time-format may contain, as package time writes them.
var strftime = strings.NewReplacer("%Y", "2006", "%y", "06", "%m", "01", "%d", "02", "%H", "15", "%I", "03", "%M", "04", "%S", "05", "%p", "PM",
	"%f", "999999999", "%z", "-0700", "%Z", "MST", "%b", "Jan", "%B", "January", "%a", "Mon", "%A", "Monday", "%j", "002", "%T", "15:04:05", "%F", "2006-01-02", "%%", "%")

// check returns an error if the format is unknown.
func (d *dates) check() error {
	if d.format == "%s" { // seconds since 1970
		d.format = anyNumber
	}
	if d.format == "" || d.format == dayFirst || d.format == monthFirst || d.format == anyNumber || strings.Contains(d.format, "%") {
		return nil
	}
	return fmt.Errorf(`--time-format %q: expected dmy, mdy, number, or a pattern such as %%d/%%m/%%Y %%H:%%M`, d.format)
}

// parse parses a date with or without a time. local: it states no offset from UTC.
func (d *dates) parse(text string) (at time.Time, local, ok bool) {
	if strings.Contains(d.format, "%") {
		at, err := time.Parse(strftime.Replace(d.format), text)
		return at, !strings.Contains(d.format, "%z"), err == nil // of a name (%Z), Go knows no offset
	}
	if strings.Trim(text, "0123456789-/:.TZ+ ") != "" || strings.Contains(text, " - ") || strings.LastIndexByte(text, '/') > strings.IndexByte(text, ':') {
		text = interval.ReplaceAllString(yearBehind.ReplaceAllString(otherSigns.Replace(strings.TrimPrefix(text, "[")), "$2 $1 $4 $3"), "$1")
	}
	if q := quarter.FindStringSubmatch(text); q != nil {
		at, err := time.Parse("2006-1", q[1]+q[4]+"-"+strconv.Itoa(3*int((q[2] + q[3])[0]-'0')-2))
		return at, true, err == nil
	}
	if clock.MatchString(text) {
		d.clock, text = true, "1970-01-01 "+text
	}
	m := dateTime.FindStringSubmatch(text)
	if m == nil {
		at, ok = parseLayouts(text, dateLayouts)
		return at, true, ok
	}
	if at, ok = parseLayouts(m[1], dateLayouts); !ok {
		if at, ok = parseLayouts(m[1], shortLayouts); ok {
			d.short = cmp.Or(d.short, strings.Clone(text))
		} else if at, ok = d.ordered(m[1], text); !ok {
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
	at, isDay := parseLayouts(date, days[:4])
	swapped, isMonth := parseLayouts(date, months[:4])
	year := yearFirstDate(at)
	d.yearLast = d.yearLast || !isDay || date[len(date)-3] >= '0' || year.Day() != at.Year()%100
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

// compact parses a date of 6, 8, 10, 12 or 14 digits, such as 202401, with a T or blank before the
// time. ok is false if they are no date, err is set if the numbers before were something else.
func (d *dates) compact(text string) (at time.Time, ok bool, err error) {
	digits := strings.TrimSuffix(text, "Z")
	if len(text) > 9 && strings.IndexByte("T ", text[8]) >= 0 {
		digits = digits[:8] + digits[9:]
	}
	layout := map[int]string{6: "200601", 8: "20060102", 10: "2006010215", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	if d.format != "" || strings.Trim(digits, "0123456789") != "" || len(text) < 12 && strings.IndexByte(text, ' ') == 8 { // hours
		return at, false, nil
	}
	if layout != "" && (digits[:2] == "19" || digits[:2] == "20") {
		at, err = time.Parse(layout, digits)
		ok = err == nil
	}
	if d.digits == "" {
		d.digits, d.isDate = digits, ok
	}
	if ok != d.isDate {
		return at, false, fmt.Errorf("one of %.40q and %.40q is a date, and the other is none: --time-format number or a pattern such as %%Y%%m%%d says what they are", d.digits, text)
	}
	return at, ok, nil
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
	if zone := strings.TrimLeft(strings.ReplaceAll(part[5], ":", ""), "GMTUC"); len(zone) >= 3 && zone[0] < 'A' {
		offset := number(zone[1:3])*time.Hour + number(zone[3:])*time.Minute
		if zone[0] == '-' {
			offset = -offset
		}
		after -= offset
	}
	return after, hour <= 24 && minute < 60 && second <= 60
}

// settleDates decides the order of the parts of dates, if no date did: one of the orders must give
// a possible series.
func (t *tableReader) settleDates() error {
	d := &t.dates
	if d.short != "" {
		t.addNote("", "times such as %q are read with the year last; --time-format %%y-%%b-%%d changes it", d.short)
	}
	if d.first == "" {
		return nil
	}
	open := []string{d.order}
	if d.order == "" {
		open = []string{dayFirst, monthFirst}
	}
	if !d.yearLast {
		open = append(open, yearFirst)
	}
	fits := slices.DeleteFunc(slices.Clone(open), func(order string) bool {
		return len(open) > 1 && slices.ContainsFunc(t.series, func(s *rawSeries) bool { return !isPossible(t.reordered(s.times, order)) })
	})
	same := func(order string) bool { // as the first one
		return order != fits[0] && !slices.ContainsFunc(t.series, func(s *rawSeries) bool {
			a, _ := steps(t.reordered(s.times, order))
			b, _ := steps(t.reordered(s.times, fits[0]))
			return !slices.Equal(a, b)
		})
	}
	if len(fits) == 0 || len(slices.DeleteFunc(slices.Clone(fits), same)) > 1 {
		return fmt.Errorf("%s: times such as %q may have the day, the month or the year first: --time-format %s says which", t.series[0].file, d.first, strings.Join(open, " or --time-format "))
	}
	d.order = fits[0]
	for _, s := range t.series {
		s.times = t.reordered(s.times, d.order)
	}
	words := map[string]string{dayFirst: "day/month/year", monthFirst: "month/day/year", yearFirst: "year/month/day"}[d.order]
	other := map[string]string{dayFirst: monthFirst}[d.order]
	t.addNote("", "times such as %q are read as %s; --time-format %s changes it", d.first, words, cmp.Or(other, dayFirst))
	return nil
}

// reordered returns the times of dates that ordered parsed, if their parts have an order.
func (t *tableReader) reordered(times []float64, order string) []float64 {
	if order == dayFirst {
		return times
	}
	times = slices.Clone(times)
	for i := range times {
		at := t.date(times[i])
		y, m, d := at.Date()
		midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		switch {
		case order == yearFirst:
			times[i] += yearFirstDate(at).Sub(midnight).Seconds()
		case d <= 12: // both orders are possible
			times[i] += time.Date(y, time.Month(d), int(m), 0, 0, 0, 0, time.UTC).Sub(midnight).Seconds()
		}
	}
	return times
}

// yearFirstDate returns the date whose year of 2 digits is the day of another one, and its day the
// year.
func yearFirstDate(at time.Time) time.Time {
	year := 2000 + at.Day() // at most 31
	return time.Date(year, at.Month(), at.Year()%100, 0, 0, 0, 0, time.UTC)
}

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

// clocksForward are the months in which clocks are put forward, north and south of the equator.
var clocksForward = []time.Month{time.March, time.April, time.September, time.October}

// repeatHour moves the times after an hour that occurs twice, as on the Sunday on which clocks are
// put back, by an hour, and those after an hour that is left out, as in spring, back.
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
		sunday := at.Weekday() == time.Sunday && at.Hour() <= 3
		switch {
		case step <= 0 && (step != usual-hour || !sunday):
			return // not sorted
		case step <= 0:
			shift += hour
			notes = append(notes, fmt.Sprintf("%s: the hour before %s occurs twice and is read as that in which clocks were put back; without --time, rows are evenly spaced", s.at(i+1), at.Add(hour*time.Second).Format("2006-01-02 15:04")))
		case step == usual+hour && (shift > 0 || sunday && slices.Contains(clocksForward, at.Month())):
			shift -= hour
			notes = append(notes, fmt.Sprintf("%s: the hour before %s is left out and is read as that by which clocks were put forward; without --time, rows are evenly spaced", s.at(i+1), at.Format("2006-01-02 15:04")))
		}
		moved[i+1] += shift
	}
	s.times = moved
	for _, note := range notes {
		t.addNote("", "%s", note)
	}
}

// countDays adds a day to the times of day after each that is earlier than the one before by more
// than half a day.
func (t *tableReader) countDays(s *rawSeries) {
	const day = 24 * 3600
	list, _ := steps(s.times)
	days := 0.0
	for i, step := range list {
		if t.dates.clock && step < -day/2 {
			t.addNote(s.at(i+1)+": ", "the time of day begins a new day; without --time, rows are evenly spaced") // once
			days += day
		}
		s.times[i+1] += days
	}
}
