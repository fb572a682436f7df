package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layerScores has the scores of a layer's SSMs and modes (docs/maths.md §8). The score of a
// bidirectional SSM or mode is the larger one of its two directions. An unbounded score is null in
// JSON.
type layerScores struct {
	Layer int        `json:"layer"`
	SSMs  []ssmScore `json:"ssms"`
}

type ssmScore struct {
	Step  float64     `json:"step"`  // Δ or ξ
	HInf  *float64    `json:"h_inf"` // sup |H|², without D
	Angle float64     `json:"angle"` // of the largest response, in radians per sample
	Modes []modeScore `json:"modes"`
}

type modeScore struct {
	Modulus float64  `json:"modulus"`
	Angle   float64  `json:"angle"` // in radians per sample, as stored
	HInf    *float64 `json:"h_inf"`
	LAST    float64  `json:"last"` // that prune uses to select modes; 1 for the highest of the layer
}

// analyze returns the analysis of every layer.
func analyze(m *model.Model) ([]*ssm.Analysis, error) {
	var layers []*ssm.Analysis
	for i := range m.Config.CountSSM() {
		a, err := m.SSMParams(i).Analyze(1)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		layers = append(layers, a)
	}
	return layers, nil
}

// peaksOf returns the peaks of the frequency responses of each layer.
func peaksOf(layers []*ssm.Analysis) [][]ssm.Peak {
	peaks := make([][]ssm.Peak, len(layers))
	rows := layers[0].Rows // the same in all layers
	for i := range peaks {
		peaks[i] = make([]ssm.Peak, rows)
	}
	pool := par.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	pool.For(len(layers)*rows, func(_, i int) { peaks[i/rows][i%rows] = layers[i/rows].HInf(i % rows) })
	return peaks
}

// scoresOf returns the scores of a layer.
func scoresOf(layer int, p *ssm.Params, d *ssm.Discrete, peaks []ssm.Peak) layerScores {
	s := layerScores{Layer: layer}
	modes, last := d.ModeScores(), d.LAST()
	for h := range d.H {
		peak := peaks[h]
		if d.Directions == 2 && peaks[d.H+h].Gain > peak.Gain {
			peak = peaks[d.H+h]
		}
		one := ssmScore{Step: math.Exp(p.Step[h]), HInf: bounded(peak.Gain * peak.Gain), Angle: peak.Theta}
		for i := h * d.M; i < (h+1)*d.M; i++ {
			score := modes[i]
			if d.Directions == 2 {
				score = max(score, modes[d.H*d.M+i])
			}
			a := d.LogLambda[i]
			one.Modes = append(one.Modes, modeScore{Modulus: math.Exp(real(a)), Angle: imag(a), HInf: bounded(score), LAST: last[i]})
		}
		s.SSMs = append(s.SSMs, one)
	}
	return s
}

// bounded returns a pointer to the value, nil for +Inf, which JSON does not have.
func bounded(v float64) *float64 {
	if math.IsInf(v, 1) {
		return nil
	}
	return &v
}

// boundedText formats a score.
func boundedText(v *float64) string {
	if v == nil {
		return "unbounded"
	}
	return fmt.Sprintf("%.4g", *v)
}

// print writes a table of the SSMs and a table of their modes.
func (s layerScores) print(w io.Writer, step string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nlayer %d\nssm\t%s\tH∞\tat\n", s.Layer, step)
	for h, one := range s.SSMs {
		fmt.Fprintf(t, "%d\t%.4g\t%s\t%.5f\n", h, one.Step, boundedText(one.HInf), one.Angle)
	}
	fmt.Fprintf(t, "\nssm\tmode\tmodulus\tangle\tH∞\tLAST\n")
	for h, one := range s.SSMs {
		for n, mode := range one.Modes {
			fmt.Fprintf(t, "%d\t%d\t%.6f\t%.5f\t%s\t%.4g\n", h, n, mode.Modulus, mode.Angle, boundedText(mode.HInf), mode.LAST)
		}
	}
	return t.Flush()
}
