package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type inspectCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Scores bool      `help:"Print the H∞ score of each SSM and mode."`
	JSON   bool      `name:"json" help:"Print one JSON object instead of text."`
}

func (c *inspectCmd) Help() string {
	return `H∞ of a layer is the largest gain |H| of its SSMs at any frequency, without D. The H∞ score of an SSM is sup |H|²; the
score of a mode is |C|²·|B̄|²/(1 − |λ̄|)². Scores of poles on the unit circle are unbounded. An S5 or LRU layer is one SSM
for all channels. Its gain and score are not computed; 's4d-fast plot response' plots its gain. In the scores of its
modes, κ/2·‖C‖·‖B̄‖ replaces |C|·|B̄|, with norms over the channels, and κ = 2 for S5 and 1 for the LRU.

The poles of S4 are the eigenvalues of its transition matrix. For a trained S4 layer of init legs with more than 8 modes
they are inaccurate because of rounding.

Examples:
  s4d-fast inspect runs/fsdd/best.safetensors
  s4d-fast inspect runs/fsdd/best.safetensors --scores`
}

type inspection struct {
	Config     model.Config  `json:"config"`
	Meta       model.Meta    `json:"meta"`
	Hash       string        `json:"hash"`
	Parameters int           `json:"parameters"`
	Recordings int           `json:"training_recordings,omitempty"` // instead of their fingerprints in Meta
	Tensors    []tensorInfo  `json:"tensors"`
	Poles      []poleRange   `json:"poles"`
	Scores     []layerScores `json:"scores,omitempty"`
}

type tensorInfo struct {
	Name       string `json:"name"`
	Shape      []int  `json:"shape"`
	Parameters int    `json:"parameters"`
}

// poleRange describes the discrete poles of a layer: the ranges of their moduli |λ̄| and of their
// angles in radians per sample (folded into [0, π]), the largest gap between 0, the angles and π,
// and the number of modes that alias, that is, whose angle before folding is π or more. Aliased is
// nil for S4 and the LRU, where the count has no meaning (ssm.Analysis.Aliased). HInf is the
// largest frequency response of the layer's SSMs (docs/maths.md §8) and HInfAngle its angle. Both
// are nil if the response of an SSM is unbounded, or if the layer has one SSM for all channels.
type poleRange struct {
	Layer     int        `json:"layer"`
	Modulus   [2]float64 `json:"modulus"`
	Angle     [2]float64 `json:"angle"`
	Gap       float64    `json:"largest_gap"`
	Aliased   *int       `json:"aliased"`
	Modes     int        `json:"modes"`
	HInf      *float64   `json:"h_inf"`
	HInfAngle *float64   `json:"h_inf_angle"`
	Unbounded int        `json:"unbounded"` // SSMs
}

func (c *inspectCmd) Run(std *streams, ctx context.Context) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if err := m.Config.SSM.CheckScores(); c.Scores && err != nil {
		return badInput(fmt.Errorf("%s: --scores: %w", c.Model, err))
	}
	info, err := c.inspect(m)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(info)
	}
	return info.print(std.out)
}

func (c *inspectCmd) inspect(m *model.Model) (inspection, error) {
	info := inspection{Config: m.Config, Meta: m.Meta, Hash: fmt.Sprintf("%x", m.Hash()), Parameters: m.Config.CountParams(), Recordings: len(m.Meta.Recordings)}
	info.Meta.Recordings = nil
	for _, t := range m.Weights.Tensors() {
		info.Tensors = append(info.Tensors, tensorInfo{t.Name, t.Shape, len(t.Data)})
	}
	layers, err := analyze(m)
	if err != nil {
		return info, err
	}
	peaks := peaksOf(layers, m.Config.DModel)
	for i, a := range layers {
		p, poles := m.SSMParams(i), polesOf(i, a, peaks[i])
		info.Poles = append(info.Poles, poles)
		if c.Scores {
			info.Scores = append(info.Scores, scoresOf(i, p, peaks[i]))
		}
	}
	return info, nil
}

// polesOf describes the poles of a layer. The peaks are those of its SSMs.
func polesOf(layer int, a *ssm.Analysis, peaks []ssm.Peak) poleRange {
	p := poleRange{
		Layer: layer, Modulus: [2]float64{math.Inf(1), 0}, Angle: [2]float64{math.Inf(1), 0}, Modes: len(a.LogPoles), Gap: a.Coverage(), Aliased: a.Aliased,
	}
	var top ssm.Peak
	for _, peak := range peaks {
		if peak.Gain > top.Gain {
			top = peak
		}
		if math.IsInf(peak.Gain, 1) {
			p.Unbounded++
		}
	}
	if p.Unbounded == 0 && len(peaks) > 0 {
		p.HInf, p.HInfAngle = &top.Gain, &top.Theta
	}
	for _, l := range a.LogPoles {
		modulus := math.Exp(real(l))
		angle := math.Abs(cmplx.Phase(cmplx.Rect(1, imag(l))))
		p.Modulus = [2]float64{min(p.Modulus[0], modulus), max(p.Modulus[1], modulus)}
		p.Angle = [2]float64{min(p.Angle[0], angle), max(p.Angle[1], angle)}
	}
	return p
}

func (i inspection) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	c := i.Config
	row := func(key, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{key}, args...)...)
	}
	if i.Meta.Task != "" {
		row("task", "%s", printable(i.Meta.Task, ""))
	}
	row("network", "%s", settings(c))
	row("ssm", "%s", settings(c.SSM))
	row("parameters", "%d", i.Parameters)
	if i.Meta.SampleRate > 0 {
		row("rate", "%g Hz", i.Meta.SampleRate)
	}
	if len(i.Meta.Labels) > 0 {
		row("labels", "%s", printable(strings.Join(i.Meta.Labels, " "), ""))
	}
	var series model.Series
	if i.Meta.Series != nil {
		series = *i.Meta.Series
		printSeries(row, &series)
	}
	if f := i.Meta.Filterbank; f != nil {
		row("filter bank", "%d bands, %g … %g Hz, compression %s, frames of %d samples every %d (%.4g per second)",
			f.Bands, f.Low, f.High, f.Compression, f.Window, f.Hop, f.FrameRate())
	}
	i.printDetector(row)
	switch means, stds := i.Meta.InputMean, i.Meta.InputStd; {
	case len(means) > 0 && i.Meta.Filterbank != nil:
		row("bands", "means %g … %g, standard deviations %g … %g", slices.Min(means), slices.Max(means), slices.Min(stds), slices.Max(stds))
	default:
		for ch := range means {
			row(numbered("input", ch, series.Columns), "mean %.8g, standard deviation %g", float64(means[ch])+series.Offset(ch), stds[ch])
		}
	}
	for o := range i.Meta.TargetMean {
		residual := "" // on the validation set
		if o < len(series.Residual) {
			residual = fmt.Sprintf(", RMSE of the forecast %.4g", series.Residual[o])
		}
		row(numbered("target", o, series.Targets), "mean %g, standard deviation %g%s", i.Meta.TargetMean[o], i.Meta.TargetStd[o], residual)
	}
	for _, key := range slices.Sorted(maps.Keys(i.Meta.Data)) {
		row(printable(key, ""), "%s", printable(fmt.Sprint(i.Meta.Data[key]), ""))
	}
	row("hash", "%s", i.Hash[:16])
	for _, p := range i.Poles {
		row(fmt.Sprintf("poles %d", p.Layer), "modulus %.6f … %.6f, angle %.5f … %.5f rad per sample%s, largest gap %.5f, %s, H∞ %s",
			p.Modulus[0], p.Modulus[1], p.Angle[0], p.Angle[1], i.hertz(p.Angle[:]...), p.Gap, aliasText(c, p), i.gainText(p))
	}
	fmt.Fprintln(t)
	for _, x := range i.Tensors {
		row(x.Name, "%v\t%d", x.Shape, x.Parameters)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	step := "Δ"
	if c.SSM.Discrete() {
		step = "ξ"
	}
	for _, s := range i.Scores {
		if err := s.print(w, step); err != nil {
			return err
		}
	}
	return nil
}

// printSeries prints the settings and the columns of a network that reads rows.
func printSeries(row func(key, format string, args ...any), s *model.Series) {
	mode := s.Mode
	if s.Forecasts() {
		mode += fmt.Sprintf(", %s ahead", plural(s.Horizon, "row"))
	}
	if s.Season > 0 {
		mode += fmt.Sprintf(", season of %s", plural(s.Season, "row"))
	}
	if s.Window > 0 {
		mode += fmt.Sprintf(", deviation over %s", plural(s.Window, "row"))
	}
	row("series", "%s", mode)
	for _, r := range []struct {
		key   string
		names []string
	}{{"columns", s.Columns}, {"targets", s.Targets}, {"identifier", []string{s.ID}}, {"time", []string{s.Time}}} {
		if text := strings.Join(r.names, ", "); text != "" {
			row(r.key, "%s", printable(text, ""))
		}
	}
	missing := s.Missing
	if missing == model.MissingError {
		missing = "an error"
	}
	row("missing values", "%s", missing)
}

// numbered returns the name of input or target k, or its number if it has no name.
func numbered(what string, k int, names []string) string {
	if k < len(names) {
		return what + " " + printable(names[k], "")
	}
	return fmt.Sprintf("%s %d", what, k)
}

// hertz returns angles in Hz, in brackets, if the model has a sampling rate. Those of a network
// that reads frames are frequencies at which the frames change.
func (i inspection) hertz(angles ...float64) string {
	rate := i.Meta.PositionRate()
	if rate <= 0 {
		return ""
	}
	var list []string
	for _, a := range angles {
		list = append(list, fmt.Sprintf("%.1f", a*rate/(2*math.Pi)))
	}
	return fmt.Sprintf(" (%s Hz)", strings.Join(list, " … "))
}

// gainText returns the largest response of a layer and its angle.
func (i inspection) gainText(p poleRange) string {
	switch {
	case i.Config.SSM.MIMO():
		return "not computed (one SSM for all channels; run plot response)"
	case p.HInf == nil:
		return fmt.Sprintf("unbounded (%d of %s)", p.Unbounded, plural(i.Config.DModel, "SSM"))
	}
	return fmt.Sprintf("%.4g at %.5f%s", *p.HInf, *p.HInfAngle, i.hertz(*p.HInfAngle))
}

// aliasText returns the number of modes, and how many of them have an angle of π or more where that
// is known. If the frequencies are those of a system in continuous time, such a mode aliases.
// Angles that are parameters themselves cannot.
func aliasText(c model.Config, p poleRange) string {
	switch {
	case p.Aliased == nil:
		return plural(p.Modes, "mode")
	case c.SSM.Discrete():
		return fmt.Sprintf("%d of %d modes beyond π (mirrored)", *p.Aliased, p.Modes)
	}
	return fmt.Sprintf("%d of %d modes aliased", *p.Aliased, p.Modes)
}

// settings lists the values of a configuration that are not zero.
func settings(config any) string {
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // models are stored as JSON
	}
	var values map[string]any
	_ = json.Unmarshal(text, &values)
	var list []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if v := values[key]; key != "ssm" && v != 0.0 && v != "" && v != false {
			list = append(list, fmt.Sprintf("%s=%v", key, v))
		}
	}
	return strings.Join(list, ", ")
}

// printDetector prints what only a word detector has: the number of recordings that trained it, its
// operating point and its measured errors.
func (i inspection) printDetector(row func(key, format string, args ...any)) {
	if i.Recordings > 0 {
		row("trained on", "%d recordings, by their fingerprints", i.Recordings)
	}
	d := i.Meta.Detection
	if d == nil {
		return
	}
	row("detection", "threshold %g, off-threshold %g, confirm %d, refractory %g s, smoothing %g s", d.Threshold, d.OffThreshold, d.Confirm, d.Refractory, d.Smoothing)
	if offsets := d.Offsets; len(offsets) > 0 && i.Meta.Filterbank != nil {
		row("by label", "threshold %s", thresholdsText(i.Meta.Labels, offsets, d.Threshold))
	}
	if d.Measured() {
		row("measured", "miss rate %.3f (95 %% interval %.3f … %.3f) of %d words, %.3g false alarms per hour in the worst background (%.3g hours)",
			d.MissRate, d.Interval[0], d.Interval[1], d.Words, d.FalseAlarmsPerHour, d.BackgroundHours)
	} else {
		row("measured", "no error rates for this network; run s4d-fast calibrate")
	}
}
