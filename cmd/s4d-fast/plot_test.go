package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"math/cmplx"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// saved writes an untrained network of two layers of four channels, with changes, and returns its file's path.
func saved(t *testing.T, change func(*model.Config)) string {
	t.Helper()
	c := model.Default()
	c.DModel, c.NLayers, c.DOutput, c.SSM.DState = 4, 2, 3, 8
	change(&c)
	m, err := model.New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// drawn runs a plot command twice, to a PNG of the size and an SVG whose texts are returned.
func drawn(t *testing.T, width, height int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	bitmap, vector := filepath.Join(dir, "picture.png"), filepath.Join(dir, "picture.svg")
	ok(t, append(append([]string{"plot"}, args...), "--out", bitmap)...)
	mustBePNG(t, bitmap, width, height)
	ok(t, append(append([]string{"plot"}, args...), "--out", vector)...)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("plot %v leaves %v", args, left)
	}
	return svgTexts(t, vector)
}

// mustBePNG fails unless the file is a picture of that size with something on it; 0 is any size.
func mustBePNG(t *testing.T, path string, width, height int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got := img.Bounds().Size(); width > 0 && got != image.Pt(width, height) {
		t.Errorf("%s: %v pixels, want %d×%d", filepath.Base(path), got, width, height)
	}
	colours := map[any]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			colours[img.At(x, y)] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("%s has %d colours: is there a curve?", filepath.Base(path), len(colours))
	}
}

// svgTexts returns the texts of a well-formed SVG, a line each.
func svgTexts(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var texts []string
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if token == nil {
			if err.Error() != "EOF" {
				t.Errorf("%s: %v", path, err)
			}
			return strings.Join(texts, "\n") + "\n"
		}
		if text, ok := token.(xml.CharData); ok && len(strings.TrimSpace(string(text))) > 0 {
			texts = append(texts, string(text))
		}
	}
}

// mustHave fails for each line that the texts lack.
func mustHave(t *testing.T, texts string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+texts, "\n"+line+"\n") {
			t.Errorf("the picture does not say %q:\n%s", line, texts)
		}
	}
}

func TestPlotKernels(t *testing.T) {
	both := saved(t, func(c *model.Config) {
		c.NLayers, c.SSMLayers = 3, 2
		c.SSM.Bidirectional, c.SSM.Init, c.SSM.LMax = true, ssm.Lin, 90
	})
	texts := drawn(t, 1200, 2*320+80, "kernels", both)
	mustHave(t, texts, "layer 1 of 3: mean over 4 channels, first 90 taps", "layer 2 of 3", "samples past", "samples ahead",
		"multiples of 32", "mean |K[l]|", "lag l [samples]")

	causal := saved(t, func(c *model.Config) {})
	if texts := drawn(t, 1200, 420+80, "kernels", causal, "--first", "1", "--stride", "0", "--length", "6000"); strings.Contains(texts, "multiples") || strings.Contains(texts, "layer 2") {
		t.Errorf("one layer without marks:\n%s", texts)
	}
	out := filepath.Join(t.TempDir(), "k.png")
	if code, _, stderr := invoke(nil, "plot", "kernels", causal, "--length", "65536", "--out", out); code != exitOK || !strings.Contains(stderr, "2048 multiples") {
		t.Errorf("65536 taps: exit code %d, %s", code, stderr)
	}
	mustSay(t, nil, []string{"plot", "kernels", both, "--first", "3", "--out", out}, exitUsage, "--first 3", "2 layers")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--length", "0"}, exitUsage, "--length 0")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--stride=-1"}, exitUsage, "--stride -1")
	mustSay(t, nil, []string{"plot", "kernels", "nowhere.safetensors"}, exitBadInput, "nowhere.safetensors")
	mustSay(t, nil, []string{"plot", "kernels", write(t, "bad.safetensors", []byte("no model")), "--out", out}, exitBadInput, "bad.safetensors")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--out", "k.gif"}, exitUsage, ".png or .svg")
}

// Axes of kernels end where a label or a mark is.
func TestKernelAxes(t *testing.T) {
	m, err := model.Load(saved(t, func(c *model.Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	p := (&plotKernelsCmd{Length: 64, Stride: 16}).panels(m)[0]
	if p.XMax != 64 || fmt.Sprint(p.Marks) != "[16 32 48 64]" {
		t.Errorf("axis to %v, marks %v", p.XMax, p.Marks)
	}
	for _, c := range [][4]float64{{0.03, 0.07, 0.02, 0.1}, {0.1, 0.5, 0.1, 0.5}, {2e-7, 0.9, 9e-6, 1}, {0, 0, 0, 0}} {
		curve := figure.Curve{Y: []float64{c[0], c[1]}}
		low, high := kernelRange([]figure.Curve{curve})
		if math.Abs(high-c[3]) > 1e-9 || low > max(c[0], c[1]*1e-5)*(1+1e-9) || c[0] > 1e-5 && math.Abs(low-c[2]) > 1e-9 {
			t.Errorf("range of %v to %v: %v to %v", c[0], c[1], low, high)
		}
	}
}

func TestPlotSpectrum(t *testing.T) {
	texts := drawn(t, 1200, 500, "spectrum", "delay", "--set", "data.length=256", "--set", "data.delay=64", "--n", "50", "--stride", "32")
	mustHave(t, texts, "delay: mean power spectrum of 50 of 16384 training examples", "power [dB; white noise: 0; from 80 below the peak]", "angle [radians a sample]", "multiples of 2π/32", "π/2", "π")
	clips := tones(t)
	white := figure.Panel{Y: "power", Curves: []figure.Curve{{Y: []float64{0, -70}}}}
	if clipSpectrum(&white); white.YMin != 0 || white.YMax != 0 || white.Y != "power" {
		t.Errorf("a spectrum of 70 dB is cut: %+v", white)
	}
	mustHave(t, drawn(t, 1200, 500, "spectrum", "fsdd", "--data", clips, "--mark", "0.2,0.4"), "fsdd: mean power spectrum of all 12 training examples", "0.2 0.4")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "scifar", "--data", pictures(t)), "scifar: mean power spectrum of all 6 training examples", "red", "green", "blue")
	tokens := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", "--out", tokens, "--n", "3", "--eval", "2")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "listops", "--data", tokens), "listops: mean power spectrum of all 3 training examples, token numbers")

	out := filepath.Join(t.TempDir(), "s.png")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	mustSay(t, nil, []string{"plot", "spectrum", "juggling"}, exitUsage, `"juggling"`)
	mustSay(t, nil, []string{"plot", "spectrum", "smnist"}, exitUsage, "--data")
	mustSay(t, nil, []string{"plot", "spectrum", "smnist", "--data", nowhere, "--out", out}, exitBadInput, nowhere)
	mustSay(t, nil, []string{"plot", "spectrum", "delay", "--n", "0"}, exitUsage, "--n 0")
	mustSay(t, nil, []string{"plot", "spectrum", "delay", "--mark", "4"}, exitUsage, "--mark 4")
	mustSay(t, nil, []string{"plot", "spectrum", "delay", "--mark", "1", "--stride", "32"}, exitUsage, "--stride", "--mark")
	mustSay(t, nil, []string{"plot", "spectrum", "delay", "--set", "data.length=2"}, exitBadInput, "length 2")
}

// Poles on the unit circle, some of them or all, are a class of their own.
func TestPlotPolesUnbounded(t *testing.T) {
	pinned := saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	if texts := drawn(t, 0, 0, "poles", pinned); strings.Contains(texts, "NaN") || strings.Contains(texts, "≥") {
		t.Errorf("all poles on the unit circle:\n%s", texts)
	} else {
		mustHave(t, texts, "H∞ of the mode [dB]", "unbounded", "layer 1: 4 SSMs, 16 poles")
	}
	m, err := model.Load(saved(t, func(c *model.Config) { c.SSM.Bidirectional = true }))
	if err != nil {
		t.Fatal(err)
	}
	m.Weights.Layers[1].LogDecay[3] = float32(math.Inf(-1))
	m.Weights.Layers[0].LogDecay[0] = float32(math.Inf(-1)) // whose weight is 0 in both directions
	for _, i := range []int{0, 1, 32, 33} {
		m.Weights.Layers[0].C[i] = 0
	}
	mixed := filepath.Join(t.TempDir(), "mixed.safetensors")
	if err := m.Save(mixed); err != nil {
		t.Fatal(err)
	}
	texts := drawn(t, 0, 0, "poles", mixed)
	mustHave(t, texts, "unbounded", "less (scale from -60)")
	if strings.Contains(texts, "NaN") || strings.Count(texts, "≥") != 4 {
		t.Errorf("one pole on the unit circle:\n%s", texts)
	}
	rows, err := (&plotPolesCmd{Model: modelFile(mixed)}).learned()
	if err != nil || !math.IsInf(rows[0][0].Value[0], -1) || !math.IsInf(rows[0][1].Value[3], 1) {
		t.Errorf("without weight %v, with weight %v, %v", rows[0][0].Value[0], rows[0][1].Value[3], err)
	}
}

// Work that looks at no context ends at the first signal all the same, without a picture.
func TestPlotInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{syscall.SIGTERM})
	modes, out := 400, filepath.Join(t.TempDir(), "p.png")
	c := plotPolesCmd{Init: []string{"legs"}, Step: []float64{0.1}, Modes: &modes, Out: picture(out)}
	err := c.Run(&streams{err: io.Discard}, &ctxBox{ctx})
	if code := exitCode(err, syscall.SIGTERM); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, error %v", code, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an interrupted picture was written")
	}
	if err := orInterrupt(t.Context(), func() error { return io.EOF }); err != io.EOF {
		t.Errorf("uninterrupted: error %v", err)
	}
}

// Before a run the options of train show in the poles, and what would be ignored is refused.
func TestPlotOptions(t *testing.T) {
	moduli := func(set ...string) (list []float64) {
		c := plotPolesCmd{Init: []string{"dfout"}, Step: []float64{0.1}, Channels: new(2), Set: set}
		rows, err := c.initial()
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range rows[0][0].Poles {
			list = append(list, cmplx.Abs(z))
		}
		return list
	}
	plain, own := moduli(), moduli("ssm.xi_per=both", "ssm.xi_min=0.001")
	if len(plain) != 64 || slices.Max(plain)-slices.Min(plain) > 1e-12 || slices.Max(own)-slices.Min(own) < 0.01 {
		t.Errorf("one ξ: %v … %v; one a mode: %v … %v", slices.Min(plain), slices.Max(plain), slices.Min(own), slices.Max(own))
	}
	if slices.Equal(own, moduli("ssm.xi_per=both", "ssm.xi_min=0.001", "seed=7")) {
		t.Error("the seed changes nothing")
	}
	if pinned := moduli("ssm.a_real=0"); slices.Min(pinned) < 1-1e-12 {
		t.Errorf("a_real=0: modulus %v", slices.Min(pinned))
	}
	mustHave(t, drawn(t, 440, 420, "poles", "--init", "dfout", "--step", "0.1", "--set", "ssm.grid=d", "--set", "ssm.xi_min=0.01"),
		"dfout, ξ from 0.01 to 0.1", "64 modes, 1 SSM")
	mustHave(t, drawn(t, 1200, 720, "response", "--init", "lin,dfout"), "lin, Δ = 0.1, 10 modes", "Re A = 0: unbounded", "Re A = -0.5", "ρ = 0: unbounded", "ρ = 0.5", "0", "π")
	real := drawn(t, 1200, 500, "response", "--init", "real")
	if mustHave(t, real, "Re A = -1, -2, …"); strings.Count(real, "Re A") != 1 {
		t.Errorf("real has one curve:\n%s", real)
	}

	out, m := filepath.Join(t.TempDir(), "p.png"), digitsModel(t)
	for want, args := range map[string][]string{
		"leave out the model": {"poles", m, "--init", "lin"}, "--set": {"poles", m, "--set", "seed=1"}, "--channels": {"poles", m, "--channels", "3"},
		"--set ssm.init=lin": {"poles", "--set", "ssm.init=lin"}, "--set optim.lr=1": {"response", "--set", "optim.lr=1"},
		"--set ssm.a_real=1": {"response", "--set", "ssm.a_real=1"}, "has real parts of its own": {"poles", "--init", "lin,real", "--set", "ssm.a_real=1"},
		"--decay": {"response", "--init", "lin,real", "--decay", "0"}, `grid "b": init "lin"`: {"poles", "--init", "lin", "--set", "ssm.grid=b"},
		"ssm.d_state 4098: want at most 2048": {"poles", "--init", "legs", "--modes", "2049"}, "d_state 0": {"poles", "--modes", "0"},
	} {
		mustSay(t, nil, append(append([]string{"plot"}, args...), "--out", out), exitUsage, want)
	}
}

// The range of a response without bound is that of its middle; its peaks are those of the samples and say nothing. A bounded
// one shows its whole peak.
func TestResponseRange(t *testing.T) {
	both, err := (&plotResponseCmd{Step: 0.001, Modes: 10}).panel(ssm.DFouT)
	if err != nil {
		t.Fatal(err)
	}
	free, damped := both.Curves[0].Y, both.Curves[1].Y
	if both.YMax > 1.05*slices.Max(damped)+25 || both.YMax < slices.Max(damped) || both.YMin > slices.Min(damped) || slices.Max(free) <= slices.Max(damped) {
		t.Errorf("range %v … %v, damped %v … %v", both.YMin, both.YMax, slices.Min(damped), slices.Max(damped))
	}
	_, d, err := initialLayer{init: ssm.DFouT, channels: 1, modes: 10, step: 0.001, decay: 0.5}.draw()
	if err != nil {
		t.Fatal(err)
	}
	copy(d.W, d.BBar)
	if peak := 20 * math.Log10(d.HInf(0).Gain); math.Abs(slices.Max(damped)-peak) > 0.01 {
		t.Errorf("the curve's peak is %v dB, H∞ %v dB", slices.Max(damped), peak)
	}
}

func TestPlotHinf(t *testing.T) {
	for init, step := range map[ssm.Init]string{ssm.Lin: "step Δ", ssm.DFouT: "damping ξ"} {
		path := saved(t, func(c *model.Config) { c.SSM.Init, c.SSM.Bidirectional, c.NLayers, c.SSMLayers = init, true, 3, 2 })
		mustHave(t, drawn(t, 1200, 500, "hinf", path), "layer 1", "layer 2", step, "normalised H∞ score, without D")
	}
	pinned := saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	mustSay(t, nil, []string{"plot", "hinf", pinned, "--out", filepath.Join(t.TempDir(), "h.png")}, exitBadInput, pinned, "bounded response")
	mustSay(t, nil, []string{"plot", "hinf", "nowhere.safetensors"}, exitBadInput, "nowhere.safetensors")
}

// The scores are those of the SSMs' responses, over the largest of all layers; SSMs on the unit circle have none.
func TestHinfPanel(t *testing.T) {
	m, err := model.Load(saved(t, func(c *model.Config) { c.SSM.Init = ssm.Lin }))
	if err != nil {
		t.Fatal(err)
	}
	for n := range m.Config.SSM.Modes() {
		m.Weights.Layers[1].LogDecay[n] = float32(math.Inf(-1)) // channel 0 of the second layer
	}
	p, err := hinfPanel(m)
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for i, c := range p.Curves {
		params := m.SSMParams(i)
		for h, y := range c.Y {
			if i == 1 && h == 0 {
				if !math.IsNaN(y) {
					t.Errorf("poles on the unit circle have the score %v", y)
				}
				continue
			}
			largest = max(largest, y)
			gain, of := params.Discretize(ssm.ZOH, 1).HInf(h).Gain, m.SSMParams(0).Discretize(ssm.ZOH, 1).HInf(0).Gain
			if want := gain * gain / (of * of) * p.Curves[0].Y[0]; math.Abs(y-want) > 1e-12*want {
				t.Errorf("layer %d, SSM %d: score %v, want %v", i+1, h, y, want)
			}
			if want := math.Exp(params.LogStep[h]); c.X[h] != want {
				t.Errorf("layer %d, SSM %d: Δ %v, want %v", i+1, h, c.X[h], want)
			}
		}
	}
	if largest != 1 || !strings.Contains(p.Title, "of 7 SSMs") || !strings.Contains(p.Title, "1 unbounded") {
		t.Errorf("largest score %v, title %q", largest, p.Title)
	}
}

// delayRunDir trains a delay network for a moment.
func delayRunDir(t *testing.T, name string, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	args := []string{"train", "--out", dir}
	for _, s := range append([]string{"data.length=200", "data.delay=50", "ssm.d_state=16", "data.train_size=64", "data.eval_size=8", "train.epochs=1", "train.batch=16"}, set...) {
		args = append(args, "--set", s)
	}
	ok(t, args...)
	return dir
}

func TestPlotDelay(t *testing.T) {
	one, two := delayRunDir(t, "one"), delayRunDir(t, "two", "data.delay=70", "ssm.init=lin", "ssm.dt_max=0.01")
	mustHave(t, drawn(t, 1200, 640+240, "delay", one), "network's output", "target: the input, delayed", "τ = 50 samples", "one: dfout, ξ = 0.0025", "|K[l]|", "lag l [samples]")
	mustHave(t, drawn(t, 1200, 640+2*240, "delay", filepath.Join(one, "best.safetensors"), two), "output of best.safetensors: dfout, ξ = 0.0025", "best.safetensors: dfout, ξ = 0.0025",
		"two: lin, Δ from 0.002 to 0.01", "τ = 70 samples")
	alone := write(t, "alone.safetensors", read(t, filepath.Join(one, "best.safetensors")))
	mustHave(t, drawn(t, 1200, 640+240, "delay", alone), "τ = 1,000 samples")

	out := filepath.Join(t.TempDir(), "d.png")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	mustSay(t, nil, []string{"plot", "delay"}, exitUsage, "runs")
	mustSay(t, nil, []string{"plot", "delay", nowhere}, exitBadInput, nowhere)
	empty := t.TempDir()
	mustSay(t, nil, []string{"plot", "delay", empty, "--out", out}, exitBadInput, empty, "config.toml is missing")
	mustSay(t, nil, []string{"plot", "delay", one, digitsModel(t), "--out", out}, exitBadInput, "m.safetensors", "pool")
	words := filepath.Join(t.TempDir(), "words")
	ok(t, append([]string{"train", "fsdd", "--data", tones(t), "--out", words}, small...)...)
	mustSay(t, nil, []string{"plot", "delay", words, "--out", out}, exitBadInput, words, `"fsdd"`)
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused picture was written")
	}
}

// sweepDir makes the folder of a sweep without its runs: lines of sweep.csv.
func sweepDir(t *testing.T, name string, lines ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sweep.csv"), []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	sweepHead = ",seed,diverged,epoch,step,val_loss,val_accuracy,val_rmse,relative_mse,test_accuracy,test_rmse"
	diverged  = ",true,0,0,,,,,,"
)

func result(accuracy string) string { return ",false,1,9,0.5," + accuracy + ",,,," }

// A curve is the mean of the seeds over the last key that is a number, with a gap where a run has no result.
func TestSweepPanel(t *testing.T) {
	dir := sweepDir(t, "a", "ssm.l_max,ssm.init,model.n_layers"+sweepHead,
		"8,lin,2,1"+result("0.5"), "8,lin,2,2"+result("0.75"), "8,lin,4,1"+result("1"), "8,lin,4,2"+result("1"),
		"8,inv,2,1"+result("0.25"), "8,inv,2,2"+diverged, "8,inv,4,1"+result("0.5"), "8,inv,4,2"+result("0"))
	p, err := sweepPanel([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	lin, inv := p.Curves[0], p.Curves[1]
	if len(p.Curves) != 2 || lin.Name != "l_max=8, lin" || inv.Name != "l_max=8, inv (1 diverged)" || p.X != "model.n_layers" || p.LogX || p.LogY {
		t.Fatalf("panel %+v", p)
	}
	if fmt.Sprint(lin.X, lin.Y) != "[2 4] [62.5 100]" || !math.IsNaN(inv.Y[0]) || inv.Y[1] != 25 {
		t.Errorf("means %v and %v", lin.Y, inv.Y)
	}
	wrong := sweepDir(t, "b", "model.n_layers"+sweepHead, "2,1,false,1,9,0.5,,0.1,0.01,,", "2,2,false,1,9,0.5,,0.1,1,,")
	if p, err := sweepPanel([]string{wrong}, ""); err != nil || !p.LogY || p.Curves[0].Name != "b" || math.Abs(p.Curves[0].Y[0]-0.1) > 1e-15 || !strings.HasPrefix(p.Title, "Sweep: geometric means") {
		t.Errorf("errors of 0.01 and 1: %+v, %v", p, err)
	}
	if fmt.Sprint(lin.Runs) != "[{2 50} {2 75} {4 100} {4 100}]" || !strings.HasPrefix(p.Title, "Sweep: means") || p.Y != "validation accuracy [%]" {
		t.Errorf("runs %v, title %q, axis %q", lin.Runs, p.Title, p.Y)
	}
	if p, err = sweepPanel([]string{dir}, "ssm.l_max"); err != nil || len(p.Curves) != 4 || p.Curves[1].Name != "lin, n_layers=4" {
		t.Errorf("over ssm.l_max: %+v, %v", p.Curves, err)
	}
}

func TestPlotSweep(t *testing.T) {
	steps := "ssm.dt_min+ssm.dt_max"
	a := sweepDir(t, "s4d", "ssm.init,"+steps+sweepHead, "lin,0.001,1"+result("0.5"), "lin,0.1,1"+result("0.75"), "inv,0.001,1"+result("0.2"), "inv,0.1,1"+result("0.3"))
	b := sweepDir(t, "pinned", steps+sweepHead, "0.001,1"+result("0.5"), "0.1,1"+result("0.75"))
	mustHave(t, drawn(t, 1200, 500, "sweep", a), "Sweep", "lin", "inv", "Δ", "validation accuracy [%]")
	mustHave(t, drawn(t, 1200, 500, "sweep", a, b, "--x", "ssm.dt_max", "--log"), "lin", "inv", "pinned", "Δ")
	one, two := sweepOf(t, "ssm.init=dfout"), sweepOf(t, "ssm.init=lin,inv", "ssm.a_real=0.25")
	mustHave(t, drawn(t, 1200, 500, "sweep", one), "dfout")
	mustHave(t, drawn(t, 1200, 500, "sweep", one, two), "Sweep of delay", "dfout, a_real=0.5", "lin, a_real=0.25", "inv, a_real=0.25", "validation MSE / power")
	const scale = "Δ, ξ   (with a_real=0, poles on the unit circle: ξ is a scale alone)"
	undamped := sweepOf(t, "ssm.init=lin,dfout", "ssm.a_real=0")
	mustHave(t, drawn(t, 1200, 500, "sweep", undamped), scale)
	runs, err := filepath.Glob(filepath.Join(undamped, "*=0.03*"))
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %q, %v", runs, err)
	}
	mustHave(t, drawn(t, 1200, 640+2*240, append([]string{"delay"}, runs...)...), "output of dfout, ξ = 0.03", "lin, Δ = 0.03", "dfout, ξ = 0.03")
	for _, dirs := range [][]string{{one}, {two}} { // Lin's frequencies follow Δ with any real part
		if p, err := sweepPanel(dirs, ""); err != nil || p.X != "Δ, ξ" {
			t.Errorf("axis %q, %v", p.X, err)
		}
	}

	words := sweepDir(t, "words", "ssm.init"+sweepHead, "lin,1"+result("0.5"))
	zero := sweepDir(t, "zero", "model.dropout"+sweepHead, "0,1"+result("0.5"), "0.1,1"+result("0.5"))
	wild := sweepDir(t, "wild", "model.dropout"+sweepHead, "0.1,1"+diverged)
	mustSay(t, nil, []string{"plot", "sweep", t.TempDir()}, exitBadInput, "sweep.csv")
	mustSay(t, nil, []string{"plot", "sweep", words}, exitBadInput, words, "no swept key is a number")
	mustSay(t, nil, []string{"plot", "sweep", wild}, exitBadInput, wild, "diverged")
	mustSay(t, nil, []string{"plot", "sweep", words, "--x", "ssm.init"}, exitUsage, "--x ssm.init", `"lin"`)
	mustSay(t, nil, []string{"plot", "sweep", a, "--x", "optim.lr"}, exitUsage, "--x optim.lr", a)
	mustSay(t, nil, []string{"plot", "sweep", a, zero}, exitUsage, steps, "model.dropout")
	mustSay(t, nil, []string{"plot", "sweep", zero, "--log"}, exitUsage, "--log")
	mustSay(t, nil, []string{"plot", "sweep", one, sweepDir(t, "other", steps+"+ssm.xi_min+ssm.xi_max"+sweepHead, "0.1,1"+result("1"))}, exitBadInput, "different things")
}

// sweepOf runs a sweep over Δ.
func sweepOf(t *testing.T, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep")
	args := []string{"sweep", "delay", "--out", dir}
	steps := "ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.01,0.03"
	for _, s := range append(set, "data.length=64", "data.delay=16", "data.train_size=64", "data.eval_size=8", "ssm.d_state=8", "train.epochs=1", steps) {
		args = append(args, "--set", s)
	}
	ok(t, args...)
	return dir
}

// plot all makes what there is input for, and tells what it would take to make the rest.
func TestPlotAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	delay := delayRunDir(t, "delay")
	code, _, stderr := invoke(nil, "plot", "all", "--out", dir, "--model", digitsModel(t), "--delay", delay+","+delay, "--sweep", sweepOf(t),
		"--task", "fsdd", "--data", tones(t))
	names := []string{"poles", "response", "learned", "kernels", "hinf", "delay", "sweep", "spectrum"}
	if code != exitOK || strings.Contains(stderr, "left out") || strings.Count(stderr, "wrote ") != len(names) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, name := range names {
		mustBePNG(t, filepath.Join(dir, name+".png"), 0, 0)
		if !strings.Contains(stderr, "wrote "+filepath.Join(dir, name+".png")+"\n") {
			t.Errorf("%s is not reported: %s", name, stderr)
		}
	}

	bare := t.TempDir()
	pinned := saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	_, _, stderr = invoke(nil, "plot", "all", "--out", bare, "--format", "svg", "--task", "smnist", "--model", pinned)
	for name, why := range map[string]string{"hinf": "no SSM has a bounded response", "delay": "it wants --delay", "sweep": "it wants --sweep", "spectrum": "it wants --data"} {
		path := filepath.Join(bare, name+".svg")
		if !strings.Contains(stderr, "left out "+path+": ") || !strings.Contains(stderr, why) {
			t.Errorf("nothing said of %s (%s): %s", name, why, stderr)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	for _, name := range []string{"poles", "response", "learned", "kernels"} {
		svgTexts(t, filepath.Join(bare, name+".svg"))
	}
	mustSay(t, nil, []string{"plot", "all"}, exitUsage, "--out")
	mustSay(t, nil, []string{"plot", "all", "--out", bare, "--format", "gif"}, exitUsage, "gif")
	nothing := filepath.Join(t.TempDir(), "nothing")
	words := sweepDir(t, "words", "ssm.init"+sweepHead, "lin,1"+result("0.5"))
	for flag, bad := range map[string]string{"--model": "nowhere.safetensors", "--delay": "nowhere", "--sweep": words, "--data": "nowhere"} {
		mustSay(t, nil, []string{"plot", "all", "--out", nothing, flag, bad}, exitBadInput, bad)
	}
	if _, err := os.Stat(nothing); err == nil {
		t.Error("pictures were made before all input was read")
	}
	mustSay(t, nil, []string{"plot", "all", "--out", write(t, "file", nil)}, exitFailed, "file")
	mustSay(t, nil, []string{"plot", "all", "--out", bare, "--task", "juggling"}, exitUsage, "juggling")
}

// Every plot command's help shows how to use it.
func TestPlotHelp(t *testing.T) {
	for _, command := range []string{"poles", "response", "kernels", "spectrum", "hinf", "delay", "sweep", "all"} {
		if got := ok(t, "plot", command, "--help"); !strings.Contains(got, "Example") || !strings.Contains(got, "s4d-fast plot "+command) {
			t.Errorf("plot %s --help shows no example: %q", command, got)
		}
	}
}

// pictures are six images of CIFAR's size in two classes, for tests of colours.
func pictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 6 {
		img := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range img.Pix {
			img.Pix[at] = byte(at * (i + 3))
		}
		class := filepath.Join(dir, "train", []string{"cat", "dog"}[i%2])
		if err := os.MkdirAll(class, 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(class, fmt.Sprint(i, ".png")))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, img); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
