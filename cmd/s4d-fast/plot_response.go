package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotResponseCmd struct {
	Init  []string  `help:"Initialisations, one panel each (default: lin; for other layers than S4D, theirs)." placeholder:"NAME"`
	Step  float64   `help:"Δ (ξ for unit-circle initialisations; default: ${default})." default:"0.1" placeholder:"X"`
	Modes int       `help:"Number of complex modes (default: ${default})." default:"10" placeholder:"M"`
	Chans *int      `name:"channels" help:"Channels H of an S5 or LRU layer, up to 128 (default: 16)." placeholder:"H"`
	Decay []float64 `help:"Values of −Re A (of ρ for unit-circle initialisations), one curve each; 0 puts the poles on the unit circle (default: 0,0.5; not used for init real and layers s4, s5 and lru)." placeholder:"X"`
	Set   []string  `help:"Set a configuration value as in train, for example ssm.layer=s4 or ssm.disc=bilinear; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	sampleRate
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"response.png" type:"path" placeholder:"FILE"`
}

func (c *plotResponseCmd) Help() string {
	return `C is 1 in every mode, so that the response depends on the poles alone. Poles on the unit circle have an unbounded response.
The y axis is limited so that the other curves remain visible.

Initialisations are those of S4D, unless --set ssm.layer=NAME selects another layer: dss or s4. fout selects s4. The
response of S4 is that of the whole channel: its modes are coupled. The modes are those of Λ, and B is that of HiPPO. The
weights of DSS depend on the length of the kernel, --set ssm.l_kernel=N, and its −Re A is at least 0.0001.

s5 and lru (init ring) are one SSM for all channels. Their plot shows the largest singular value of the H×H matrix H(e^{iθ})
for --channels H channels. B and C have their initial values instead of 1, so the response also depends on the seed
(--set seed=N). An LRU has no step and ignores --step.

Examples:
  s4d-fast plot response
  s4d-fast plot response --init lin,dfout --step 0.025 --modes 32 --decay 0.5 --out response.svg
  s4d-fast plot response --init dfout --decay 0.5,1
  s4d-fast plot response --init legs,fout --set ssm.layer=s4 --step 0.05 --modes 32
  s4d-fast plot response --set ssm.layer=dss --set ssm.l_kernel=1024
  s4d-fast plot response --init ring --modes 64 --set ssm.r_min=0.9 --set ssm.r_max=0.999`
}

func (c *plotResponseCmd) Run(std *streams, ctx *ctxBox) error {
	if err := allowOptions(c.Set, "ssm.l_kernel", "ssm.c_init"); err != nil {
		return err
	}
	inits := c.Init
	if len(inits) == 0 {
		inits = initialInits(c.Set, "lin")
	}
	panels, err := orInterrupt(ctx, func() (panels []figure.Panel, err error) {
		for _, init := range inits {
			p, err := c.panel(ssm.Init(init))
			if err != nil {
				return nil, err
			}
			panels = append(panels, p)
		}
		return panels, nil
	})
	if err != nil {
		return err
	}
	return c.Out.curves(std, panels...)
}

// panel draws the responses of an initialisation, one curve per decay, or one if it has no choice
// of decay.
func (c *plotResponseCmd) panel(init ssm.Init) (p figure.Panel, err error) {
	p = figure.Panel{Y: "|H| [dB]", Frequency: true, SampleRate: c.Rate}
	var clip []float64 // values of the unbounded curves
	low, high := math.Inf(1), math.Inf(-1)
	for _, decay := range orDefault(c.Decay, 0, 0.5) {
		drawn, a, err := c.draw(init, decay)
		if err != nil {
			return p, err
		}
		curve := responseCurve(a)
		curve.Name = decayText(drawn)
		if !drawn.MIMO() && math.IsInf(a.HInf(0).Gain, 1) { // poles of S5 and the LRU decay at the start
			curve.Name += ": unbounded"
			clip = append(clip, curve.Y...)
		} else {
			low, high = min(low, slices.Min(curve.Y)), max(high, slices.Max(curve.Y))
		}
		p.Title = fmt.Sprintf("%s, %s", stepsText(drawn.Config), plural(drawn.Modes(), "mode"))
		if drawn.MIMO() {
			p.Y = "largest singular value of H [dB]"
			p.Title += ", " + plural(drawn.DModel, "channel")
		}
		p.Curves = append(p.Curves, curve)
		if fixed := fixedDecay(drawn.Config, "--decay"); fixed != nil {
			if len(c.Decay) > 0 {
				return p, fixed
			}
			break
		}
	}
	if len(clip) > 0 {
		p.YMin, p.YMax = clipped(clip, low, high)
	}
	return p, nil
}

// maxMatrix bounds the channels of S5 and the LRU, whose curve takes a singular value decomposition
// per point.
const maxMatrix = 128

// draw returns an SSM and its analysis. C is 1 in every mode, unless the SSM serves all channels.
func (c *plotResponseCmd) draw(init ssm.Init, decay float64) (*ssm.Params, *ssm.Analysis, error) {
	if init == ssm.Hippo {
		return nil, nil, usageError(fmt.Errorf("init %q: half of its SSMs have init %q, the others %q: expected one of these and ssm.layer=%s", init, ssm.LegS, ssm.FouT, ssm.LayerS4))
	}
	layer := initialLayer{init: init, channels: 1, modes: c.Modes, step: c.Step, decay: decay, set: c.Set}
	p, err := layer.draw()
	switch {
	case err != nil:
		return nil, nil, err
	case p.MIMO():
		return c.drawScan(layer)
	case c.Chans != nil:
		return nil, nil, usageError(fmt.Errorf("--channels: init %q has one SSM per channel, and the plot shows one of them; leave out --channels, or select layer %q or %q", init, ssm.LayerS5, ssm.LayerLRU))
	case p.Layer == ssm.LayerDSS && p.LKernel == 0:
		return nil, nil, usageError(fmt.Errorf("layer %q: the response depends on the length of the kernel: set it, for example --set ssm.l_kernel=1024", p.Layer))
	case p.Layer == ssm.LayerS4 && p.LKernel != 0:
		return nil, nil, usageError(fmt.Errorf("ssm.l_kernel %d: the response of layer %q does not depend on it", p.LKernel, p.Layer))
	}
	for n := range p.C {
		p.C[n] = 1
	}
	a, err := p.AnalyzeInitial()
	return p, a, err
}

// drawScan returns an S5 layer or an LRU, and its analysis.
func (c *plotResponseCmd) drawScan(layer initialLayer) (*ssm.Params, *ssm.Analysis, error) {
	layer.channels = 16
	if c.Chans != nil {
		layer.channels = *c.Chans
	}
	if layer.channels < 1 || layer.channels > maxMatrix {
		return nil, nil, usageError(fmt.Errorf("--channels %d: expected 1 to %d", layer.channels, maxMatrix))
	}
	p, err := layer.draw()
	if err != nil {
		return nil, nil, err
	}
	a, err := p.AnalyzeInitial()
	return p, a, err
}

// decayText describes the real parts of A, or ρ, for example "Re A = -0.5". It is empty if they
// have no formula.
func decayText(p *ssm.Params) string {
	decay := math.Exp(p.Decay[0])
	switch {
	case p.Init == ssm.Real:
		return "Re A = -1, -2, …"
	case p.Layer == ssm.LayerS4 && p.Init == ssm.LegS:
		return "A = -1, -2, …"
	case p.Layer == ssm.LayerS4, p.MIMO():
		return ""
	case p.Discrete():
		return fmt.Sprintf("ρ = %.4g", decay)
	case p.Layer == ssm.LayerDSS:
		decay = p.Decay[0]
	}
	return fmt.Sprintf("Re A = %.4g", 0-decay)
}

// clipped returns the vertical range of a plot with unbounded curves: 25 dB around their median,
// and all of the other curves, which lie between low and high.
func clipped(levels []float64, low, high float64) (from, to float64) {
	slices.Sort(levels)
	middle := levels[len(levels)/2]
	return min(low, middle-25), max(high, middle+25)
}

// responseCurve samples |H| of a layer with one SSM in dB, or its largest singular value, on a grid
// and around each resonance, so that it contains every peak. The grid avoids round numbers of
// radians and round fractions of π, where poles on the unit circle lie.
func responseCurve(a *ssm.Analysis) (c figure.Curve) {
	samples := 8001
	if a.Rows == 0 {
		samples = 1001
	}
	for i := range samples {
		c.X = append(c.X, math.Pi*(float64(i)+0.37)/float64(samples))
	}
	for _, l := range a.LogPoles {
		for _, k := range []float64{-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4} {
			theta := math.Abs(math.Remainder(imag(l)-k*real(l), 2*math.Pi))
			if real(l) < 0 {
				c.X = append(c.X, theta)
			}
		}
	}
	slices.Sort(c.X)
	for _, theta := range c.X {
		c.Y = append(c.Y, 20*math.Log10(a.Gain(0, theta)))
	}
	return c
}
