package convmode

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// TestTinyGolden trains the two tiny networks for twenty steps. The gradients at step 0 and every
// loss equal those of PyTorch in float64.
func TestTinyGolden(t *testing.T) {
	for _, name := range []string{"postnorm", "prenorm"} {
		t.Run(name, func(t *testing.T) {
			g := golden.Load[golden.Tiny](t, "train-tiny-"+name)
			m := must.Get(model.ImportPyTorch(golden.Pth(t, "train-tiny-"+name), model.ImportOptions{PreNorm: name == "prenorm"}))(t)
			must.Equal(t, len(m.Weights.Tensors()), len(g.Gradients), "gradients")
			trainGolden(t, newAdamW(m), g.Losses, 1e-4, func(gradient model.Tensor) {
				within(t, "gradient of "+gradient.Name, gradient.Data, g.Gradients[pyTorchName(gradient.Name)].Values, 1e-5)
			})
		})
	}
}

// trainGolden trains on TinyInput and compares the loss before each step. It passes the gradients
// at step 0 to compare.
func trainGolden(t *testing.T, opt *adamW, losses []float64, tolerance float64, compare func(gradient model.Tensor)) {
	t.Helper()
	x, labels := golden.TinyInput()
	b := Batch{Size: golden.TinyBatch, Len: golden.TinyLen, X: narrow(x)}
	n := newNet(t, opt.m, Options{MaxBatch: b.Size, MaxLen: b.Len, Workers: 2, Training: true})
	for step, want := range losses {
		grads := model.NewWeights(opt.m.Config)
		if loss := crossEntropyStep(n, b, labels, grads); math.Abs(loss-want) > tolerance {
			t.Errorf("loss before step %d: %.7f, expected %.7f", step, loss, want)
		}
		if step == 0 {
			for _, tensor := range grads.Tensors() {
				compare(tensor)
			}
		}
		opt.update(grads)
	}
}

// pyTorchName maps "layers.0.mix.weight" to "s4_layers.0.output_linear.0.weight" and so on.
func pyTorchName(name string) string {
	part, ok := strings.CutPrefix(name, "layers.")
	if !ok {
		return name
	}
	layer, rest, _ := strings.Cut(part, ".")
	switch {
	case strings.HasPrefix(rest, "norm."):
		return "norms." + layer + strings.TrimPrefix(rest, "norm")
	case strings.HasPrefix(rest, "mix."):
		return "s4_layers." + layer + ".output_linear.0" + strings.TrimPrefix(rest, "mix")
	case rest == "D":
		return "s4_layers." + layer + ".D"
	}
	return "s4_layers." + layer + ".kernel." + rest
}

// crossEntropyStep runs a forward and backward pass and returns the mean cross-entropy.
func crossEntropyStep(n *Net, b Batch, labels []int, grads *model.Weights) float64 {
	logits := n.ForwardTrain(b, Step{})
	k := len(logits) / b.Size
	d, loss := make([]float32, len(logits)), 0.0
	for i, label := range labels {
		loss += float64(vek.SoftmaxCrossEntropy(d[i*k:(i+1)*k], logits[i*k:(i+1)*k], label)) / float64(b.Size)
	}
	vek.Scale(d, 1/float32(b.Size), d)
	n.Backward(d, grads)
	n.UpdateStatistics()
	return loss
}

// adamW is the optimiser of the golden runs, by default with the recipe "minimal", lr 0.01, SSM lr
// 0.001 and weight decay 0.01.
type adamW struct {
	m     *model.Model
	first *model.Weights // moments
	other *model.Weights
	step  int
	rates func(t model.Tensor) (lr, decay float64)
}

func newAdamW(m *model.Model) *adamW {
	rule := model.GroupConfig{Recipe: model.RecipeMinimal, LR: 0.01, WeightDecay: 0.01,
		SSMLR: model.FollowRule, StepLR: model.FollowRule}
	return &adamW{m: m, first: model.NewWeights(m.Config), other: model.NewWeights(m.Config), rates: rule.Hyper}
}

func (o *adamW) update(grads *model.Weights) {
	o.step++
	for i, p := range o.m.Weights.Tensors() {
		lr, decay := o.rates(p)
		vek.AdamW(p.Data, o.first.Tensors()[i].Data, o.other.Tensors()[i].Data, grads.Tensors()[i].Data, vek.AdamWParams{
			LR: lr, WeightDecay: decay, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
			Correction1: 1 - math.Pow(0.9, float64(o.step)), Correction2: 1 - math.Pow(0.999, float64(o.step)),
		})
	}
}

// TestCheckpoints compares kernels, activations and logits of two real networks with PyTorch's in
// float64.
func TestCheckpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, g := range golden.Checkpoints(t) {
		t.Run(g.Name, func(t *testing.T) {
			m := must.Get(model.ImportPyTorch(g.Path(t), model.ImportOptions{}))(t)
			b := Batch{Size: golden.CheckpointBatch, Len: golden.CheckpointLen, X: golden.CheckpointInput()}
			n := newNet(t, m, Options{MaxBatch: b.Size, MaxLen: b.Len, Workers: 2, Training: true})
			logits := n.ForwardTrain(b, Step{})
			compareLogits(t, logits, g)
			for i, trace := range g.Trace {
				out := blockOutput(n, i)
				for j, place := range g.Places {
					if got := float64(out[place[0]*b.Len+place[1]]); !(math.Abs(got-trace[j]) <= 1e-4) {
						t.Errorf("block %d, channel %d, position %d: %v, expected %v", i, place[0], place[1], got, trace[j])
					}
				}
				compareKernels(t, n, i, g)
			}
			compareLogits(t, n.Forward(b), g)
		})
	}
}

func compareLogits(t *testing.T, logits []float32, g *golden.Checkpoint) {
	t.Helper()
	for i, row := range g.Logits {
		for k, want := range row {
			// 5e-5, so that two processors differ by at most 1e-4
			if got := float64(logits[i*len(row)+k]); !(math.Abs(got-want) <= 5e-5) {
				t.Errorf("sequence %d, class %d: %v, expected %v", i, k, got, want)
			}
		}
	}
}

func compareKernels(t *testing.T, n *Net, i int, g *golden.Checkpoint) {
	t.Helper()
	for r, h := range g.Kernel.Rows {
		c, ws := n.blocks[i].sequence.(*convolution), &n.workers[0]
		k, _ := c.taps(ws, h)
		c.source.kernels(n.pass.plan.kernel, ws.conv, h, k, nil)
		for s, tap := range g.Kernel.Taps {
			if want := g.Kernel.Values[i][r][s]; !(math.Abs(float64(k[tap])-want) <= 1e-6*g.MaxAbs[i]) {
				t.Errorf("block %d, channel %d, tap %d: %v, expected %v", i, h, tap, k[tap], want)
			}
		}
	}
}

// TestImportS4Golden compares a network of S4 layers that the official trainer saved with PyTorch's
// logits: of whole sequences, of their beginnings, and of padded ones. It compares the network that
// is exported and imported again too.
func TestImportS4Golden(t *testing.T) {
	g, path := golden.Load[golden.S4Import](t, "s4-dplr"), golden.Pth(t, "s4-dplr")
	m := must.Get(model.ImportPyTorch(path, model.ImportOptions{Step: model.StepSoftplus}))(t)
	checkS4Import(t, g, m)
	path = filepath.Join(t.TempDir(), "exported.pth")
	must.Do(t, m.ExportPyTorch(path))
	checkS4Import(t, g, must.Get(model.ImportPyTorch(path, model.ImportOptions{Step: model.StepExp}))(t))
}

func checkS4Import(t *testing.T, g *golden.S4Import, m *model.Model) {
	t.Helper()
	x, _ := golden.TinyInput()
	n := newNet(t, m, Options{MaxBatch: golden.ImportBatch, MaxLen: golden.TinyLen, Workers: 2})
	run := func(length int, lengths ...int) []float32 {
		b := Batch{Size: golden.ImportBatch, Len: length, Lengths: lengths}
		for row := range golden.ImportBatch * golden.TinyInputs {
			b.X = append(b.X, narrow(x[row*golden.TinyLen:row*golden.TinyLen+length])...)
		}
		return n.Forward(b)
	}
	within(t, "logits", run(golden.TinyLen), slices.Concat(g.Logits...), 1e-5)
	within(t, "logits of 48 samples", run(48), slices.Concat(g.Short...), 1e-5)
	within(t, "logits with lengths", run(golden.TinyLen, 96, 60, 33), slices.Concat(g.Lengths...), 1e-5)
}

// Kernels of full layers end after l_max samples, which only an option says, and those of S4 after
// the stored l_kernel.
func TestImportLMax(t *testing.T) {
	path := golden.Pth(t, "import-lmax")
	x := make([]float32, 256)
	data := must.Get(os.ReadFile("../internal/golden/testdata/import-lmax.f32"))(t)
	must.Get(binary.Decode(data, binary.LittleEndian, x))(t)
	logits := func(m *model.Model, x []float32) []float32 {
		n := newNet(t, m, Options{MaxBatch: 1, MaxLen: len(x) / m.Config.DInput, Workers: 1})
		return slices.Clone(n.Forward(Batch{Size: 1, Len: len(x) / m.Config.DInput, X: x}))
	}
	option := ""
	opt := model.ImportOptions{Disc: ssm.ZOH, Step: model.StepExp, Length: 16, Note: func(_, o string) { option += o + " " }}
	within(t, "logits with l_max", logits(must.Get(model.ImportPyTorch(path, opt))(t), x), []float64{0.0999, 0.1444}, 5e-4)
	must.Equal(t, option, "Activation Pool  ", "notes")
	opt.Length, option = 0, ""
	within(t, "logits of whole kernels", logits(must.Get(model.ImportPyTorch(path, opt))(t), x), []float64{0.1289, 0.1859}, 5e-4)
	must.Equal(t, option, "Length Activation Pool  ", "notes")

	path = golden.Pth(t, "s4-dplr") // of 96 samples
	x = make([]float32, 2*256)
	x[0], x[256] = 1, 1
	opt = model.ImportOptions{Step: model.StepSoftplus}
	stored := logits(must.Get(model.ImportPyTorch(path, opt))(t), x)
	opt.Length = 96
	if !slices.Equal(logits(must.Get(model.ImportPyTorch(path, opt))(t), x), stored) {
		t.Error("logits are not those with l_max = l_kernel")
	}
	opt.Length = model.WholeKernel
	if slices.Equal(logits(must.Get(model.ImportPyTorch(path, opt))(t), x), stored) {
		t.Error("logits of whole kernels are those of kernels that end")
	}
}

// TestImportGolden compares networks of the official layers, versions 3 and 4, with PyTorch's
// activations and logits.
func TestImportGolden(t *testing.T) {
	all := golden.Imports(t)
	must.Equal(t, len(all), 5, "networks")
	for _, g := range all {
		t.Run(g.Name, func(t *testing.T) {
			opt := model.ImportOptions{Disc: ssm.Disc(g.Config.Disc)}
			if g.Config.Version == "v4" {
				opt.Step = g.Config.DtTransform
			}
			m := must.Get(model.ImportPyTorch(golden.Pth(t, g.Name), opt))(t)
			x, _ := golden.TinyInput()
			b := Batch{Size: golden.ImportBatch, Len: golden.TinyLen, X: narrow(x[:golden.ImportBatch*golden.TinyInputs*golden.TinyLen])}
			n := newNet(t, m, Options{MaxBatch: b.Size, MaxLen: b.Len, Workers: 2, Training: true})
			within(t, "logits", n.ForwardTrain(b, Step{}), slices.Concat(g.Logits...), 1e-5)
			for i, rows := range g.Trace {
				out := blockOutput(n, i)
				for h, row := range rows {
					for k, at := range golden.ImportTimes {
						if got := float64(out[h*b.Len+at]); math.Abs(got-row[k]) > 1e-5*(1+math.Abs(row[k])) {
							t.Errorf("block %d, channel %d, position %d: %v, expected %v", i, h, at, got, row[k])
						}
					}
				}
			}
		})
	}
}
