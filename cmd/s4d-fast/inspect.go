package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/model"
)

type inspectCmd struct {
	Model modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	JSON  bool      `name:"json" help:"Print one JSON object instead of text."`
}

func (c *inspectCmd) Help() string {
	return `Example:
  s4d-fast inspect runs/fsdd/best.safetensors`
}

// inspection is what inspect prints.
type inspection struct {
	Config     model.Config `json:"config"`
	Meta       model.Meta   `json:"meta"`
	Hash       string       `json:"hash"`
	Parameters int          `json:"parameters"`
	Tensors    []tensorInfo `json:"tensors"`
	Poles      []poleRange  `json:"poles"`
}

type tensorInfo struct {
	Name       string `json:"name"`
	Shape      []int  `json:"shape"`
	Parameters int    `json:"parameters"`
}

// poleRange is the span of a layer's discrete poles: the modulus |λ̄|, the angle in radians a sample (folded
// into [0, π]), the largest gap between angles, how many modes alias, that is, turn by π or more a sample, and the
// largest frequency response of the layer's SSMs with its angle (spec §8).
type poleRange struct {
	Layer     int        `json:"layer"`
	Modulus   [2]float64 `json:"modulus"`
	Angle     [2]float64 `json:"angle"`
	Gap       float64    `json:"largest_gap"`
	Aliased   int        `json:"aliased"`
	Modes     int        `json:"modes"`
	HInf      float64    `json:"h_inf"`
	HInfAngle float64    `json:"h_inf_angle"`
}

func (c *inspectCmd) Run(std *streams) error {
	m, err := c.Model.load()
	if err != nil {
		return badInput(err)
	}
	info := inspect(m)
	if c.JSON {
		return json.NewEncoder(std.out).Encode(info)
	}
	return info.print(std.out)
}

func inspect(m *model.Model) inspection {
	info := inspection{Config: m.Config, Meta: m.Meta, Hash: fmt.Sprintf("%x", m.Hash()), Parameters: m.Config.CountParams()}
	for _, t := range m.Weights.Tensors() {
		info.Tensors = append(info.Tensors, tensorInfo{t.Name, t.Shape, len(t.Data)})
	}
	for i := range m.Config.CountSSM() {
		d := m.SSMParams(i).Discretize(m.Config.SSM.Disc, 1)
		p := poleRange{Layer: i, Modulus: [2]float64{math.Inf(1), 0}, Angle: [2]float64{math.Inf(1), 0}, Modes: len(d.LogLambda), Gap: d.Coverage()}
		for h := range d.H {
			p.Aliased += d.Aliased(h)
		}
		for row := range d.H * d.Directions {
			if peak := d.HInf(row); peak.Gain > p.HInf && !math.IsInf(peak.Gain, 1) { // JSON has no infinity
				p.HInf, p.HInfAngle = peak.Gain, peak.Theta
			}
		}
		for _, l := range d.LogLambda {
			modulus := math.Exp(real(l))
			angle := math.Abs(cmplx.Phase(cmplx.Rect(1, imag(l))))
			p.Modulus = [2]float64{min(p.Modulus[0], modulus), max(p.Modulus[1], modulus)}
			p.Angle = [2]float64{min(p.Angle[0], angle), max(p.Angle[1], angle)}
		}
		info.Poles = append(info.Poles, p)
	}
	return info
}

func (i inspection) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	c := i.Config
	row := func(key, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{key}, args...)...)
	}
	if i.Meta.Task != "" {
		row("task", "%s", i.Meta.Task)
	}
	row("network", "%d layers, d_model %d, d_state %d, %s → %d outputs", c.NLayers, c.DModel, c.SSM.DState, encoderText(c), c.DOutput)
	row("block", "%s", blockText(c))
	row("ssm", "init %s, %s, %s%s%s", c.SSM.Init, c.SSM.Disc, directionText(c), truncationText(c), ablationText(c))
	row("pool", "%s", c.Pool)
	row("parameters", "%d", i.Parameters)
	if i.Meta.SampleRate > 0 {
		row("rate", "%g Hz", i.Meta.SampleRate)
	}
	if len(i.Meta.Labels) > 0 {
		row("labels", "%s", strings.Join(i.Meta.Labels, " "))
	}
	for ch := range i.Meta.InputMean {
		row(fmt.Sprintf("input %d", ch), "mean %g, standard deviation %g", i.Meta.InputMean[ch], i.Meta.InputStd[ch])
	}
	row("hash", "%s", i.Hash[:16])
	for _, p := range i.Poles {
		row(fmt.Sprintf("poles %d", p.Layer), "modulus %.6f … %.6f, angle %.5f … %.5f rad a sample, largest gap %.5f, %d of %d modes aliased, H∞ %.4g at %.5f",
			p.Modulus[0], p.Modulus[1], p.Angle[0], p.Angle[1], p.Gap, p.Aliased, p.Modes, p.HInf, p.HInfAngle)
	}
	fmt.Fprintln(t)
	for _, x := range i.Tensors {
		row(x.Name, "%v\t%d", x.Shape, x.Parameters)
	}
	return t.Flush()
}

func encoderText(c model.Config) string {
	if c.Encoder == model.EncoderEmbedding {
		return fmt.Sprintf("vocabulary of %d", c.DInput)
	}
	return fmt.Sprintf("%d input channels", c.DInput)
}

func blockText(c model.Config) string {
	parts := []string{"conv", c.Activation, c.Mixing}
	if c.Residual {
		parts = append(parts, "residual")
	}
	text := strings.Join(parts, " → ")
	switch {
	case c.Norm == model.NormNone:
		return text + ", no norm"
	case c.PreNorm:
		return c.Norm + " norm → " + text
	}
	return text + " → " + c.Norm + " norm"
}

func directionText(c model.Config) string {
	if c.SSM.Bidirectional {
		return "bidirectional"
	}
	return "causal"
}

func ablationText(c model.Config) string {
	if c.CountSSM() == c.NLayers {
		return ""
	}
	return fmt.Sprintf(", in the first %d layers alone", c.SSMLayers)
}

func truncationText(c model.Config) string {
	if c.SSM.LMax == 0 {
		return ""
	}
	return fmt.Sprintf(", kernel of %d taps", c.SSM.LMax)
}
