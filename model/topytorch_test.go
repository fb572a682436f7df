package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// exported are networks whose SSMs are not minimal layers, and one whose SSMs are.
func exported(t *testing.T) map[string]*model.Model {
	t.Helper()
	list := map[string]*model.Model{}
	for name, change := range map[string]func(c *ssm.Config){
		"S4D-Lin":              func(c *ssm.Config) { c.Init = ssm.Lin },
		"DFouT":                func(c *ssm.Config) {},
		"DFouT half":           func(c *ssm.Config) { c.Init = ssm.DFouTHalf },
		"DFouT, discrete":      func(c *ssm.Config) { c.Param = ssm.ParamDiscrete },
		"bilinear, B, 2 sets":  func(c *ssm.Config) { c.Init, c.Disc, c.TrainB, c.NSSM = ssm.Inv, ssm.Bilinear, true, 2 },
		"S4D-Inv, bandlimit":   func(c *ssm.Config) { c.Init, c.Bandlimit = ssm.Inv, 0.5 },
		"on the unit circle":   func(c *ssm.Config) { c.AReal = 0 },
		"LegS, one set, fixed": func(c *ssm.Config) { c.Init, c.NSSM = ssm.LegS, 1 },
	} {
		c := model.Default()
		c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = golden.TinyInputs, 5, 8, 2, 16
		change(&c.SSM)
		m := must.Get(model.New(c, 3))(t)
		if c.SSM.AReal == 0 { // the first angle is 0, where the minimal layer divides by 0
			m.Weights.Layers[0].Freq[0], m.Weights.Layers[1].Freq[0] = 0.01, 0.01
		}
		if c.SSM.TrainB {
			for _, x := range m.Weights.Tensors() {
				if x.Kind == model.KindB {
					for i := range x.Data {
						x.Data[i] += 0.1 * float32(i%7)
					}
				}
			}
		}
		list[name] = m
	}
	return list
}

func logits(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	x, _ := golden.TinyInput()
	b := convmode.Batch{Size: golden.TinyBatch, Len: golden.TinyLen}
	for _, v := range x {
		b.X = append(b.X, float32(v))
	}
	n := must.Get(convmode.New(m, convmode.Options{MaxBatch: b.Size, MaxLen: b.Len}))(t)
	defer n.Close()
	return slices.Clone(n.Forward(b))
}

func near(t *testing.T, what string, got float64, want float32) {
	t.Helper()
	if !(math.Abs(got-float64(want)) <= 1e-5*(1+math.Abs(float64(want)))) {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

// An exported network is imported again as a network of minimal layers with the same outputs.
func TestExportAndImport(t *testing.T) {
	for name, m := range exported(t) {
		path := filepath.Join(t.TempDir(), "m.pth")
		must.Do(t, m.ExportPyTorch(path))
		got := logits(t, must.Get(model.ImportPyTorch(path, model.ImportOptions{}))(t))
		for i, want := range logits(t, m) {
			near(t, name, float64(got[i]), want)
		}
	}
	// A minimal network's file comes back bit by bit.
	m := must.Get(model.ImportPyTorch(golden.Pth(t, "train-tiny-prenorm"), model.ImportOptions{PreNorm: true}))(t)
	path := filepath.Join(t.TempDir(), "m.pth")
	must.Do(t, m.ExportPyTorch(path))
	if back, err := model.ImportPyTorch(path, model.ImportOptions{PreNorm: true}); err != nil || back.Hash() != m.Hash() {
		t.Errorf("a minimal network: another one, or error %v", err)
	}
}

func TestExportRejects(t *testing.T) {
	for want, change := range map[string]func(c *model.Config){
		"the encoder is an embedding":         func(c *model.Config) { c.Encoder = model.EncoderEmbedding },
		`norm "batch"`:                        func(c *model.Config) { c.Norm = model.NormBatch },
		"a norm after the last layer":         func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true },
		"no residual path":                    func(c *model.Config) { c.Residual = false },
		`activation "none"`:                   func(c *model.Config) { c.Activation = model.ActivationNone },
		`mixing "half-glu1"`:                  func(c *model.Config) { c.Mixing = model.MixingHalfGLU1 },
		`mixing "half-glu2"`:                  func(c *model.Config) { c.Mixing = model.MixingHalfGLU2 },
		`activation "gelu-tanh"`:              func(c *model.Config) { c.Activation = model.ActivationGELUTanh },
		`norm_eps 1e-06`:                      func(c *model.Config) { c.NormEps = 1e-6 },
		`mixing "linear"`:                     func(c *model.Config) { c.Mixing = model.MixingLinear },
		`pool "none"`:                         func(c *model.Config) { c.Pool = model.PoolNone },
		"some layers have no SSM":             func(c *model.Config) { c.SSMLayers = 1 },
		"compares two sequences":              func(c *model.Config) { c.Pairs = true },
		"the SSMs are bidirectional":          func(c *model.Config) { c.SSM.Bidirectional = true },
		"kernels are truncated":               func(c *model.Config) { c.SSM.LMax = 7 },
		"layer 0: a pole λ̄ = 1: the minimal": func(c *model.Config) { c.SSM.AReal = 0 },
	} {
		c := model.Default()
		c.DModel, c.NLayers, c.SSM.DState = 8, 2, 8
		change(&c)
		m := must.Get(model.New(c, 1))(t)
		path := filepath.Join(t.TempDir(), "m.pth")
		must.Fail(t, m.ExportPyTorch(path), errors.ErrUnsupported, want)
	}
}

// python returns a Python that has PyTorch, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", `from importlib.metadata import version; version("torch")`).Run() == nil {
			return name
		}
	}
	t.Skip("no Python with PyTorch is installed (Debian's python3-torch)")
	return ""
}

// pythonCommand runs Python with one thread: on busy processors PyTorch's threads wait long for
// each other.
func pythonCommand(interpreter string, args ...string) *exec.Cmd {
	cmd := exec.Command(interpreter, args...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	return cmd
}

// resave makes PyTorch save the tensors of checkpoints again: as parameters, in double precision, C
// as complex numbers, under the names and in the dictionaries of a Lightning module.
const resave = `
import sys, torch
own = lambda name, x: torch.view_as_complex(x) if name.endswith(".C") else torch.nn.Parameter(x)
optimizer = torch.optim.AdamW([torch.zeros(3)])
for path in sys.argv[1:]:
    state = {"model." + name: own(name, x.double()) for name, x in torch.load(path).items()}
    torch.save({"epoch": 3, "state_dict": state, "optimizer_states": [optimizer.state_dict()], "acc": 0.5}, path)
`

// A checkpoint that PyTorch loads and saves again gives the same network, bit by bit.
func TestResavedInPyTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	interpreter, dir := python(t), t.TempDir()
	networks, steps, args := map[string]*model.Model{}, map[string]string{}, []string{"-c", resave}
	for name, step := range map[string]string{"train-tiny-postnorm": "", "train-tiny-s4": model.StepExp, "s4-dplr": model.StepSoftplus} {
		path := filepath.Join(dir, name+".pth")
		m := must.Get(model.ImportPyTorch(golden.Pth(t, name), model.ImportOptions{Step: step}))(t)
		must.Do(t, m.ExportPyTorch(path))
		if step != "" {
			step = model.StepExp
		}
		networks[path], steps[path], args = m, step, append(args, path)
	}
	if out, err := pythonCommand(interpreter, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for path, m := range networks {
		if back, err := model.ImportPyTorch(path, model.ImportOptions{Step: steps[path]}); err != nil || back.Hash() != m.Hash() {
			t.Errorf("%s: another network, or error %v", path, err)
		}
	}
}

// PyTorch loads the exported file strictly and computes the same logits. The network is that of
// docs/pytorch/s4d_dfout.py, whose layer has the golden kernels and starts on the grid of DFouT.
// What it trains can be imported.
func TestExportedFileInPyTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	interpreter := python(t)
	flat, _ := golden.TinyInput()
	var x [][][]float64
	for rows := range slices.Chunk(slices.Collect(slices.Chunk(flat, golden.TinyLen)), golden.TinyInputs) {
		x = append(x, rows)
	}
	input := must.Get(json.Marshal(x))(t)
	networks, dir := exported(t), t.TempDir()
	names := slices.Sorted(maps.Keys(networks))
	args := []string{"-c", dfoutScript, filepath.Join(dir, "trained.pth")}
	for i, name := range names {
		args = append(args, filepath.Join(dir, fmt.Sprint(i, ".pth")))
		must.Do(t, networks[name].ExportPyTorch(args[i+3]))
	}
	cmd := pythonCommand(interpreter, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	cmd.Env = append(cmd.Env, "PYTHONPATH=../docs/pytorch", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	next := func() (v []float64) {
		must.Do(t, lines.Decode(&v))
		return v
	}
	for _, name := range names {
		theirs := next()
		for i, want := range logits(t, networks[name]) {
			near(t, name, theirs[i], want)
		}
	}
	for i, got := range next() { // G2 of docs/maths.md §2.5, both SSMs
		near(t, "kernel of the layer", got, []float32{0.145119749967775, 0.071970827716977, 0.1257985969119052, 0.0577834409025228}[i])
	}
	m := must.Get(model.ImportPyTorch(args[2], model.ImportOptions{}))(t)
	theirs := next()
	for i, want := range logits(t, m) {
		near(t, "trained network", theirs[i], want)
	}
	grid := ssm.Config{DModel: 8, DState: 16, Init: ssm.DFouT, Disc: ssm.ZOH, AReal: 0.5, XiMin: 0.02, XiMax: 0.02}
	trained, initial := m.SSMParams(1).Discretize(ssm.ZOH, 1), must.Get(ssm.New(grid, 1, 1))(t).Discretize(ssm.ZOH, 1)
	for i, want := range initial.LogLambda { // one step has moved the poles a little
		if got := trained.LogLambda[i]; got == want || cmplx.Abs(got-want) > 0.004*(1+imag(want)) {
			t.Errorf("pole %d of the trained network: log λ̄ = %v, started at %v", i, got, want)
		}
	}
}

// dfoutScript prints the logits of checkpoints in the network of docs/pytorch/s4d_dfout.py. Then it
// prints taps of a kernel, and trains and saves a network, and prints its logits.
const dfoutScript = `
import json, sys, torch
from s4d_dfout import Kernel, Network, parameter_groups

x = torch.tensor(json.load(sys.stdin), dtype=torch.float64)

def show(net):
    with torch.no_grad():
        print(json.dumps(net.double()(x).flatten().tolist()))

for path in sys.argv[2:]:
    state = torch.load(path, map_location="cpu")
    net = Network(x.shape[1], 5, channels=8, layers=2, states=2 * state["s4_layers.0.kernel.A_imag"].shape[1])
    net.load_state_dict(state, strict=True)
    show(net)
kernel = Kernel(2, states=8, xi_min=0.1, xi_max=0.1)
kernel.C.data[:] = torch.tensor([[1, 0], [0, 0.5], [-0.25, 0.25], [0.1, -0.3]])
print(json.dumps(kernel(2).flatten().tolist()))
net = Network(x.shape[1], 5, channels=8, layers=2, states=16, xi_min=0.02, xi_max=0.02, dropout=0.1)
optimizer = torch.optim.AdamW(parameter_groups(net, lr=0.01, weight_decay=0.05))
net(x.float()).square().sum().backward()
optimizer.step()
torch.save(net.state_dict(), sys.argv[1])
show(net.eval())
`
