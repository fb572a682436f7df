package rows

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
)

// stepName and midName match the name of a column of a wide table: the channel, the step and, in
// midName, the rest of the channel's name.
var (
	stepName = regexp.MustCompile(`^(.*?)[_.:+\- \[]?(\d{1,9})\]?()$`)
	midName  = regexp.MustCompile(`^(.*?)(\d{1,9})(\D+)$`)
)

// oneChannel is the channel of a wide table whose names have none.
const oneChannel = "value"

// wideReader returns the function that reads a series from a row.
func (t *tableReader) wideReader(f *tableFile, in *table.Reader) (func() error, error) {
	if t.opt.Time != "" {
		return nil, fmt.Errorf("time %q: a column of layout %q; the layout is %q", t.opt.Time, LayoutLong, LayoutWide)
	}
	r, err := t.roles(in, nil)
	if err != nil {
		return nil, err
	}
	channels, steps, notes, err := wideChannels(in.Columns(), r.inputs, t.opt.Columns)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		t.addNote(f.path, ": %s", note)
	}
	return func() error { return t.addWide(f, r, steps) }, t.setColumns(channels)
}

// step is a column of a wide table.
type step struct {
	number float64
	column int
}

// byPattern groups columns by the channels that a pattern finds in their names, with those that it
// does not match apart.
func byPattern(pattern *regexp.Regexp, names []string, inputs []int) (channels []string, lists map[string][]step, odd []string) {
	signed := slices.ContainsFunc(inputs, func(k int) bool { return strings.Contains(names[k], "+") }) // t-1, t+0, t+1
	lists = map[string][]step{}
	for _, k := range inputs {
		m := pattern.FindStringSubmatchIndex(names[k])
		if m == nil {
			odd = append(odd, names[k])
			continue
		}
		channel := cmp.Or(names[k][:m[3]]+names[k][m[6]:m[7]], oneChannel)
		number, _ := strconv.ParseFloat(names[k][m[4]:m[5]], 64)
		if signed && m[4] > 0 && names[k][m[4]-1] == '-' {
			number = -number
		}
		if lists[channel] == nil {
			channels = append(channels, channel)
		}
		lists[channel] = append(lists[channel], step{number, k})
	}
	return channels, lists, odd
}

// wideChannels groups the columns of a wide table by channel. If every name ends in a number, the
// name before it is the channel and the number is the step. The number may be in another place, or
// the whole name. Otherwise the columns are the steps of one channel. The steps have the order of
// the file if their numbers rise or fall, and otherwise that of the numbers.
func wideChannels(names []string, inputs []int, selected []string) (channels []string, steps [][]int, notes []string, err error) {
	channels, lists, odd := byPattern(stepName, names, inputs)
	has := func(lists map[string][]step) bool {
		return len(selected) > 0 && !slices.ContainsFunc(selected, func(s string) bool { return lists[s] == nil })
	}
	if len(odd) > 0 && !has(lists) {
		middle, others, rest := byPattern(midName, names, inputs)
		n := len(inputs) / max(len(middle), 1)
		unequal := slices.ContainsFunc(middle, func(name string) bool { return len(others[name]) != n })
		switch first := names[inputs[0]]; {
		case len(rest) == 0 && !unequal && n > 1 && (len(selected) == 0 || has(others)):
			notes = append(notes, fmt.Sprintf("columns such as %q are the steps of the channels %s; --columns %s reads all as steps of one channel", first, suggest.List(middle), oneChannel))
			channels, lists = middle, others
		case len(odd) < len(inputs) && len(selected) == 0:
			notes = append(notes, fmt.Sprintf("not all names of columns end in a number (%s), so the %d columns are the steps of one channel; --columns %s reads other channels, and --id names an identifier", suggest.List(odd), len(inputs), channels[0]))
			fallthrough
		default:
			channels, lists = oneByOne(inputs)
		}
	}
	isNumber := func(k int) bool { _, err := table.ParseFloat(names[k], 64); return err == nil }
	if len(channels) > 1 && slices.ContainsFunc(inputs, isNumber) && !slices.ContainsFunc(inputs, func(k int) bool { return !isNumber(k) }) && !has(lists) {
		channels, lists = oneByOne(inputs) // 4000.5, 3996.5 …
		notes = append(notes, fmt.Sprintf("columns such as %q are the steps of one channel; --columns %s reads their names as channel and step", names[inputs[0]], strings.SplitN(names[inputs[0]], ".", 2)[0]))
	}
	if len(selected) > 0 {
		channels, selected = selected, channels
	}
	rises, falls := true, true
	for _, name := range channels {
		list := lists[name]
		if list == nil {
			return nil, nil, nil, fmt.Errorf("no channel %q; the channels are %s", name, suggest.List(selected))
		}
		if len(list) != len(lists[channels[0]]) {
			return nil, nil, nil, fmt.Errorf("channel %q has %d steps, expected %d as %q", name, len(list), len(lists[channels[0]]), channels[0])
		}
		for i := 1; i < len(list); i++ {
			rises, falls = rises && list[i].number >= list[i-1].number, falls && list[i].number <= list[i-1].number
		}
	}
	if !rises && !falls {
		notes = append(notes, fmt.Sprintf("the steps of channel %q have the order of the numbers in the names of the columns, not that of the file; --id, --target and --split name columns that are no steps", channels[0]))
	}
	for _, name := range channels {
		list := lists[name]
		if !rises && !falls {
			slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.number, b.number) })
		}
		columns := make([]int, len(list))
		for i, s := range list {
			columns[i] = s.column
		}
		steps = append(steps, columns)
	}
	return channels, steps, notes, nil
}

// oneByOne makes columns the steps of one channel, in the order of the file.
func oneByOne(inputs []int) (channels []string, lists map[string][]step) {
	list := make([]step, len(inputs))
	for i, k := range inputs {
		list[i] = step{float64(i), k}
	}
	return []string{oneChannel}, map[string][]step{oneChannel: list}
}

// addWide adds a row of a wide table, which is a series.
func (t *tableReader) addWide(f *tableFile, r *roles, steps [][]int) error {
	length := len(steps[0])
	if r.IsBlank() {
		return nil
	}
	known := func(columns []int) bool { return !r.Missing(columns[length-1]) }
	for length > 0 && !slices.ContainsFunc(steps, known) { // missing values at the end are the end
		length--
	}
	if length == 0 {
		return errNoValues
	}
	s, err := t.seriesOf(f, r, true)
	if err != nil {
		return err
	}
	s.rows = make([]float64, 0, length*len(steps))
	for l := range length {
		for _, columns := range steps {
			v, err := t.value(r, columns[l])
			if err != nil {
				return err
			}
			s.rows = append(s.rows, v)
		}
	}
	return t.count(len(s.rows))
}
