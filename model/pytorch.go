package model

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// How a checkpoint stores the step Δ.
const (
	StepExp      = "exp"      // Δ = e^x
	StepSoftplus = "softplus" // Δ = ln(1 + e^x)
)

// DiscDSS is the official code's name of DSS, which it treats as a discretisation.
const DiscDSS ssm.Disc = "dss"

// ImportOptions holds what a PyTorch checkpoint does not store.
type ImportOptions struct {
	PreNorm bool     // the norm comes before each block, not after it
	Disc    ssm.Disc // full layers: the discretisation, or DiscDSS
	Step    string   // full layers of version 4: StepExp or StepSoftplus
	Length  int      // DiscDSS: samples in a training sequence, or l_max

	// Moved is called with the name of every tensor of the checkpoint and of the model's tensor
	// that it became, or "" if it is not used. It may be nil.
	Moved func(theirs, ours string)
}

// ImportPyTorch reads a checkpoint of a network of state-spaces/s4's example.py: linear encoder,
// residual blocks with GELU, GLU and LayerNorm, mean pool. Its layers may be the minimal S4D layer
// (s4d.py), or the full S4 layer with diagonal kernels of version 3 (SSKernelDiag) or 4
// (SSMKernelDiag): ZOH or bilinear, uni- or bidirectional, with any number of pole copies and Re A
// stored as its logarithm. They may also be S4 with low-rank kernels (SSKernelNPLR, SSMKernelDPLR),
// and those of version 4 DSS, with Re A stored as it is. The norms may be BatchNorm. Names may
// begin with "model.", as Lightning writes them, and may be those of the official trainer's
// network.
//
// An unexpected, missing or wrongly shaped tensor is an error that names it. Nothing in the file is
// executed. An option that is missing or does not apply is an *ImportOptionError. A safetensors
// file is an ErrSafetensors.
func ImportPyTorch(path string, opt ImportOptions) (*Model, error) {
	tensors, err := pth.Load(path)
	if err != nil {
		return nil, inModel(err)
	}
	m, err := fromPyTorch(tensors, opt)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	return m, nil
}

// ErrSafetensors is ImportPyTorch's error for a model file.
var ErrSafetensors = pth.ErrSafetensors

func fromPyTorch(tensors []pth.Tensor, opt ImportOptions) (*Model, error) {
	byName, err := index(tensors)
	if err != nil {
		return nil, err
	}
	kind := kindOf(byName)
	if err := kind.check(opt); err != nil {
		return nil, err
	}
	c, err := kind.config(byName, opt)
	if err != nil {
		return nil, err
	}
	moved := opt.Moved
	if moved == nil {
		moved = func(theirs, ours string) {}
	}
	w, err := c.fill(func(t Tensor) (stored, error) {
		name, want, value := kind.source(t, opt, c.SSM.Directions())
		src := byName[name]
		delete(byName, name)
		if src == nil {
			return stored{}, fmt.Errorf("tensor %q is missing", name)
		}
		moved(strings.TrimPrefix(src.Name, lightning), t.Name)
		return stored{name: name, shape: src.Shape, want: want, data: src.Data, value: value}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tensors { // the remaining ones, in the file's order
		name := exampleName(t.Name)
		if byName[name] == nil {
			continue
		}
		switch length := kind.rankOne() && strings.HasSuffix(name, "."+kind.kernel+kind.length); {
		case length && (len(t.Data) != 1 || int(t.Data[0]) != c.SSM.LKernel):
			return nil, fmt.Errorf("tensor %q: %v, expected %d as in the first layer", t.Name, t.Data, c.SSM.LKernel)
		case !length && !strings.HasSuffix(name, ".num_batches_tracked") && (kind.unused == "" || !strings.HasSuffix(name, "."+kind.kernel+kind.unused)):
			return nil, fmt.Errorf("tensor %q, shape %v, is unexpected in a network of %s", name, t.Shape, kind.name)
		}
		moved(strings.TrimPrefix(t.Name, lightning), "")
	}
	return &Model{Config: c, Weights: w}, nil
}

// lightning is the prefix that a Lightning module gives the names of its network's tensors.
const lightning = "model."

// trainerNames are the beginnings of names in the network of the official trainer, and those of
// example.py.
var trainerNames = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`^layers\.([^.]*)\.layer\.`), "s4_layers.$1."},
	{regexp.MustCompile(`^layers\.([^.]*)\.norm\.norm\.`), "norms.$1."},
	{regexp.MustCompile(`^norm\.norm\.`), "norm."},
	{regexp.MustCompile(`^encoder\.0\.`), "encoder."},
	{regexp.MustCompile(`^decoder\.0\.output_transform\.`), "decoder."},
}

// exampleName returns the name that a tensor has in the network of example.py.
func exampleName(name string) string {
	name = strings.TrimPrefix(name, lightning)
	for _, n := range trainerNames {
		if n.theirs.MatchString(name) {
			return n.theirs.ReplaceAllString(name, n.ours)
		}
	}
	return name
}

// index returns the tensors by their names in the network of example.py.
func index(tensors []pth.Tensor) (map[string]*pth.Tensor, error) {
	byName := map[string]*pth.Tensor{}
	for i := range tensors {
		t := &tensors[i]
		name := exampleName(t.Name)
		if byName[name] != nil {
			return nil, fmt.Errorf("tensor %q is duplicated", name)
		}
		byName[name] = t
	}
	return byName, nil
}
