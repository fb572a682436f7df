package model

import (
	"errors"
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

	// Length is l_max of full layers: the number of samples after which their kernels end, or
	// WholeKernel. 0: whole kernels, or those of S4 with the length that the file stores. DiscDSS
	// requires the number, l_max or that of a training sequence.
	Length int

	Activation Activation // between SSM and mixing; "": GELU
	Mixing     Mixing     // end of a block, final_act; "": as the shapes tell
	Pool       Pool       // "": the mean

	// Weights names the state dict, and the prefix of the names in it, of a checkpoint that has
	// several networks, such as the weights and their moving average. "": the first that is no
	// average.
	Weights string

	// Moved is called with the name of every tensor of the checkpoint and of the model's tensor
	// that it became, or "" if it is not used. It may be nil.
	Moved func(theirs, ours string)

	// Note is called for each setting that the checkpoint does not store, and if it has several
	// networks. text is what the import assumed or chose. option is the field of this struct that
	// changes it, or "" if no field does. Note may be nil.
	Note func(text, option string)
}

// WholeKernel is ImportOptions.Length of kernels that do not end.
const WholeKernel = -1

// ImportPyTorch reads a checkpoint of a network of state-spaces/s4's example.py, a zip file or a
// safetensors file: linear encoder, residual blocks with GELU, GLU and LayerNorm, mean pool. Its
// layers may be the minimal S4D layer (s4d.py), or the full S4 layer with diagonal kernels of
// version 3 (SSKernelDiag) or 4 (SSMKernelDiag): ZOH or bilinear, uni- or bidirectional, with any
// number of pole copies and Re A stored as its logarithm. They may also be S4 with low-rank kernels
// (SSKernelNPLR, SSMKernelDPLR), and those of version 4 DSS, with Re A stored as it is. The norms
// may be BatchNorm. Names may begin with a prefix, such as "model." of Lightning, and may be those
// of the official trainer's network.
//
// An unexpected, missing or wrongly shaped tensor is an error that names it. Nothing in the file is
// executed. An option that is missing or does not apply is an *ImportOptionError. A model file is
// an ErrSafetensors.
func ImportPyTorch(path string, opt ImportOptions) (*Model, error) {
	if opt.Moved == nil {
		opt.Moved = func(theirs, ours string) {}
	}
	if opt.Note == nil {
		opt.Note = func(text, option string) {}
	}
	prefix := ""
	tensors, err := pth.Load(path, func(states []pth.State) (chosen pth.State, err error) {
		chosen, prefix, err = opt.choose(states)
		return chosen, err
	})
	if err != nil {
		return nil, inModel(err)
	}
	m, err := fromPyTorch(tensors, prefix, opt)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	return m, nil
}

// ErrSafetensors is ImportPyTorch's error for a model file.
var ErrSafetensors = errors.New("a safetensors file (a model file), expected a PyTorch checkpoint")

// fromPyTorch returns the network whose tensors have a prefix.
func fromPyTorch(tensors []pth.Tensor, prefix string, opt ImportOptions) (*Model, error) {
	byName, err := index(tensors, prefix)
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
	w, err := c.fill(func(t Tensor) (stored, error) {
		name, want, value := kind.source(t, opt, c.SSM.Directions())
		src := byName[name]
		delete(byName, name)
		if src == nil {
			return stored{}, fmt.Errorf("tensor %q is missing", name)
		}
		opt.Moved(strings.TrimPrefix(src.Name, prefix), t.Name)
		return stored{name: name, shape: src.Shape, want: want, data: src.Data, value: value}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tensors { // the remaining ones, in the file's order
		name := exampleName(strings.TrimPrefix(t.Name, prefix))
		if byName[name] == nil {
			continue
		}
		switch length := kind.rankOne() && strings.HasSuffix(name, "."+kind.kernel+kind.length); {
		case length && (len(t.Data) != 1 || int(t.Data[0]) != c.SSM.LKernel):
			return nil, fmt.Errorf("tensor %q: %v, expected %d as in the first layer", t.Name, t.Data, c.SSM.LKernel)
		case !length && !strings.HasSuffix(name, ".num_batches_tracked") && (kind.unused == "" || !strings.HasSuffix(name, "."+kind.kernel+kind.unused)):
			return nil, fmt.Errorf("tensor %q, shape %v, is unexpected in a network of %s; %s", name, t.Shape, kind.name, pth.WayOut)
		}
		opt.Moved(strings.TrimPrefix(t.Name, prefix), "")
	}
	kind.note(c, opt)
	return &Model{Config: c, Weights: w}, nil
}

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

// wrappers are the prefixes of modules around others. The official trainer has them at the layers,
// but not at the encoder. innerWrappers are those that torch.compile, activation checkpoints and
// FSDP put around any module.
var (
	wrappers      = regexp.MustCompile(`^((_orig_mod|module|model|net)\.)*`)
	innerWrappers = regexp.MustCompile(`\b(_orig_mod|_\w+_wrapped_module)\.`)
)

// exampleName returns the name that a tensor has in the network of example.py.
func exampleName(name string) string {
	name = innerWrappers.ReplaceAllString(name, "")
	name = name[len(wrappers.FindString(name)):]
	for _, n := range trainerNames {
		if n.theirs.MatchString(name) {
			return n.theirs.ReplaceAllString(name, n.ours)
		}
	}
	return name
}

// index returns the tensors by their names, without the prefix, in the network of example.py.
func index(tensors []pth.Tensor, prefix string) (map[string]*pth.Tensor, error) {
	byName := map[string]*pth.Tensor{}
	for i := range tensors {
		t := &tensors[i]
		name := exampleName(strings.TrimPrefix(t.Name, prefix))
		if byName[name] != nil {
			return nil, fmt.Errorf("tensor %q is duplicated", name)
		}
		byName[name] = t
	}
	return byName, nil
}
