package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

func init() {
	register(definition[none]{
		name: "ts", help: "Time series in the .ts format of the UEA, UCR and TSER archives.",
		source: "data sets of time series are published at www.timeseriesclassification.com and tseregression.org; pass a folder with NAME_TRAIN.ts and NAME_TEST.ts",
		load:   loadTS,
	})
}

// none is the type of the options of a task without options.
type none struct{}

// loadTS loads a data set in the .ts format of the UEA, UCR and TSER archives. Each series has one
// or more channels, and a class or a number as its target. Lengths may differ. Missing values are
// replaced by rows.Interpolate. PyTorch's random_split with seed 42 selects a tenth of the
// training file as the validation set. The test file is the test set.
func loadTS(_ context.Context, src Source, _ none) (*dataset.Dataset, error) {
	train, test, err := readTS(src)
	if err != nil {
		return nil, err
	}
	n := len(train.examples)
	parts := dataset.RandomSplit(42, n-n/10, n/10)
	return train.dataset(src, train.pick(parts[0]), train.pick(parts[1]), test.examples)
}

// series are the examples of one .ts file.
type series struct {
	path       string
	channels   int
	classes    []string       // nil for a regression
	index      map[string]int // of each class
	regression bool
	examples   []dataset.Example
	values     int // of all examples
}

// pick returns some of the examples.
func (s *series) pick(members []int) (examples []dataset.Example) {
	for _, i := range members {
		examples = append(examples, s.examples[i])
	}
	return examples
}

// dataset returns the data set of the requested splits.
func (s *series) dataset(src Source, train, val, test []dataset.Example) (*dataset.Dataset, error) {
	d, err := dataset.FromSlices(dataset.Info{Channels: s.channels, Regression: s.regression, Labels: s.classes}, train, val, test)
	if err != nil {
		return nil, err
	}
	src.restrict(d)
	return d, nil
}

// readTS reads the training and the test file of a folder.
func readTS(src Source) (train, test *series, err error) {
	if _, err := datafile.List(src.Dir); err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(os.DirFS(src.Dir), "*_TRAIN.ts") // the folder's name is not part of the pattern
	if err != nil {
		return nil, nil, err
	}
	if len(names) != 1 {
		return nil, nil, datafile.NoData("data folder %s contains %d files *_TRAIN.ts, expected one", src.Dir, len(names))
	}
	path := filepath.Join(src.Dir, names[0])
	if train, err = readTSFile(path); err != nil {
		return nil, nil, err
	}
	if test, err = readTSFile(strings.TrimSuffix(path, "_TRAIN.ts") + "_TEST.ts"); err != nil {
		return nil, nil, err
	}
	if train.channels != test.channels || train.regression != test.regression || !slices.Equal(train.classes, test.classes) {
		return nil, nil, fmt.Errorf("%s and %s differ in their channels or classes, expected the same", train.path, test.path)
	}
	return train, test, nil
}

func readTSFile(path string) (*series, error) {
	f, err := datafile.Open(path)
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

// The limits of a .ts file.
const (
	tsLine     = 64 << 20 // bytes of a line
	tsHeader   = 1 << 20  // bytes of a line of the header
	tsChannels = 1 << 16
	tsValues   = 1 << 28 // of all series
)

// parseTS parses a .ts file: comments (#), header lines (@key value …) up to @data, then one series
// per line. Colons separate channels, commas values. The class or the number follows the last
// colon. A missing value is ? or NaN. A byte order mark before the first line is skipped.
func parseTS(r io.Reader) (*series, error) {
	s, first, inData := &series{}, true, false
	err := datafile.EachLine(r, tsLine, func(line string) (err error) {
		text := strings.TrimSpace(line)
		if first {
			text, first = strings.TrimPrefix(text, "\ufeff"), false
		}
		switch {
		case text == "" || text[0] == '#':
		case inData:
			err = s.example(text)
		case len(text) > tsHeader:
			err = fmt.Errorf("%d bytes before @data, expected at most %d", len(text), tsHeader)
		case text[0] == '@':
			inData, err = s.header(strings.Fields(text))
		default:
			err = errors.New("data before @data")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(s.examples) == 0 {
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
		if s.classes != nil && s.regression {
			return false, errors.New("@classLabel true and @targetLabel true before @data, expected one of them")
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
			s.index = make(map[string]int, len(s.classes))
			for i, class := range s.classes {
				if !utf8.ValidString(class) {
					return false, fmt.Errorf("class %.80q is not UTF-8 text", class)
				}
				if _, twice := s.index[class]; twice {
					return false, fmt.Errorf("@classLabel lists class %.80q twice", class)
				}
				s.index[class] = i
			}
		}
	case "@targetlabel":
		s.regression = value == "true"
	}
	return false, nil
}

// example parses one series.
func (s *series) example(text string) error {
	if n := strings.Count(text, ":"); n > tsChannels {
		return fmt.Errorf("%d channels, expected at most %d", n, tsChannels)
	}
	parts := strings.Split(text, ":")
	channels := parts[:len(parts)-1]
	if s.channels == 0 {
		s.channels = len(channels)
	}
	if len(channels) != s.channels || s.channels == 0 {
		return fmt.Errorf("%d channels, expected %d", len(channels), s.channels)
	}
	values := strings.Count(text, ",") + len(channels)
	if s.values += values; s.values > tsValues {
		return fmt.Errorf("more than %d values, the limit", tsValues)
	}
	x := make([]float32, 0, values)
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
			f, err := table.ParseFloat(v, 32)
			if err != nil || math.IsInf(f, 0) {
				return fmt.Errorf("channel %d: value %.20q, expected a number or ? for a missing one", c+1, v)
			}
			x = append(x, float32(f))
		}
		rows.Interpolate(x[c*length:])
	}
	e, target := dataset.Example{X: x, Len: length, Label: -1}, strings.TrimSpace(parts[len(parts)-1])
	if s.regression {
		f, err := table.ParseFloat(target, 32)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("target %.20q, expected a number", target)
		}
		e.Target = []float32{float32(f)}
	} else if label, known := s.index[target]; known {
		e.Label = label
	} else {
		return fmt.Errorf("class %.20q is not one of %s", target, suggest.List(s.classes))
	}
	s.examples = append(s.examples, e)
	return nil
}
