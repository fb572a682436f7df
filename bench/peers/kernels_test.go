package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// kernelCase is a kernel for testdata/kernels.py, with the golden kernel.
type kernelCase struct {
	name       string
	Layer      string               `json:"layer"` // class in torch.py
	Channels   int                  `json:"channels"`
	Modes      int                  `json:"modes"`
	Length     int                  `json:"length"`
	Parameters map[string][]float64 `json:"parameters"` // of the class
	want       []float64            // [Channels][≤ Length]
}

// TestTorchKernels compares the kernels of the PyTorch program with golden ones at the same
// parameters: those of the official code for DSS and S4, and the test vector of docs/maths.md §2.5
// for S4D.
func TestTorchKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	python, _, err := bench.PyTorch(t.Context())
	if err != nil {
		t.Skipf("PyTorch (Debian's python3-torch) is not installed: %v", err)
	}
	cases := append(append(dssCases(t), s4Cases(t)...), s4dCase())
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/kernels.py", "sources/torch.py") // -B: no cached bytecode
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(must.Get(json.Marshal(cases))(t)), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var kernels map[string][][]float64
	must.Do(t, json.Unmarshal(out, &kernels))
	for precision, bound := range map[string]float64{"float64": 1e-12, "float32": 1e-5} {
		must.Equal(t, len(kernels[precision]), len(cases), "kernels in %s", precision)
		for i, c := range cases {
			if e := c.error(kernels[precision][i]); !(e <= bound) {
				t.Errorf("%s, %s: error %.2g of the largest tap, expected at most %.0e", c.name, precision, e, bound)
			}
		}
	}
}

// error returns the largest error as a fraction of the largest tap.
func (c *kernelCase) error(kernel []float64) float64 {
	if len(kernel) != c.Channels*c.Length {
		return math.NaN()
	}
	taps, worst, largest := len(c.want)/c.Channels, 0.0, 0.0
	for i, want := range c.want {
		got := kernel[i/taps*c.Length+i%taps]
		worst, largest = max(worst, math.Abs(got-want)), max(largest, math.Abs(want))
	}
	return worst / largest
}

// layerCases returns one case per direction of a golden layer. class is the class in torch.py, and
// decay the name of its parameter for A_real. The golden files store −Im A.
func layerCases(name, class, decay string, g *golden.KernelLayer) (list []kernelCase) {
	p := map[string][]float64{decay: g.Parameters["A_real"], "b": g.Parameters["B"]}
	for _, v := range g.Parameters["A_imag"] {
		p["a_imag"] = append(p["a_imag"], -v)
	}
	for _, v := range g.Parameters["inv_dt"] {
		if g.Config.DtTransform == "softplus" {
			v = math.Log(math.Log1p(math.Exp(v)))
		}
		p["log_dt"] = append(p["log_dt"], v)
	}
	if low := g.Parameters["P"]; low != nil {
		p["p"] = low
	}
	c, h, m := g.Parameters["C"], g.Config.H, g.Config.N/2
	for dir := range len(c) / (2 * h * m) {
		k := kernelCase{name: fmt.Sprintf("%s, direction %d", name, dir), Layer: class, Channels: h, Modes: m, Length: g.Config.L}
		k.want = g.Kernel[dir*h*k.Length : (dir+1)*h*k.Length]
		k.Parameters = with(p, "c", c[dir*2*h*m:(dir+1)*2*h*m])
		list = append(list, k)
	}
	return list
}

// with returns a copy of the parameters with another value of one of them.
func with(p map[string][]float64, name string, value []float64) map[string][]float64 {
	list := maps.Clone(p)
	list[name] = value
	return list
}

// at returns the case with a kernel of another length and step scale.
func (c kernelCase) at(name string, length int, stepScale float64, want []float64) kernelCase {
	var step []float64
	for _, v := range c.Parameters["log_dt"] {
		step = append(step, v+math.Log(stepScale))
	}
	c.name, c.Length, c.want, c.Parameters = name, length, want, with(c.Parameters, "log_dt", step)
	return c
}

// dssCases also has poles with Re A > 0, and kernels of other lengths and rates.
func dssCases(t *testing.T) []kernelCase {
	g := golden.Load[golden.DSS](t, "layer-dss")
	list := layerCases("DSS", "DSS", "a_real", &g.Negative)
	plain := list[0]
	list = append(list, layerCases("DSS with growing modes", "DSS", "a_real", &g.Positive)...)
	list = append(list, layerCases("DSS with shared poles", "DSS", "a_real", &g.Tied)...)
	for _, c := range g.Lengths.Cases {
		list = append(list, plain.at("DSS, "+c.Name, len(c.Kernel)/plain.Channels, c.StepScale, c.Kernel))
	}
	return list
}

// s4Cases also has kernels of other lengths and rates, from the C̃ of their last call.
func s4Cases(t *testing.T) []kernelCase {
	g := golden.Load[golden.S4](t, "layer-s4-legs")
	list := layerCases("S4", "S4", "log_a_real", &g.Untied.KernelLayer)
	plain := list[0]
	list = append(list, layerCases("S4 with shared poles", "S4", "log_a_real", &g.Defaults.KernelLayer)...)
	for _, c := range g.Lengths.Cases {
		call := c.Calls[len(c.Calls)-1]
		k := plain.at("S4, "+c.Name, int(math.Round(float64(call.Length)/call.StepScale)), call.StepScale, call.Kernel)
		k.Parameters = with(k.Parameters, "c", c.CTilde)
		list = append(list, k)
	}
	return list
}

// s4dCase is the first vector of docs/maths.md §2.5.
func s4dCase() kernelCase {
	half := math.Log(0.5)
	return kernelCase{
		name: "S4D", Layer: "SSM", Channels: 1, Modes: 4, Length: 8,
		Parameters: map[string][]float64{
			"log_dt": {math.Log(0.05)}, "log_a_real": {half, half, half, half}, "a_imag": {0, math.Pi, 2 * math.Pi, 3 * math.Pi},
			"c": {1, 0, 0, 0.5, -0.25, 0.25, 0.1, -0.3},
		},
		want: []float64{
			0.083128438329907, 0.078692693866859, 0.072280748429062, 0.063484763856252,
			0.052959786328227, 0.042207242605974, 0.033153791917316, 0.027633822106467,
		},
	}
}
