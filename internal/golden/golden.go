// Package golden holds values that PyTorch computed with the official S4D code in float64, and
// their inputs. Only tests import it.
//
// A Tiny is a two-layer network with every gradient and twenty losses. A Checkpoint is a published
// network trained on CIFAR-10, whose weights are not in the repository. An Import is a network of
// full layers. Other files hold single layers and networks of DSS, S4, S5 and LRU.
package golden

import (
	"embed"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

//go:embed testdata
var files embed.FS

// Tiny is the golden file "train-tiny-postnorm" or "train-tiny-prenorm" of a network of 2 layers,
// d_model 8, d_state 16, 2 inputs and 5 outputs, trained on 6 sequences of 96 samples with AdamW:
// lr 0.01 and weight decay 0.01 on everything but log_dt, log_A_real and A_imag, which learn at
// 0.001 without decay.
type Tiny struct {
	Losses    []float64           `json:"losses_before_each_step"`
	Gradients map[string]Gradient `json:"gradients_at_step_0"` // by PyTorch's tensor names
}

// Gradient is ∂loss/∂tensor, row-major.
type Gradient struct {
	Shape  []int     `json:"shape"`
	Values []float64 `json:"values"`
}

// Sizes of the tiny networks' batch.
const (
	TinyBatch, TinyLen, TinyInputs = 6, 96, 2
)

// TinyInput returns the batch [TinyBatch][TinyInputs][TinyLen], in float64, and the labels.
func TinyInput() (x []float64, labels []int) {
	for i := range TinyBatch {
		for c := range TinyInputs {
			for s := range TinyLen {
				x = append(x, math.Sin(0.05*float64(i+1)*float64(c+1)*float64(s)+0.3*float64(i)))
			}
		}
		labels = append(labels, i%5)
	}
	return x, labels
}

// Checkpoint is the golden file of a published network of 4 layers, d_model 128, d_state 64, 3
// inputs and 10 outputs.
type Checkpoint struct {
	Name   string
	Logits [][]float64   `json:"logits_float64"`                      // [4][10]
	Places [][2]int      `json:"trace_h_t"`                           // channel, time
	Trace  [][]float64   `json:"trace_after_block_sequence0_float64"` // [layer][place]
	Kernel KernelSamples `json:"kernel_float64"`
	MaxAbs []float64     `json:"kernel_max_abs"` // [layer]
}

// KernelSamples are taps of some channels' kernels.
type KernelSamples struct {
	Rows   []int         `json:"rows"`
	Taps   []int         `json:"taps"`
	Values [][][]float64 `json:"values"` // [layer][row][tap]
}

// Sizes of the checkpoints' batch.
const (
	CheckpointBatch, CheckpointLen, CheckpointInputs = 4, 1024, 3
)

// Checkpoints returns the golden files of both published networks.
func Checkpoints(t testing.TB) []*Checkpoint {
	t.Helper()
	var list []*Checkpoint
	for _, name := range []string{"ethorondor", "EskildAndersen"} {
		g := Load[Checkpoint](t, name+"-s4d-cifar10")
		g.Name = name + "-s4d-cifar10"
		list = append(list, g)
	}
	return list
}

// Path returns the checkpoint's file in S4D_DATA, and skips the test if that is not set.
func (g *Checkpoint) Path(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("S4D_DATA")
	if dir == "" {
		t.Skip("S4D_DATA is not set: the published checkpoints are not available")
	}
	return filepath.Join(dir, "checkpoints", g.Name+".pth")
}

// CheckpointInput returns the batch [CheckpointBatch][CheckpointInputs][CheckpointLen], rounded to
// float32 like the input of the golden values.
func CheckpointInput() []float32 {
	var x []float32
	for i := range CheckpointBatch {
		for c := range CheckpointInputs {
			for s := range CheckpointLen {
				v := math.Sin(0.01*float64(i+1)*float64(c+1)*float64(s)) + 0.5*math.Cos(0.37*float64(i+1)*float64(s)+float64(c))
				x = append(x, float32(v))
			}
		}
	}
	return x
}

// Load reads a file in JSON.
func Load[T any](t testing.TB, name string) *T {
	t.Helper()
	g := new(T)
	if err := json.Unmarshal(must.Get(files.ReadFile("testdata/"+name+".json"))(t), g); err != nil {
		t.Fatalf("golden: %s: %v", name, err)
	}
	return g
}
