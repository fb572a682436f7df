package main

import (
	"math"
	"math/cmplx"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// plot poles draws the initialisations of every kind of layer. Those of one layer only select it.
func TestPlotPolesOfLayers(t *testing.T) {
	for _, c := range []struct {
		args  []string
		texts []string
	}{
		{[]string{"--init", "fout", "--step", "0.01,0.1"}, []string{"s4 fout, Δ = 0.01", "s4 fout, Δ = 0.1", "32 modes, 1 SSM"}},
		{[]string{"--init", "hippo", "--step", "0.1", "--modes", "8"}, []string{"s4 hippo, Δ = 0.1", "8 modes, 2 SSMs"}},
		{[]string{"--set", "ssm.layer=s4", "--step", "0.1"}, []string{"s4 legs, Δ = 0.1", "s4 fout, Δ = 0.1"}},
		{[]string{"--set", "ssm.layer=dss", "--step", "0.1"}, []string{"dss lin, Δ = 0.1", "dss inv, Δ = 0.1", "dss legs, Δ = 0.1"}},
		{[]string{"--set", "ssm.layer=s5", "--set", "ssm.blocks=4", "--set", "ssm.dt_min=0.01", "--step", "0.025,0.1"},
			[]string{"s5 legs, Δ from 0.01 to 0.025", "s5 legs, Δ from 0.01 to 0.1"}},
		{[]string{"--set", "ssm.layer=lru"}, []string{"lru ring, |λ| from 0 to 1", "32 modes, 1 SSM"}},
		{[]string{"--init", "lin,ring", "--step", "0.01,0.1", "--set", "seed=3"}, []string{"lin, Δ = 0.01", "lru ring, |λ| from 0 to 1"}},
	} {
		mustHave(t, drawn(t, 0, 0, append([]string{"poles"}, c.args...)...), c.texts...)
	}
}

// The poles are those of the layer: HiPPO-LegS has real ones, and those of a ring lie between its
// radii and below its angle.
func TestPlotPolesPlaces(t *testing.T) {
	places := func(c plotPolesCmd) []complex128 { return must.Get(c.initial())(t).Panels[0].Poles }
	legs := places(plotPolesCmd{Init: []string{"legs"}, Step: []float64{0.1}, Set: []string{"ssm.layer=s4"}})
	if len(legs) != 64 {
		t.Fatalf("%d poles of LegS, expected 64", len(legs))
	}
	for n, z := range legs {
		half := 0.05 * float64(n+1)
		if d := cmplx.Abs(z - complex((1-half)/(1+half), 0)); d > 1e-12 {
			t.Errorf("pole %d of LegS: %v, %v from the exact one", n, z, d)
		}
	}
	set := []string{"ssm.r_min=0.8", "ssm.r_max=0.9", "ssm.max_phase=0.5"}
	ring := places(plotPolesCmd{Init: []string{"ring"}, Modes: new(100), Set: set})
	if len(ring) != 100 {
		t.Errorf("%d poles of a ring, expected 100", len(ring))
	}
	for _, z := range ring {
		if r, phase := cmplx.Abs(z), cmplx.Phase(z); r < 0.8 || r > 0.9 || phase < 0 || phase > 0.5 {
			t.Errorf("pole of a ring: modulus %v, angle %v", r, phase)
		}
	}
	if slices.Equal(ring, places(plotPolesCmd{Init: []string{"ring"}, Modes: new(100), Set: append(set, "seed=2")})) {
		t.Error("the ring does not depend on the seed")
	}
}

// plot response draws the response of a channel. For S5 and the LRU it draws the largest singular
// value of the response of all channels.
func TestPlotResponseOfLayers(t *testing.T) {
	texts := drawn(t, 1200, 720, "response", "--set", "ssm.layer=s4")
	mustHave(t, texts, "s4 legs, Δ = 0.1, 10 modes", "A = -1, -2, …", "s4 fout, Δ = 0.1, 10 modes")
	mustHave(t, drawn(t, 1200, 500, "response", "--init", "inv", "--set", "ssm.layer=dss", "--set", "ssm.l_kernel=256"),
		"dss inv, Δ = 0.1, 10 modes", "Re A = -0.0001", "Re A = -0.5")
	mustHave(t, drawn(t, 1200, 500, "response", "--set", "ssm.layer=s5", "--init", "legs", "--channels", "3", "--set", "ssm.c_init=lecun_normal", "--set", "seed=2"),
		"s5 legs, Δ = 0.1, 10 modes, 3 channels", "largest singular value of H [dB]")
	mustHave(t, drawn(t, 1200, 500, "response", "--init", "ring", "--modes", "5"), "lru ring, |λ| from 0 to 1, 5 modes, 16 channels")
	lru, scan, err := (&plotResponseCmd{Step: 0.1, Modes: 6, Chans: new(2), Set: []string{"ssm.r_min=0.9"}}).draw("ring", 0)
	must.Do(t, err)
	must.Equal(t, lru.DModel, 2, "channels")
	gains := responseCurve(scan)
	for i, theta := range gains.X {
		if got, want := gains.Y[i], 20*math.Log10(scan.Gain(0, theta)); i%100 == 0 && got != want {
			t.Errorf("%v dB at %v, expected %v", got, theta, want)
		}
	}
	p, a, err := (&plotResponseCmd{Step: 0.1, Modes: 10}).draw("fout", 0.5)
	must.Do(t, err)
	must.Equal(t, p.Modes(), 10, "modes")
	curve := responseCurve(a)
	if top, peak := slices.Max(curve.Y), 20*math.Log10(a.HInf(0).Gain); math.Abs(top-peak) > 0.01 {
		t.Errorf("the curve's peak is %v dB, H∞ %v dB", top, peak)
	}
}

// What a layer does not have is an error that names it.
func TestPlotLayersRejected(t *testing.T) {
	out := filepath.Join(t.TempDir(), "p.png")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--channels 0: expected 1 to 128", []string{"response", "--init", "ring", "--channels", "0"}},
		{"--channels 129: expected 1 to 128", []string{"response", "--set", "ssm.layer=s5", "--channels", "129"}},
		{`--channels: init "lin" has one SSM per channel`, []string{"response", "--channels", "4"}},
		{"--decay: the moduli", []string{"response", "--init", "ring", "--decay", "0.5"}},
		{"ssm.l_kernel", []string{"response", "--set", "ssm.layer=dss"}},
		{"ssm.l_kernel 9: the response", []string{"response", "--init", "fout", "--set", "ssm.l_kernel=9"}},
		{`init "hippo": half of its SSMs`, []string{"response", "--init", "hippo"}},
		{"--decay: the moduli", []string{"response", "--init", "fout", "--decay", "1"}},
		{"--set ssm.a_real=1: the moduli", []string{"poles", "--init", "ring", "--set", "ssm.a_real=1"}},
		{`--step: layer "lru" has no step size`, []string{"poles", "--init", "ring", "--step", "0.1"}},
		{`--channels 4: layer "s5"`, []string{"poles", "--set", "ssm.layer=s5", "--channels", "4"}},
		{`init "lin": layer "s4" expects`, []string{"poles", "--init", "lin", "--set", "ssm.layer=s4"}},
		{`init "ring": layer "s5" expects`, []string{"poles", "--init", "ring", "--set", "ssm.layer=s5"}},
		{`disc "zoh": layer "s4" expects`, []string{"poles", "--init", "fout", "--set", "ssm.disc=zoh"}},
		{`r_min 0.5: layer "s4d"`, []string{"poles", "--init", "lin", "--set", "ssm.r_min=0.5"}},
		{"d_state 2000", []string{"poles", "--init", "fout", "--modes", "1000"}},
		{`layer "x": expected one of`, []string{"poles", "--set", "ssm.layer=x"}},
	} {
		checkRun(t, nil, append(append([]string{"plot"}, c.args...), "--out", out), exitUsage, c.want)
	}
}

// An empty list, such as one from an empty shell variable, selects the default.
func TestPlotEmptyLists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plot.svg")
	for _, c := range []struct{ args, text string }{
		{"response --init=", "lin, Δ = 0.1, 10 modes"}, {"response --decay=", "Re A = -0.5"},
		{"response --decay= --set ssm.layer=s4", "s4 legs, Δ = 0.1, 10 modes"},
		{"poles --init=", "dfout, ξ = 0.1"}, {"poles --step=", "lin, Δ = 0.001"},
		{"poles --step= --init ring", "lru ring, |λ| from 0 to 1"}, {"poles --step= --init= digits", "layer 1: 96 SSMs, 1536 poles"},
	} {
		ok(t, append(append([]string{"plot"}, strings.Fields(c.args)...), "--out", path)...)
		mustHave(t, svgTexts(t, path), c.text)
	}
}
