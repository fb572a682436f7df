package rows

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

const tsClasses = `# made up
@problemName Motion
@timeStamps false
@univariate false
@dimensions 2
@equalLength false
@classLabel true up down
@data
1,2,3:4,5,6:up
-1.5,2e1:0,7:down
`

const tsNumbers = "@problemName Rate\n@targetLabel true\n@data\n"

// Missing values are interpolated linearly. At the end of all channels they are the end.
func TestMissingValues(t *testing.T) {
	s := must.Get(parseTS(strings.NewReader(tsClasses + "?,1,?,?,4,?:NaN, ?,?,?,?,?:up\n?,?:7,nan:down\n1,2,NaN, ?:3,4,5,?:up\n")))(t)
	for i, want := range [][]float32{{1, 1, 2, 3, 4, 0, 0, 0, 0, 0}, {0, 7}, {1, 2, 2, 3, 4, 5}} {
		if got := s.Examples[2+i].X; !slices.Equal(got, want) {
			t.Errorf("series %d: %v, expected %v", i, got, want)
		}
	}
	must.Equal(t, fmt.Sprint(s.Notes), "[missing values at the end of all channels are the end of the series missing values are interpolated, and 0 in a channel without values]", "notes")
}

// Channels of different lengths are stretched to the longest, a channel without values is 0, time
// stamps are left out, and classes that are numbers compare as numbers.
func TestTSArchives(t *testing.T) {
	const stretched = "channels that are shorter than the longest one of their series are stretched to its length"
	const missing = "missing values are interpolated, and 0 in a channel without values"
	for _, c := range []struct {
		text, want string
	}{
		{"@targetLabel true\n@data\n1,2,3,4,5:0,4:7:2.5\n", "[[1 2 3 4 5 0 1 2 3 4 7 7 7 7 7]] [" + stretched + "]"},
		{"@targetLabel true\n@data\n1,2::3\n1,2:?:4\n", "[[1 2 0 0] [1 2 0 0]] [" + missing + " " + stretched + "]"},
		{"@timeStamps true\n@targetLabel true\n@data\n(2016-01-11 00-00-00,49.5),(2016-01-11 00:10:00,-3):(0,1),(1,?):3\n", "[[49.5 -3 1 1]] [the time stamps are not read: the values of a series count as evenly spaced " + missing + "]"},
		{"@timeStamps true\n@targetLabel true\n@data\n(0,1),(2,3),(4,5):(0,1),(2,2),(4,1):3\n(2016-01-11 00-00-00,1),(2016-01-12 00-00-00,2),(2016-01-13 00-00-00,3):(2016-01-11 00-00-00,1),(2016-01-12 00-00-00,2),(2016-01-13 00-00-00,3):3\n", "[[1 3 5 1 2 1] [1 2 3 1 2 3]] []"},
		{"@classLabel true 1 2\n@data\n1,2:1.0\n3,4:2\n", "[[1 2] [3 4]] []"},
	} {
		s := must.Get(parseTS(strings.NewReader(c.text)))(t)
		var x [][]float32
		for _, e := range s.Examples {
			x = append(x, e.X)
		}
		must.Equal(t, fmt.Sprint(x, " ", s.Notes), c.want, "%s", c.text)
	}
}

func TestTSErrors(t *testing.T) {
	for want, text := range map[string]string{
		`value "(0"`:                        "@timeStamps true\n" + tsNumbers + "(0,1,2):3\n",
		`value "x"`:                         tsClasses + "1,x:1,2:up\n",
		`target "?"`:                        tsNumbers + "1:?\n",
		"3 channels, expected 2":            tsClasses + "1:1:1:up\n",
		`lists class "a" twice`:             "@classLabel true a b a\n",
		`line 1: class "\xe9" is`:           "@classLabel true a \xe9\n",
		`class "left"`:                      tsClasses + "1:1:left\n",
		"line 11":                           tsClasses + "1:1:left\n",
		"data before @data":                 "1,2:up\n",
		"of 40 channels has 4000 values":    strings.Replace(tsClasses, "1,2,3:4,5,6:up\n-1.5,2e1:0,7:down\n", strings.Repeat("1,", 3999)+"1"+strings.Repeat(":1", 39)+":up\n", 1),
		"lists no class":                    "@classLabel true\n",
		"line 2: expected @classLabel true": "@problemName X\n@data\n",
		"line 3: expected @classLabel true": "@classLabel true a\n@targetLabel true\n@data\n1:2\n",
		"contains no series":                "@targetLabel true\n@data\n",
		`target "high"`:                     tsNumbers + "1:high\n",
	} {
		must.Reject(parseTS(strings.NewReader(text)))(t, want)
	}
}

// Lines of as many fields as a line can hold cost no more memory than docs/reliability.md states.
func TestTSBounds(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{tsNumbers + strings.Repeat(":", 1<<22) + "\n", 32 << 20, "line 4: 4194304 channels, expected at most 65536"},
	} {
		var err error
		must.Allocates(t, c.most, func() { _, err = parseTS(strings.NewReader(c.text)) }, "%.40q …", c.text)
		must.Fail(t, err, c.want)
	}
}

func FuzzTS(f *testing.F) {
	f.Add(tsClasses)
	f.Add("@targetLabel true\n@data\n0.10,0.10,0.10:1000.00\n0.94,0.90,0.80,0.74:1004.21\n-0.66,-0.82:996.22\n")
	f.Add(tsNumbers + "1,2:3\n")
	f.Add("@timeStamps true\n" + tsNumbers + "(0,1),(1,2):(5-1,3)::4\n")
	f.Add(tsNumbers + "1,?,3e38,?,-3e38:?,NaN,?,?,?:3\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseTS(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range s.Examples {
			if len(e.X) == 0 || len(e.X) != e.Len*s.Channels || slices.ContainsFunc(e.X, func(v float32) bool { return v != v }) {
				t.Errorf("%v of %d channels", e.X, s.Channels)
			}
			if (len(e.Target) == 1) != s.Regression || (e.Label >= 0) == s.Regression {
				t.Errorf("label %d, target %v of a regression: %t", e.Label, e.Target, s.Regression)
			}
		}
	})
}
