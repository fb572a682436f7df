package ssm

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The angles of a layer are one uniform grid, of dfout-single one grid per SSM (docs/maths.md §2.3,
// §2.4 item 1).
func TestGrids(t *testing.T) {
	const h, n = 6, 8
	for init, modes := range map[Init]int{DFouT: n / 2, DFouTHalf: n/2 + 1, DFouTSingle: n / 2} {
		cfg := config(init, h, n)
		cfg.Param = ParamDiscrete
		p := mustNew(t, cfg, 1, 0)
		must.Equal(t, p.Modes(), modes, "%s: modes", init)
		must.Equal(t, len(p.Freq), h*modes, "%s: number of angles", init)
		for i, got := range p.Freq {
			want := 2 * math.Pi / n * (float64(i%modes) + float64(i/modes)/h)
			if init == DFouTSingle {
				want = 2 * math.Pi / n * float64(i%modes)
			}
			if math.Abs(got-want) > 1e-14 {
				t.Errorf("%s: angle %d of SSM %d is %v, expected %v", init, i%modes, i/modes, got, want)
			}
		}
	}
}

// Log-normal frequencies of "rand"; each pole has its own.
func TestRandomFrequencies(t *testing.T) {
	var logMean, logSquare float64
	normal := mustNew(t, config(Rand, 100, 64), 1, 0).Freq
	for _, f := range normal {
		logMean += math.Log(f) / float64(len(normal))
		logSquare += math.Log(f) * math.Log(f) / float64(len(normal))
	}
	if math.Abs(logMean) > 0.08 || math.Abs(logSquare-1) > 0.12 {
		t.Errorf("rand: the logarithms' mean is %v, their mean square %v", logMean, logSquare)
	}
}
