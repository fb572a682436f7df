package recurrent

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Over 16,384 samples of white noise, the error of a layer stays below 9e-6 of the output's root
// mean square, because the rounding of the poles is corrected. Without the correction the slow
// poles of an LRU drift. The truth is the recursion in float64.
func TestScanDrift(t *testing.T) {
	if vektest.Emulated && testing.Short() {
		t.Skip("slow under emulation")
	}
	const h, length = 2, 16384
	slow := ssm.Config{Layer: ssm.LayerLRU, DState: 256, Init: ssm.Ring, Disc: ssm.ZOH, RMin: 0.999, RMax: 0.9999, MaxPhase: 0.314}
	for _, test := range []struct {
		layer   ssm.Config
		without float64 // least error without the correction
	}{
		{slow, 5e-5},
		{ssm.Config{Layer: ssm.LayerS5, DState: 256, Blocks: 16, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 1e-4, DtMax: 0.01}, 2e-5},
	} {
		c := model.Default()
		c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM = h, h, h, 1, test.layer
		m := must.Get(model.New(c, 3))(t)
		clear(m.Weights.Layers[0].D) // the states alone
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float32, h*length)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		want := scanTruth(m.SSMParams(0), x, length)
		layer := must.Get(newScan(m, 0, 1))(t)
		with := scanError(layer, x, want, length)
		clear(layer.correction)
		without := scanError(layer, x, want, length)
		t.Logf("%s: error %.1e of the root mean square, %.1e without correction", test.layer.Layer, with, without)
		if !(with <= 9e-6) {
			t.Errorf("%s: error %.2g of the root mean square, expected at most 9e-6", test.layer.Layer, with)
		}
		if !(without >= test.without) {
			t.Errorf("%s: error %.2g without the correction, expected at least %.0e: the test shows nothing", test.layer.Layer, without, test.without)
		}
	}
}

// scanTruth is the layer in complex128, y [H][length].
func scanTruth(p *ssm.Params, x []float32, length int) []float64 {
	d := ssm.NewScan(p.Config)
	p.DiscretizeScan(d, 1, 0, p.Modes())
	y, state := make([]float64, len(x)), make([]complex128, p.Modes())
	for t := range length {
		for n := range state {
			state[n] *= d.Lambda[n]
			for h := range p.DModel {
				state[n] += d.BBar[n*p.DModel+h] * complex(float64(x[h*length+t]), 0)
			}
		}
		for h := range p.DModel {
			sum := p.D[h] * float64(x[h*length+t])
			for n, v := range state {
				sum += d.Factor * real(p.C[h*p.Modes()+n]*v)
			}
			y[h*length+t] = sum
		}
	}
	return y
}

// scanError streams x through a layer and returns the largest error, relative to the root mean
// square of the output.
func scanError(s *scan, x []float32, want []float64, length int) float64 {
	state, scratch := make([]float32, s.stateLen()), make([]float32, s.scratchLen())
	h := len(s.weights.D)
	worst, squares := 0.0, 0.0
	for at := 0; at < length; at += blockSamples {
		in, out := matrix(h), matrix(h)
		for c := range h {
			copy(in.Row(c), x[c*length+at:])
		}
		s.run(out, in, [][]float32{state}, []int64{0}, blockSamples, scratch)
		s.correct(state)
		for c := range h {
			for i, v := range out.Row(c) {
				w := want[c*length+at+i]
				worst, squares = max(worst, math.Abs(float64(v)-w)), squares+w*w
			}
		}
	}
	return worst / math.Sqrt(squares/float64(len(want)))
}

func matrix(h int) vek.Matrix { return vek.MatrixOf(make([]float32, h*blockSamples), h, blockSamples) }
