package rows

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// window is an example of a forecast. Its targets are rows from to to of a series. It reads the
// rows that are Horizon before them, and rows before these as context.
type window struct {
	record   int
	from, to int
}

// windowSet is a split of series that are forecast, cut into windows.
type windowSet struct {
	*seriesData
	windows []window
	targets []int // columns
}

// forecastDataset returns the data set of forecasts.
func (s *seriesData) forecastDataset() (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: s.info}
	var targets []int
	for o := range s.opt.Targets {
		targets = append(targets, s.info.Series.TargetColumn(o))
	}
	for _, p := range []struct {
		name string
		dst  *dataset.Set
	}{{"train", &d.Train}, {"val", &d.Val}, {"test", &d.Test}} {
		set := &windowSet{seriesData: s, targets: targets}
		var segments []window
		for i := range s.records {
			from, to := s.bounds(&s.records[i], p.name)
			if from = max(from, s.opt.Horizon); from < to {
				segments = append(segments, window{i, from, to})
			}
			for ; from < to; from += s.opt.Window {
				w := window{record: i, from: from, to: min(from+s.opt.Window, to)}
				if set.scored(w) {
					set.windows = append(set.windows, w)
				}
			}
		}
		switch {
		case len(set.windows) == 0:
			continue
		case p.name == "train":
			*p.dst = set.shifted(segments)
		default:
			*p.dst = set
		}
		d.MaxLen = max(d.MaxLen, slices.Max(dataset.Lengths(*p.dst)))
	}
	if d.MaxLen == 0 {
		return nil, fmt.Errorf("nothing to predict in %d series: expected one of more than %d rows, the horizon, with a known target after them", len(s.records), s.opt.Horizon)
	}
	if d.Train == nil {
		return d, nil
	}
	d.Mean, d.Std = dataset.MeanStdOf(s.inputs)
	for _, c := range targets {
		d.TargetMean, d.TargetStd = append(d.TargetMean, d.Mean[c]), append(d.TargetStd, d.Std[c])
	}
	return d, nil
}

// scored reports whether a window has a target that is known.
func (s *windowSet) scored(w window) bool {
	for _, c := range s.targets {
		for _, v := range s.records[w.record].channel(c)[w.from:w.to] {
			if v == v {
				return true
			}
		}
	}
	return false
}

// start returns the first row that the network reads.
func (s *windowSet) start(w window) int { return max(w.from-s.opt.Horizon-s.opt.Context, 0) }

func (s *windowSet) Len() int { return len(s.windows) }

func (s *windowSet) Length(i int) int { return s.length(s.windows[i]) }

func (s *windowSet) length(w window) int { return w.to - s.opt.Horizon - s.start(w) }

func (s *windowSet) Example(dst *dataset.Example, i, _ int) error {
	s.fillExample(dst, s.windows[i])
	return nil
}

// fillExample sets dst to the example of a window.
func (s *windowSet) fillExample(dst *dataset.Example, w window) {
	n := s.length(w)
	r, start := &s.records[w.record], s.start(w)
	*dst = dataset.Example{X: dataset.Resize(dst.X, len(s.columns)*n), Target: dataset.Resize(dst.Target, len(s.targets)*n), Tokens: dst.Tokens[:0], Len: n, Label: -1, Path: r.id}
	for c := range s.columns {
		x := dst.X[c*n : (c+1)*n]
		copy(x, r.channel(c)[start:])
		fillPrevious(x, s.before(r, c, start))
	}
	for o, c := range s.targets {
		y := dst.Target[o*n : (o+1)*n]
		known := n - (w.to - w.from)
		for p := range y[:known] {
			y[p] = nan32
		}
		copy(y[known:], r.channel(c)[w.from:w.to])
	}
}

// Identity identifies a window by its series' ID, its rows and its values.
func (s *windowSet) Identity(i int) dataset.Identity {
	w := s.windows[i]
	r, start := &s.records[w.record], s.start(w)
	id := dataset.Identity{Label: -1, Samples: []any{[]byte(r.id), int64(w.from), int64(w.to)}}
	for c := range s.columns {
		id.Samples = append(id.Samples, r.channel(c)[start:w.to])
	}
	return id
}

// minWindows is the number of examples of an epoch of long series, if they have fewer windows.
const minWindows = 64

// shiftedSet is a training set whose windows have other positions in every pass.
type shiftedSet struct {
	*windowSet
	segments []window // rows that are targets
	starts   []int    // of each segment: the number of rows in those before
	rows, n  int      // of all segments; examples
}

// shifted returns the training set of segments. Segments that are windows do not shift.
func (s *windowSet) shifted(segments []window) dataset.Set {
	if len(segments) == len(s.windows) {
		return s
	}
	set := &shiftedSet{windowSet: s, segments: segments, n: max(len(s.windows), minWindows)}
	for _, w := range segments {
		set.starts = append(set.starts, set.rows)
		set.rows += w.to - w.from
	}
	return set
}

func (s *shiftedSet) Len() int { return s.n }

// Unshifted implements dataset.ShiftedSet.
func (s *shiftedSet) Unshifted() dataset.Set { return s.windowSet }

// Length returns the largest length of a window.
func (s *shiftedSet) Length(int) int {
	longest := 0
	for _, w := range s.segments {
		end := window{w.record, max(w.to-s.opt.Window, w.from), w.to}
		longest = max(longest, s.length(end))
	}
	return longest
}

// window draws the position of window i from the i-th of n equal parts of the rows.
func (s *shiftedSet) window(i, pass int) window {
	u := random.New(s.opt.Seed, random.Shuffle, pass, 2).Float64(uint64(i))
	row := min(int((float64(i)+u)/float64(s.n)*float64(s.rows)), s.rows-1)
	k, exact := slices.BinarySearch(s.starts, row)
	if !exact {
		k--
	}
	w := s.segments[k]
	from := w.from + row - s.starts[k] - s.opt.Window/2
	from = max(min(from, w.to-s.opt.Window), w.from)
	return window{w.record, from, min(from+s.opt.Window, w.to)}
}

func (s *shiftedSet) Example(dst *dataset.Example, i, pass int) error {
	s.fillExample(dst, s.window(i, pass))
	return nil
}

// before returns the last known value of a channel before a row, or what replaces it.
func (s *windowSet) before(r *record, c, row int) float32 {
	if v := known(r.channel(c), row-1, 1); v == v {
		return v
	}
	return s.fill[c]
}

func (s *windowSet) Naive(last, season []float32, i int) error {
	return s.naive(last, season, s.windows[i])
}

func (s *shiftedSet) Naive(last, season []float32, i int) error {
	return s.naive(last, season, s.window(i, 0))
}

// naive is Naive for a window.
func (s *windowSet) naive(last, season []float32, w window) error {
	n := s.length(w)
	if size := len(s.targets) * n; len(last) != size || len(season) != size {
		return fmt.Errorf("rows: naive forecasts: %d and %d values, expected %d", len(last), len(season), size)
	}
	lag := 0 // the smallest number of whole seasons that is not shorter than the horizon
	if s.opt.Season > 0 {
		lag = (s.opt.Horizon + s.opt.Season - 1) / s.opt.Season * s.opt.Season
	}
	r, start := &s.records[w.record], s.start(w)
	for o, c := range s.targets {
		x := r.channel(c)
		for p := range n {
			last[o*n+p] = known(x, start+p, 1)
			season[o*n+p] = nan32
			if lag > 0 {
				season[o*n+p] = known(x, start+p+s.opt.Horizon-lag, s.opt.Season)
			}
		}
	}
	return nil
}

// known returns the value of x at a row or, if that is missing, at the first row that is a multiple
// of step before it and has one.
func known(x []float32, row, step int) float32 {
	for ; row >= 0; row -= step {
		if v := x[row]; v == v {
			return v
		}
	}
	return nan32
}
