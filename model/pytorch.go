package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// ImportOptions tells what a PyTorch checkpoint cannot.
type ImportOptions struct {
	PreNorm bool // the network normalises before each block
}

// ImportPyTorch reads a checkpoint of a network of minimal S4D layers (state-spaces/s4: s4d.py in the network of
// example.py): linear encoder, residual blocks with LayerNorm and GLU, mean pool. Files with any tensor too
// many, too few or of another shape are refused by the tensor's name. Nothing in the file is executed.
func ImportPyTorch(path string, opt ImportOptions) (*Model, error) {
	tensors, err := pth.Load(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	m, err := fromPyTorch(tensors, opt)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	return m, nil
}

func fromPyTorch(tensors []pth.Tensor, opt ImportOptions) (*Model, error) {
	byName := map[string]*pth.Tensor{}
	for i := range tensors {
		t := &tensors[i]
		if byName[t.Name] != nil {
			return nil, fmt.Errorf("tensor %q comes twice", t.Name)
		}
		byName[t.Name] = t
	}
	c, err := configFromPyTorch(byName, opt)
	if err != nil {
		return nil, err
	}
	w, err := c.fill(func(t Tensor) (stored, error) {
		name, want := pyTorchName(t.Name), t.Shape
		if t.Kind == KindWeight && t.Part == PartBackbone {
			want = append(slices.Clone(want), 1) // a convolution of width 1
		}
		src := byName[name]
		delete(byName, name)
		if src == nil {
			return stored{}, fmt.Errorf("tensor %q is missing", name)
		}
		return stored{name: name, shape: src.Shape, want: want, data: src.Data}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tensors { // in the file's order
		if byName[t.Name] != nil {
			return nil, fmt.Errorf("tensor %q, shape %v, is not one of a network of minimal S4D layers", t.Name, t.Shape)
		}
	}
	return &Model{Config: c, Weights: w}, nil
}

// pyTorchName maps a tensor's name to the checkpoint's.
func pyTorchName(name string) string {
	var layer int
	if _, err := fmt.Sscanf(name, "layers.%d.", &layer); err != nil {
		return name
	}
	rest := strings.SplitN(name, ".", 3)[2]
	switch rest {
	case "D":
		return fmt.Sprintf("s4_layers.%d.D", layer)
	case "mix.weight", "mix.bias":
		return fmt.Sprintf("s4_layers.%d.output_linear.0.%s", layer, rest[len("mix."):])
	case "norm.weight", "norm.bias":
		return fmt.Sprintf("norms.%d.%s", layer, rest[len("norm."):])
	}
	return fmt.Sprintf("s4_layers.%d.kernel.%s", layer, rest)
}

// configFromPyTorch reads the sizes off the tensors' shapes.
func configFromPyTorch(byName map[string]*pth.Tensor, opt ImportOptions) (Config, error) {
	c := Default()
	c.PreNorm = opt.PreNorm
	c.SSM = ssm.Config{Init: ssm.Imported, Disc: ssm.ZOH}
	modes := 0
	for _, s := range []struct {
		size       *int
		name       string
		rank, axis int
	}{
		{&c.DModel, "encoder.weight", 2, 0}, {&c.DInput, "encoder.weight", 2, 1},
		{&c.DOutput, "decoder.weight", 2, 0}, {&modes, "s4_layers.0.kernel.A_imag", 2, 1},
	} {
		t := byName[s.name]
		if t == nil {
			return c, fmt.Errorf("tensor %q is missing: not a network of minimal S4D layers", s.name)
		}
		if len(t.Shape) != s.rank {
			return c, fmt.Errorf("tensor %q: shape %v, want %d dimensions", s.name, t.Shape, s.rank)
		}
		*s.size = t.Shape[s.axis]
	}
	c.SSM.DState = 2 * modes
	c.NLayers = 1
	for byName[fmt.Sprintf("s4_layers.%d.D", c.NLayers)] != nil {
		c.NLayers++
	}
	return c, c.validate()
}
