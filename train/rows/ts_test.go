package rows

import (
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

// Missing values are interpolated linearly.
func TestMissingValues(t *testing.T) {
	s := must.Get(parseTS(strings.NewReader(tsClasses + "?,1,?,?,4,?:NaN, ?,?,?,?,?:up\n?,?:7,nan:down\n")))(t)
	for i, want := range [][]float32{{1, 1, 2, 3, 4, 4, 0, 0, 0, 0, 0, 0}, {0, 0, 7, 7}} {
		if got := s.Examples[2+i].X; !slices.Equal(got, want) {
			t.Errorf("series %d: %v, expected %v", i, got, want)
		}
	}
}

func TestTSErrors(t *testing.T) {
	for want, text := range map[string]string{
		`value "x"`:                         tsClasses + "1,x:1,2:up\n",
		`value "??"`:                        tsClasses + "1,??:1,2:up\n",
		`value "1_0"`:                       tsClasses + "1,1_0:1,2:up\n",
		`target "0x1p3"`:                    tsNumbers + "1:0x1p3\n",
		`value "+Inf"`:                      tsClasses + "1,+Inf:1,2:up\n",
		`value ""`:                          tsClasses + "1,:1,2:up\n",
		`target "?"`:                        tsNumbers + "1:?\n",
		"channel 2 has 1 values":            tsClasses + "1,2:1:up\n",
		"3 channels, expected 2":            tsClasses + "1:1:1:up\n",
		`lists class "a" twice`:             "@classLabel true a b a\n",
		`line 1: class "\xe9" is`:           "@classLabel true a \xe9\n",
		`class "left"`:                      tsClasses + "1:1:left\n",
		"line 11":                           tsClasses + "1:1:left\n",
		"data before @data":                 "1,2:up\n",
		"@timeStamps true: ":                "@timeStamps true\n",
		"lists no class":                    "@classLabel true\n",
		"neither @classLabel":               "@problemName X\n@data\n",
		"@classLabel true and @targetLabel": "@classLabel true a\n@targetLabel true\n@data\n1:2\n",
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
