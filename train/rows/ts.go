package rows

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// TS is the content of a file in the .ts format of the UEA, UCR and TSER archives.
type TS struct {
	Path       string
	Channels   int
	Classes    []string // nil for a regression
	Regression bool
	Examples   []dataset.Example

	index map[string]int // of each class
}

// ReadTS reads a file in the .ts format. Each series has one or more channels, and a class or a
// number as its target. Lengths may differ. Missing values are interpolated between their known
// neighbours.
func ReadTS(path string) (s *TS, err error) {
	err = datafile.Parse(path, func(r io.Reader) error {
		s, err = parseTS(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Path = path
	return s, nil
}

// The limits of a .ts file.
const (
	tsLine     = 64 << 20 // bytes of a line
	tsChannels = 1 << 16
)

// parseTS parses a .ts file: comments (#), header lines (@key value …) up to @data, then one series
// per line. Colons separate channels, commas values. The class or the number follows the last
// colon. A missing value is ? or NaN. A byte order mark before the first line is skipped.
func parseTS(r io.Reader) (*TS, error) {
	s, first, inData := &TS{}, true, false
	err := datafile.EachLine(r, tsLine, func(line string) (err error) {
		text := strings.TrimSpace(line)
		if first {
			text, first = strings.TrimPrefix(text, "\ufeff"), false
		}
		switch {
		case text == "" || text[0] == '#':
		case inData:
			err = s.example(text)
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
	if len(s.Examples) == 0 {
		return nil, errors.New("the file contains no series")
	}
	return s, nil
}

// header parses a line of the header. data is true for @data, the last one.
func (s *TS) header(f []string) (data bool, err error) {
	value := ""
	if len(f) > 1 {
		value = strings.ToLower(f[1])
	}
	switch strings.ToLower(f[0]) {
	case "@data":
		if s.Classes == nil && !s.Regression {
			return false, errors.New("neither @classLabel true nor @targetLabel true before @data")
		}
		if s.Classes != nil && s.Regression {
			return false, errors.New("@classLabel true and @targetLabel true before @data, expected one of them")
		}
		return true, nil
	case "@timestamps":
		if value == "true" {
			return false, errors.New("@timeStamps true: expected values without times, evenly spaced")
		}
	case "@classlabel":
		if value == "true" {
			s.Classes = f[2:]
			if len(s.Classes) == 0 {
				return false, errors.New("@classLabel lists no class")
			}
			s.index = make(map[string]int, len(s.Classes))
			for i, class := range s.Classes {
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
		s.Regression = value == "true"
	}
	return false, nil
}

// example parses one series.
func (s *TS) example(text string) error {
	if n := strings.Count(text, ":"); n > tsChannels {
		return fmt.Errorf("%d channels, expected at most %d", n, tsChannels)
	}
	parts := strings.Split(text, ":")
	channels := parts[:len(parts)-1]
	if s.Channels == 0 {
		s.Channels = len(channels)
	}
	if len(channels) != s.Channels || s.Channels == 0 {
		return fmt.Errorf("%d channels, expected %d", len(channels), s.Channels)
	}
	values := strings.Count(text, ",") + len(channels)
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
		interpolate(x[c*length:])
	}
	e, target := dataset.Example{X: x, Len: length, Label: -1}, strings.TrimSpace(parts[len(parts)-1])
	if s.Regression {
		f, err := table.ParseFloat(target, 32)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("target %.20q, expected a number", target)
		}
		e.Target = []float32{float32(f)}
	} else if label, known := s.index[target]; known {
		e.Label = label
	} else {
		return fmt.Errorf("class %.20q is not one of %s", target, suggest.List(s.Classes))
	}
	s.Examples = append(s.Examples, e)
	return nil
}
