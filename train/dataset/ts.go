package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	tsSource    = "data sets of time series are published at www.timeseriesclassification.com and tseregression.org; pass a folder with NAME_TRAIN.ts and NAME_TEST.ts"
	bidmcSource = "BIDMC32HR, BIDMC32RR and BIDMC32SpO2 are published at tseregression.org; pass a folder with NAME_TRAIN.ts and NAME_TEST.ts"
)

// series are the examples of one .ts file.
type series struct {
	path       string
	channels   int
	classes    []string // nil for a regression
	regression bool
	x          [][]float32 // of each series: [channels][length]
	labels     []int
	targets    []float32
}

// loadTS loads a data set in the .ts format of the UEA, UCR and TSER archives. Each series has one
// or more channels, and a class or a number as its target. Lengths may differ. A missing value is
// interpolated linearly between its neighbours in the channel; before the first known value and
// after the last it is equal to that; a channel without values is 0. PyTorch's random_split with
// seed 42 selects a tenth of the training file as the validation set. The test file is the test
// set.
func loadTS(opt Options) (*Dataset, error) {
	train, test, err := readTS(opt, tsSource)
	if err != nil {
		return nil, err
	}
	n := len(train.x)
	parts := RandomSplit(42, n-n/10, n/10)
	return train.dataset("ts", opt, &tsSet{train, parts[0]}, &tsSet{train, parts[1]}, &tsSet{test, identity(len(test.x))}), nil
}

// bidmc loads one target of BIDMC32 (docs/maths.md §5.6). The two files are joined. scikit-learn's
// train_test_split with seed 0 selects 30 % of the series, and with seed 1 halves them into test
// and validation set.
func bidmc(task string) func(Options) (*Dataset, error) {
	return func(opt Options) (*Dataset, error) {
		s, rest, err := readTS(opt, bidmcSource)
		if err != nil {
			return nil, err
		}
		s.x, s.labels, s.targets = append(s.x, rest.x...), append(s.labels, rest.labels...), append(s.targets, rest.targets...)
		if !s.regression {
			return nil, fmt.Errorf("%s has classes, expected a number for each series", s.path)
		}
		evaluated, trained := sklearnSplit(len(s.x), 0.3, 0)
		first, second := sklearnSplit(len(evaluated), 0.5, 1)
		pick := func(of []int) []int {
			var out []int
			for _, i := range of {
				out = append(out, evaluated[i])
			}
			return out
		}
		return s.dataset(task, opt, &tsSet{s, trained}, &tsSet{s, pick(second)}, &tsSet{s, pick(first)}), nil
	}
}

// dataset returns the data set of three splits.
func (s *series) dataset(task string, opt Options, trained, validated, tested *tsSet) *Dataset {
	d := &Dataset{Info: Info{Task: task, Channels: s.channels, Regression: s.regression, Labels: s.classes, Outputs: max(len(s.classes), 1)}}
	for _, part := range []struct {
		split split
		set   *tsSet
		dst   *Set
	}{{train, trained, &d.Train}, {val, validated, &d.Val}, {test, tested, &d.Test}} {
		if !opt.includes(part.split) || part.set.Len() == 0 {
			continue
		}
		*part.dst = part.set
		d.MaxLen = max(d.MaxLen, slices.Max(Lengths(part.set)))
	}
	if d.Train != nil {
		d.Mean, d.Std = trained.moments()
	}
	if d.Train != nil && s.regression {
		var m moments
		for _, k := range trained.members {
			m.add(s.targets[k : k+1])
		}
		mean, std := m.meanStd()
		d.TargetMean, d.TargetStd = []float32{mean}, []float32{std}
	}
	return d
}

// tsSet is a split of the series.
type tsSet struct {
	*series
	members []int
}

func (s *tsSet) Len() int { return len(s.members) }

func (s *tsSet) Length(i int) int { return len(s.x[s.members[i]]) / s.channels }

func (s *tsSet) Example(dst *Example, i, _ int) error {
	if i < 0 || i >= len(s.members) {
		return outOfRange(i, len(s.members))
	}
	k := s.members[i]
	*dst = Example{X: append(dst.X[:0], s.x[k]...), Tokens: dst.Tokens[:0], Len: s.Length(i), Label: -1, Target: dst.Target[:0]}
	if s.regression {
		dst.Target = append(dst.Target, s.targets[k])
	} else {
		dst.Label = s.labels[k]
	}
	return nil
}

// moments returns the mean and the standard deviation of every channel.
func (s *tsSet) moments() (mean, std []float32) {
	for c := range s.channels {
		var m moments
		for i, k := range s.members {
			l := s.Length(i)
			m.add(s.x[k][c*l : (c+1)*l])
		}
		center, spread := m.meanStd()
		mean, std = append(mean, center), append(std, spread)
	}
	return mean, std
}

// readTS reads the training and the test file of a folder.
func readTS(opt Options, source string) (train, test *series, err error) {
	if err := opt.rejectClipOptions(); err != nil {
		return nil, nil, err
	}
	if _, err := readFolder(opt.Dir, source); err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(os.DirFS(opt.Dir), "*_TRAIN.ts") // the folder's name is no pattern
	if err != nil {
		return nil, nil, err
	}
	if len(names) != 1 {
		return nil, nil, fmt.Errorf("data folder %s contains %d files *_TRAIN.ts, expected one; %s", opt.Dir, len(names), source)
	}
	path := filepath.Join(opt.Dir, names[0])
	if train, err = readTSFile(path); err != nil {
		return nil, nil, err
	}
	test, err = readTSFile(strings.TrimSuffix(path, "_TRAIN.ts") + "_TEST.ts")
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; %s", err, source)
	}
	if err != nil {
		return nil, nil, err
	}
	if train.channels != test.channels || train.regression != test.regression || !slices.Equal(train.classes, test.classes) {
		return nil, nil, fmt.Errorf("%s and %s differ in their channels or classes, expected the same", train.path, test.path)
	}
	return train, test, nil
}

func readTSFile(path string) (*series, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := parseTS(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.path = path
	return s, nil
}

// parseTS parses a .ts file: comments (#), header lines (@key value …) up to @data, then one series
// per line. Colons separate channels, commas values. The class or the number follows the last
// colon. A missing value is ? or NaN.
func parseTS(r io.Reader) (*series, error) {
	s := &series{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<26) // of one series
	inData, line := false, 1
	for ; in.Scan(); line++ {
		text := strings.TrimSpace(in.Text())
		var err error
		switch {
		case text == "" || text[0] == '#':
		case inData:
			err = s.example(text)
		case text[0] == '@':
			inData, err = s.header(strings.Fields(text))
		default:
			err = errors.New("data before @data")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch err := in.Err(); {
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", line, err)
	case len(s.x) == 0:
		return nil, errors.New("the file contains no series")
	}
	return s, nil
}

// header parses a line of the header. data is true for @data, the last one.
func (s *series) header(f []string) (data bool, err error) {
	value := ""
	if len(f) > 1 {
		value = strings.ToLower(f[1])
	}
	switch strings.ToLower(f[0]) {
	case "@data":
		if s.classes == nil && !s.regression {
			return false, errors.New("neither @classLabel true nor @targetLabel true before @data")
		}
		return true, nil
	case "@timestamps":
		if value == "true" {
			return false, errors.New("@timeStamps true: expected values without times, evenly spaced")
		}
	case "@classlabel":
		if value == "true" {
			s.classes = f[2:]
			if len(s.classes) == 0 {
				return false, errors.New("@classLabel lists no class")
			}
		}
	case "@targetlabel":
		s.regression = value == "true"
	}
	return false, nil
}

// example parses one series.
func (s *series) example(text string) error {
	parts := strings.Split(text, ":")
	channels := parts[:len(parts)-1]
	if s.channels == 0 {
		s.channels = len(channels)
	}
	if len(channels) != s.channels || s.channels == 0 {
		return fmt.Errorf("%d channels, expected %d", len(channels), s.channels)
	}
	var x []float32
	length := strings.Count(channels[0], ",") + 1
	for c, values := range channels {
		if n := strings.Count(values, ",") + 1; n != length {
			return fmt.Errorf("channel %d has %d values, expected %d as in the first", c+1, n, length)
		}
		for v := range strings.SplitSeq(values, ",") {
			v = strings.TrimSpace(v)
			if v == "?" {
				v = "NaN"
			}
			f, err := strconv.ParseFloat(v, 32)
			if err != nil || math.IsInf(f, 0) {
				return fmt.Errorf("channel %d: value %q, expected a number or ? for a missing one", c+1, v)
			}
			x = append(x, float32(f))
		}
		interpolate(x[c*length:])
	}
	target := strings.TrimSpace(parts[len(parts)-1])
	if s.regression {
		f, err := strconv.ParseFloat(target, 32)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("target %q, expected a number", target)
		}
		s.targets = append(s.targets, float32(f))
	} else {
		label := slices.Index(s.classes, target)
		if label < 0 {
			return fmt.Errorf("class %q is not one of %q", target, s.classes)
		}
		s.labels = append(s.labels, label)
	}
	s.x = append(s.x, x)
	return nil
}

// interpolate fills the missing values (NaN) of a channel: linearly between their neighbours, at an
// end with the one neighbour, and with 0 if every value is missing.
func interpolate(x []float32) {
	last := -1 // index of the last known value
	for i, v := range x {
		if math.IsNaN(float64(v)) {
			continue
		}
		from := v
		if last >= 0 {
			from = x[last]
		}
		for k := last + 1; k < i; k++ {
			share := float64(k-last) / float64(i-last)
			x[k] = float32(float64(from)*(1-share) + float64(v)*share)
		}
		last = i
	}
	var end float32
	if last >= 0 {
		end = x[last]
	}
	for k := last + 1; k < len(x); k++ {
		x[k] = end
	}
}
