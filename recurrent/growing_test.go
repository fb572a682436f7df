package recurrent_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// A stream has no end, so modes of DSS or S5 that grow are an error. Those of the other layers, and
// of S5 with ClipEigs, cannot grow. In each kind of layer, any mode may be on the unit circle: the
// test has every fifth.
func TestGrowingModes(t *testing.T) {
	undamped := math.Inf(-1)
	scan := func(c ssm.Config) model.Config {
		cfg := variants()["S5"]
		cfg.SSM = c
		return cfg
	}
	bilinear, clipped := s5(8), s5(8)
	bilinear.Disc, clipped.ClipEigs = ssm.Bilinear, true
	for _, tt := range []struct {
		name   string
		cfg    model.Config
		circle float64 // the value of Decay of a mode on the unit circle
		grows  float64 // and of one that grows; 0: none can
		advice string
	}{
		{"S4D", variants()["post-norm"], undamped, 0, ""},
		{"S4D, bilinear", variants()["bilinear, tied"], undamped, 0, ""},
		{"S4D, real", variants()["real, bilinear"], undamped, 0, ""},
		{"S4", variants()["S4"], undamped, 0, ""},
		{"LRU", variants()["LRU"], undamped, 0, ""},
		{"LRU, hardly damped", variants()["LRU"], -50, 0, ""}, // after rounding, |λ̄| may be greater than 1
		{"DSS", variants()["DSS"], 0, -0.1, "use package convmode"},
		{"S5", scan(s5(8)), 0, 0.1, "which bounds the poles"},
		{"S5, bilinear", scan(bilinear), 0, 0.1, "which bounds the poles"},
	} {
		for layer := range tt.cfg.NLayers {
			m := newModel(t, tt.cfg, 1)
			w := &m.Weights.Layers[layer]
			check := func(what string, growing int) {
				_, err := recurrent.New(m, recurrent.Options{})
				want := fmt.Sprintf("recurrent: %d modes of layer %d grow without bound", growing, layer)
				if (err == nil) != (growing == 0) || err != nil && !(strings.Contains(err.Error(), want) && strings.Contains(err.Error(), tt.advice)) {
					t.Errorf("%s, layer %d, %s: error %v", tt.name, layer, what, err)
				}
			}
			for mode := 0; mode < len(w.Decay); mode += 5 {
				decay := w.Decay[mode]
				what := fmt.Sprintf("mode %d", mode)
				if tt.grows != 0 {
					w.Decay[mode] = float32(tt.grows)
					check(what+" grows", 1)
				}
				w.Decay[mode] = float32(tt.circle)
				var p []float32
				if w.P != nil { // S4: Λ − P·P* is damped unless P = 0
					p = w.P[2*mode:][:2]
				}
				kept := slices.Clone(p)
				clear(p)
				check(what+" on the circle", 0)
				copy(p, kept)
				w.Decay[mode] = decay
			}
			if tt.grows == 0 {
				continue
			}
			for mode := range w.Decay {
				w.Decay[mode] = float32(tt.grows)
			}
			check("all modes grow", len(w.Decay))
		}
	}

	m := newModel(t, scan(clipped), 1)
	m.Weights.Layers[0].Decay[1] = 0.1
	must.Get(recurrent.New(m, recurrent.Options{}))(t)
}
