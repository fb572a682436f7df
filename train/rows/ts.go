package rows

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
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
	Notes      []string // on how the series were read

	stamped bool // values are (time,value)
}

// ReadTS reads a file in the .ts format. Each series has one or more channels, and a class or a
// number as its target. Lengths may differ; a channel that is shorter than the longest one of its
// series is stretched to it. Missing values are interpolated between their known neighbours; those
// at the end of all channels end the series. Time stamps are not read. Notes say so.
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
	given := len(f) > 1 && strings.EqualFold(f[1], "true")
	switch strings.ToLower(f[0]) {
	case "@data":
		if (s.Classes == nil) != s.Regression {
			return false, errors.New("expected @classLabel true or @targetLabel true before @data")
		}
		return true, nil
	case "@timestamps":
		s.stamped = given
	case "@classlabel":
		if given {
			s.Classes = f[2:]
		}
		if given && len(s.Classes) == 0 {
			return false, errors.New("@classLabel lists no class")
		}
		for i, class := range s.Classes {
			if !utf8.ValidString(class) {
				return false, fmt.Errorf("class %.80q is not UTF-8 text", class)
			}
			if slices.Contains(s.Classes[:i], class) {
				return false, fmt.Errorf("@classLabel lists class %.80q twice", class)
			}
		}
	case "@targetlabel":
		s.Regression = given
	}
	return false, nil
}

func (s *TS) note(text string) {
	if !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// stampedValue matches a value with its time, in which a colon would separate channels.
var stampedValue = regexp.MustCompile(`\(([^(),]*),([^(),]*)\)`)

func (s *TS) example(text string) error {
	if s.stamped {
		if !isEven(text) {
			s.note("the time stamps are not read: the values of a series count as evenly spaced")
		}
		text = stampedValue.ReplaceAllString(text, "$2")
	}
	if n := strings.Count(text, ":"); n > tsChannels {
		return fmt.Errorf("%d channels, expected at most %d", n, tsChannels)
	}
	parts := strings.Split(text, ":")
	channels := parts[:len(parts)-1]
	if s.Channels == 0 {
		s.Channels = len(channels)
	}
	if len(channels) != s.Channels || s.Channels == 0 {
		return fmt.Errorf("%d channels, expected %d; ? stands for a channel without values", len(channels), s.Channels)
	}
	length := 0
	for _, values := range channels {
		length = max(length, strings.Count(values, ",")+1)
	}
	if most := 16*(strings.Count(text, ",")+len(channels)) + 1024; length*len(channels) > most {
		return fmt.Errorf("the longest of %d channels has %d values, and the others are much shorter", len(channels), length)
	}
	known := 0
	for _, values := range channels {
		known = max(known, strings.Count(missingEnd.ReplaceAllString(values, ""), ",")+1)
	}
	if known < length {
		length = known
		s.note("missing values at the end of all channels are the end of the series")
	}
	x := make([]float32, length*len(channels))
	for c, values := range channels {
		if err := s.channel(x[c*length:][:length], values); err != nil {
			return fmt.Errorf("channel %d: %w", c+1, err)
		}
	}
	target := strings.TrimSpace(parts[len(parts)-1])
	e := dataset.Example{X: x, Len: length, Label: s.Class(target)}
	if s.Regression {
		f, err := table.ParseFloat(target, 32)
		if err != nil || f-f != 0 {
			return fmt.Errorf("target %.20q, expected a number", target)
		}
		e.Target = []float32{float32(f)}
	} else if e.Label < 0 {
		return fmt.Errorf("class %.20q is not one of %s", target, suggest.List(s.Classes))
	}
	s.Examples = append(s.Examples, e)
	return nil
}

// isEven reports whether all time stamps of a series are as far from the ones before them.
func isEven(text string) bool {
	last, step := math.NaN(), math.NaN()
	for _, at := range stampedValue.FindAllStringSubmatchIndex(text, -1) {
		stamp := strings.TrimSpace(text[at[2]:at[3]])
		v, err := strconv.ParseFloat(stamp, 64)
		if t, _, ok := new(dates).parse(stamp); err != nil && ok {
			v, err = float64(t.Unix()), nil
		}
		if at[0] == 0 || text[at[0]-1] != ',' { // of another channel
			last = math.NaN()
		}
		if step != step {
			step = v - last
		}
		if err != nil || math.Abs(v-last-step) > 1e-6*math.Abs(step) {
			return false
		}
		last = v
	}
	return true
}

// missingEnd matches the missing values at the end of a channel that has others before them.
var missingEnd = regexp.MustCompile(`(?i)(?:,\s*(?:\?|nan)\s*)+$`)

// Class returns the index of a class, or −1. Classes that are numbers compare as numbers.
func (s *TS) Class(name string) int {
	if i := slices.Index(s.Classes, name); i >= 0 {
		return i
	}
	v, err := table.ParseFloat(name, 64)
	return slices.IndexFunc(s.Classes, func(class string) bool {
		w, other := table.ParseFloat(class, 64)
		return err == nil && other == nil && v == w
	})
}

// channel parses the values of a channel and stretches them to the length of x by linear
// interpolation. More values than x has room for are missing.
func (s *TS) channel(x []float32, values string) error {
	n := min(strings.Count(values, ",")+1, len(x))
	from, i := x[:n], 0
	for v := range strings.SplitSeq(values, ",") {
		if i == n {
			break
		}
		if v = strings.TrimSpace(v); v == "?" || v == "" && n == 1 {
			v = "NaN"
		}
		f, err := table.ParseFloat(v, 32)
		if err != nil || math.IsInf(f, 0) {
			return fmt.Errorf("value %.20q, expected a number or ? for a missing one", v)
		}
		if from[i] = float32(f); f != f {
			s.note("missing values are interpolated, and 0 in a channel without values")
		}
		i++
	}
	interpolate(from)
	if n == len(x) {
		return nil
	}
	s.note("channels that are shorter than the longest one of their series are stretched to its length")
	from = slices.Clone(from)
	for i := range x {
		at := 0.0
		if n > 1 {
			at = float64(i) * float64(n-1) / float64(len(x)-1)
		}
		k := min(int(at), n-1)
		x[i] = float32(float64(from[k])*(1-at+float64(k)) + float64(from[min(k+1, n-1)])*(at-float64(k)))
	}
	return nil
}
