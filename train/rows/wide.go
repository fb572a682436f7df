package rows

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
)

// stepName matches the name of a column of a wide table: the channel and the step.
var stepName = regexp.MustCompile(`^(.*?)[_.:\- \[]?(\d{1,9})\]?$`)

// wideReader returns the function that reads a series from a row.
func (t *tableReader) wideReader(f *tableFile, in *table.Reader) (func() error, error) {
	if t.opt.Time != "" {
		return nil, fmt.Errorf("time %q: a column of layout %q; the layout is %q", t.opt.Time, LayoutLong, LayoutWide)
	}
	r, err := t.roles(in, nil)
	if err != nil {
		return nil, err
	}
	channels, steps, err := wideChannels(in.Columns(), r.inputs, t.opt.Columns)
	if err != nil {
		return nil, err
	}
	return func() error { return t.addWide(f, r, steps) }, t.setColumns(channels)
}

// wideChannels groups the columns of a wide table by channel. If every name ends in a number, the
// name before it is the channel and the number is the step. Otherwise the columns are the steps of
// one channel, which is called value.
func wideChannels(names []string, inputs []int, selected []string) (channels []string, steps [][]int, err error) {
	type step struct{ number, column int }
	named := !slices.ContainsFunc(inputs, func(k int) bool { return !stepName.MatchString(names[k]) })
	lists := map[string][]step{}
	for i, k := range inputs {
		channel, number := "", i
		if named {
			m := stepName.FindStringSubmatch(names[k])
			channel = m[1]
			number, _ = strconv.Atoi(m[2])
		}
		channel = cmp.Or(channel, "value")
		if lists[channel] == nil {
			channels = append(channels, channel)
		}
		lists[channel] = append(lists[channel], step{number, k})
	}
	if len(selected) > 0 {
		channels, selected = selected, channels
	}
	for _, name := range channels {
		list := lists[name]
		if list == nil {
			return nil, nil, fmt.Errorf("no channel %q; the channels are %s", name, suggest.List(selected))
		}
		if len(list) != len(lists[channels[0]]) {
			return nil, nil, fmt.Errorf("channel %q has %d steps, expected %d as %q", name, len(list), len(lists[channels[0]]), channels[0])
		}
		slices.SortStableFunc(list, func(a, b step) int { return a.number - b.number })
		columns := make([]int, len(list))
		for i, s := range list {
			columns[i] = s.column
		}
		steps = append(steps, columns)
	}
	return channels, steps, nil
}

// addWide adds a row of a wide table, which is a series.
func (t *tableReader) addWide(f *tableFile, r *roles, steps [][]int) error {
	length := len(steps[0])
	for ; length > 0; length-- { // missing values at the end are the end
		if slices.ContainsFunc(steps, func(columns []int) bool { return !r.Missing(columns[length-1]) }) {
			break
		}
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
