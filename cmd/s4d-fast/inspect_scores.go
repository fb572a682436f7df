package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layerScores has the scores of a layer's SSMs and modes (docs/maths.md §8). The score of a
// bidirectional SSM or mode is the larger one of its two directions. An unbounded score is null in
// JSON. Of S5 and LRU layers, which have one SSM, only Modes is set.
type layerScores struct {
	Layer int         `json:"layer"`
	SSMs  []ssmScore  `json:"ssms,omitempty"`
	Modes []modeScore `json:"modes,omitempty"`
}

type ssmScore struct {
	Step  float64       `json:"step"`  // Δ or ξ
	HInf  report.Number `json:"h_inf"` // sup |H|², without D
	Angle float64       `json:"angle"` // of the largest response, in radians per sample
	Modes []modeScore   `json:"modes"`
}

type modeScore struct {
	Step    *float64      `json:"step,omitempty"` // Δ of the mode; only S5 has one per mode
	Modulus float64       `json:"modulus"`
	Angle   float64       `json:"angle"` // in radians per sample, as stored
	HInf    report.Number `json:"h_inf"`
}

func analyze(m *model.Model) ([]*ssm.Analysis, error) {
	var layers []*ssm.Analysis
	for i := range m.Config.CountSSM() {
		a, err := m.SSMParams(i).Analyze()
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		layers = append(layers, a)
	}
	return layers, nil
}

// peaksOf returns the peaks of the frequency responses of each layer's h SSMs. That of a
// bidirectional SSM is the larger one of its directions.
func peaksOf(layers []*ssm.Analysis, h int) [][]ssm.Peak {
	peaks := make([][]ssm.Peak, len(layers))
	rows := layers[0].Rows // the same in all layers
	for i := range peaks {
		peaks[i] = make([]ssm.Peak, rows)
	}
	pool := par.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	pool.For(len(layers)*rows, func(_, i int) { peaks[i/rows][i%rows] = layers[i/rows].HInf(i % rows) })
	for i, list := range peaks {
		for row := h; row < rows; row++ {
			if list[row].Gain > list[row-h].Gain {
				list[row-h] = list[row]
			}
		}
		peaks[i] = list[:min(h, rows)]
	}
	return peaks
}

func scoresOf(layer int, p *ssm.Params, peaks []ssm.Peak) layerScores {
	s, g := layerScores{Layer: layer}, p.ModeGains()
	scores := g.HInf()
	for i, a := range g.LogLambda {
		s.Modes = append(s.Modes, modeScore{Modulus: math.Exp(real(a)), Angle: imag(a), HInf: report.Number(scores[i])})
		if p.Layer == ssm.LayerS5 {
			s.Modes[i].Step = new(math.Exp(p.Step[i]))
		}
	}
	if p.MIMO() {
		return s
	}
	for h, peak := range peaks {
		s.SSMs = append(s.SSMs, ssmScore{
			Step: math.Exp(p.Step[h]), HInf: report.Number(peak.Gain * peak.Gain), Angle: peak.Theta, Modes: s.Modes[h*g.M : (h+1)*g.M],
		})
	}
	s.Modes = nil
	return s
}

func boundedText(v report.Number) string {
	if math.IsInf(float64(v), 1) {
		return "unbounded"
	}
	return fmt.Sprintf("%.4g", v)
}

// print writes a table of the SSMs, if the layer has one per channel, and a table of the modes.
func (s layerScores) print(w io.Writer, step string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nlayer %d\n", s.Layer)
	ssms := s.SSMs
	if ssms == nil {
		ssms = []ssmScore{{Modes: s.Modes}}
	} else {
		fmt.Fprintf(t, "ssm\t%s\tH∞\tat\n", step)
		for h, one := range ssms {
			fmt.Fprintf(t, "%d\t%.4g\t%s\t%.5f\n", h, one.Step, boundedText(one.HInf), one.Angle)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "ssm\tmode\tmodulus\tangle\tH∞")
	if ssms[0].Modes[0].Step != nil {
		fmt.Fprint(t, "\tΔ")
	}
	for h, one := range ssms {
		for n, mode := range one.Modes {
			fmt.Fprintf(t, "\n%d\t%d\t%.6f\t%.5f\t%s", h, n, mode.Modulus, mode.Angle, boundedText(mode.HInf))
			if mode.Step != nil {
				fmt.Fprintf(t, "\t%.4g", *mode.Step)
			}
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}
