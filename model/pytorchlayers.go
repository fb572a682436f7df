package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// layerKind is an official implementation of a layer: where its checkpoints store the tensors of
// ours (docs/maths.md §1.2), by names after "s4_layers.I.".
type layerKind struct {
	name             string
	full             bool   // B is trained, poles may be shared; D and C have a leading dimension
	version          int    // of the full layer
	kernel           string // prefix of the names, except that of D
	step, real, imag string // Δ, Re A and Im A
	d                string // the whole name of D
	mark             string // the tensor of the kernel that identifies the kind
	unused           string // a tensor of the kernel that the layer does not read
	width1           bool   // the mixing is a convolution of width 1

	// length is the integer tensor of the kernel with the length for which C̃ was computed. It is ""
	// for layers other than S4.
	length string
}

// rankOne reports whether the layers are S4's.
func (k *layerKind) rankOne() bool { return k.length != "" }

// minimalS4D and rankOne4 are the kinds that networks are exported as.
var (
	minimalS4D = layerKind{
		name: "minimal S4D layers", kernel: "kernel.", step: "log_dt", real: "log_A_real", imag: "A_imag", d: "D", mark: "A_imag", width1: true,
	}
	rankOne4 = layerKind{
		name: "full S4 layers of version 4 with low-rank kernels", full: true, version: 4,
		kernel: "layer.kernel.", step: "inv_dt", real: "A_real", imag: "A_imag", d: "layer.D", mark: "P", length: "l_kernel",
	}
)

// rankOne3 returns version 3 of S4, whose name of log −Re Λ changed.
func rankOne3(real string) layerKind {
	return layerKind{
		name: "full S4 layers of version 3 with low-rank kernels", full: true, version: 3,
		kernel: "kernel.kernel.", step: "log_dt", real: real, imag: "w_imag", d: "D", mark: real, length: "L",
	}
}

var layerKinds = []layerKind{
	minimalS4D,
	{
		name: "full S4 layers of version 3", full: true, version: 3,
		kernel: "kernel.kernel.", step: "log_dt", real: "inv_A_real", imag: "A_imag", d: "D", mark: "A_imag", width1: true,
		unused: "A", // as it was before training
	},
	rankOne3("inv_w_real"), rankOne3("log_w_real"), rankOne4,
	{
		name: "full S4 layers of version 4", full: true, version: 4,
		kernel: "layer.kernel.", step: "inv_dt", real: "A_real", imag: "A_imag", d: "layer.D", mark: "A_imag",
	},
}

// field returns the checkpoint's name of one of our tensors of an SSM.
func (k *layerKind) field(own string) string {
	switch own {
	case "D":
		return k.d
	case "log_dt":
		own = k.step
	case "log_A_real", "A_real":
		own = k.real
	case "A_imag":
		own = k.imag
	}
	return k.kernel + own
}

// ImportOptionError reports an option that is required and missing, or one that does not apply.
type ImportOptionError struct {
	Option  string // the field of ImportOptions, such as "Disc"
	Problem string
}

// Error implements error.
func (e *ImportOptionError) Error() string { return e.Option + ": " + e.Problem }

// kindOf returns the kind of layer that the tensors belong to.
func kindOf(byName map[string]*pth.Tensor) *layerKind {
	for _, k := range layerKinds {
		if byName["s4_layers.0."+k.kernel+k.mark] == nil {
			continue
		}
		if k.version == 3 && k.rankOne() { // releases differ
			mix := byName["s4_layers.0.output_linear.0.weight"]
			k.width1 = mix != nil && len(mix.Shape) == 3
		}
		return &k
	}
	return &minimalS4D
}

// check returns an error for an option that the kind of layer requires or does not have.
func (k *layerKind) check(o ImportOptions) error {
	discs, steps := []string{string(ssm.ZOH)}, []string{StepExp}
	switch {
	case k.rankOne():
		discs = []string{string(ssm.Bilinear)}
	case k.full:
		discs = append(discs, string(ssm.Bilinear))
	}
	if k.version == 4 {
		steps = append(steps, StepSoftplus)
		if !k.rankOne() {
			discs = append(discs, string(DiscDSS))
		}
	}
	if err := k.choose("Disc", string(o.Disc), "how its %s discretise", discs); err != nil {
		return err
	}
	if err := k.choose("Step", o.Step, "the transform of Δ of its %s", steps); err != nil {
		return err
	}
	if !slices.Contains([]Activation{"", ActivationGELU, ActivationGELUTanh, ActivationNone}, o.Activation) {
		return &ImportOptionError{"Activation", fmt.Sprintf("%q: expected %q, %q or %q; networks with others cannot be converted", o.Activation, ActivationGELU, ActivationGELUTanh, ActivationNone)}
	}
	if !slices.Contains([]Pool{"", PoolMean, PoolLast, PoolNone}, o.Pool) {
		return &ImportOptionError{"Pool", fmt.Sprintf("%q: expected %q, %q or %q; networks with others cannot be converted", o.Pool, PoolMean, PoolLast, PoolNone)}
	}
	switch {
	case o.Disc == DiscDSS && o.Length < 1:
		return &ImportOptionError{"Length", fmt.Sprintf("%d: the normaliser of DSS spans the training sequences, and the file does not store their length: expected a number of samples", max(o.Length, 0))}
	case !k.full && o.Length > 0:
		return &ImportOptionError{"Length", fmt.Sprintf("%d: the kernels of %s have no l_max", o.Length, k.name)}
	case o.Length < WholeKernel:
		return &ImportOptionError{"Length", fmt.Sprintf("%d: expected a number of samples, or 0 for kernels that do not end", o.Length)}
	}
	return nil
}

// note reports what the import assumes of layers of the kind. The minimal layer, and the network of
// example.py that has it, have no such settings.
func (k *layerKind) note(c Config, o ImportOptions) {
	if !k.full {
		return
	}
	assume := func(given bool, option, format string, args ...any) {
		if !given {
			o.Note(fmt.Sprintf(format, args...), option)
		}
	}
	switch {
	case c.SSM.Layer == ssm.LayerDSS:
		o.Note(fmt.Sprintf("kernels of DSS continue after %d samples, also if the layers of the checkpoint have l_max", c.SSM.LKernel), "")
	case c.SSM.LMax > 0:
		assume(o.Length != 0, "Length", "kernels end after the stored l_kernel, %d samples, so the network cannot process streams", c.SSM.LMax)
	default:
		assume(o.Length != 0, "Length", "no l_max, at which kernels end")
	}
	assume(o.Activation != "", "Activation", "activation %s", c.Activation)
	assume(o.Mixing != "" || c.Mixing == MixingGLU, "Mixing", "no activation at the end of a block (final_act; others cannot be converted)")
	assume(o.Pool != "", "Pool", "pool %s", c.Pool)
	o.Note(fmt.Sprintf("as the tensors show: mixing %s, no gate, no bottleneck", c.Mixing), "")
}

// choose reports an option that is not one of the choices. If there is only one, the option may be
// missing. what says which property of the layers it is.
func (k *layerKind) choose(option, value, what string, choices []string) error {
	list := `"` + strings.Join(choices, `" or "`) + `"`
	switch {
	case slices.Contains(choices, value) || value == "" && len(choices) == 1:
		return nil
	case value == "":
		return &ImportOptionError{option, fmt.Sprintf("missing: the file does not store "+what+": expected %s", k.name, list)}
	}
	return &ImportOptionError{option, fmt.Sprintf("%q: %s have %s", value, k.name, list)}
}

// source returns the checkpoint's tensor for one of ours: its name, the shape that it must have,
// and the function that converts a value of it to ours (nil: the identity).
func (k *layerKind) source(t Tensor, o ImportOptions, directions int) (name string, shape []int, value func(float64) float64) {
	var layer int
	if _, err := fmt.Sscanf(t.Name, "layers.%d.", &layer); err != nil {
		return t.Name, t.Shape, nil
	}
	own, shape := strings.SplitN(t.Name, ".", 3)[2], t.Shape
	prefix := fmt.Sprintf("s4_layers.%d.", layer)
	switch own {
	case "mix.weight":
		if k.width1 {
			shape = append(slices.Clone(shape), 1)
		}
		return prefix + "output_linear.0.weight", shape, nil
	case "mix.bias":
		return prefix + "output_linear.0.bias", shape, nil
	case "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var":
		return fmt.Sprintf("norms.%d.%s", layer, own[len("norm."):]), shape, nil
	}
	if k.full && (own == "D" || own == "C" && directions == 1 || (own == "B" || own == "P") && (k.version == 4 || k.rankOne())) {
		shape = append([]int{1}, shape...)
	}
	if k.version == 4 {
		switch own {
		case "log_dt":
			shape = append(slices.Clone(shape), 1)
			if o.Step == StepSoftplus {
				value = func(x float64) float64 { return math.Log(math.Log1p(math.Exp(-math.Abs(x))) + max(x, 0)) }
			}
		case "A_imag":
			// A is stored as its conjugate; B, P and C are not.
			value = func(x float64) float64 { return -x }
		}
	}
	return prefix + k.field(own), shape, value
}

// config derives the configuration from the shapes of the tensors.
func (k *layerKind) config(byName map[string]*pth.Tensor, o ImportOptions) (Config, error) {
	c := Default()
	c.PreNorm, c.Pool, c.Activation = o.PreNorm, cmp.Or(o.Pool, PoolMean), cmp.Or(o.Activation, ActivationGELU)
	c.SSM = ssm.Config{Init: ssm.Imported, Disc: ssm.ZOH}
	first := func(own string) string { return "s4_layers.0." + k.field(own) }
	copies, modes, directions := 0, 0, 1
	type place struct {
		size       *int
		name       string
		rank, axis int
	}
	places := []place{
		{&c.DModel, "encoder.weight", 2, 0}, {&c.DInput, "encoder.weight", 2, 1}, {&c.DOutput, "decoder.weight", 2, 0},
		{&copies, first("A_imag"), 2, 0}, {&modes, first("A_imag"), 2, 1},
	}
	if k.full {
		places = append(places, place{&directions, first("C"), 4, 0})
	}
	for _, s := range places {
		t := byName[s.name]
		if t == nil {
			return c, fmt.Errorf("tensor %q is missing: not a network of %s", s.name, k.name)
		}
		if len(t.Shape) != s.rank {
			return c, fmt.Errorf("tensor %q: shape %v, expected %d dimensions", s.name, t.Shape, s.rank)
		}
		*s.size = t.Shape[s.axis]
	}
	c.SSM.DState = 2 * modes
	if mix := byName["s4_layers.0.output_linear.0.weight"]; k.full && mix != nil && len(mix.Shape) > 1 && mix.Shape[0] == c.DModel {
		c.Mixing = MixingLinear
	}
	if o.Mixing != "" && o.Mixing != c.Mixing {
		return c, &ImportOptionError{"Mixing", fmt.Sprintf("%q: the tensors have the shapes of %q", o.Mixing, c.Mixing)}
	}
	if k.full {
		if directions != 1 && directions != 2 {
			return c, fmt.Errorf("tensor %q: %d channels, expected 1, or 2 of a bidirectional layer", first("C"), directions)
		}
		if copies != c.DModel {
			c.SSM.NSSM = copies
		}
		c.SSM.Disc, c.SSM.TrainB, c.SSM.Bidirectional = o.Disc, true, directions == 2
		c.SSM.LMax = max(o.Length, 0)
		switch {
		case o.Disc == DiscDSS:
			c.SSM.Layer, c.SSM.Disc, c.SSM.LKernel, c.SSM.LMax = ssm.LayerDSS, ssm.ZOH, o.Length, 0
		case k.rankOne():
			name := "s4_layers.0." + k.kernel + k.length
			t := byName[name]
			if t == nil || len(t.Data) != 1 {
				return c, fmt.Errorf("tensor %q is missing or not a single number", name)
			}
			c.SSM.Layer, c.SSM.Disc, c.SSM.TrainB, c.SSM.LKernel = ssm.LayerS4, ssm.Bilinear, false, int(t.Data[0])
			if o.Length == 0 {
				c.SSM.LMax = c.SSM.LKernel
			}
		}
	}
	if byName["norms.0.running_mean"] != nil {
		c.Norm = NormBatch
	}
	if byName["norm.weight"] != nil { // the official network has a final norm if it is pre-norm
		c.PreNorm, c.FinalNorm = true, true
	}
	c.NLayers = 1
	for ; byName[fmt.Sprintf("s4_layers.%d.%s", c.NLayers, k.d)] != nil; c.NLayers++ {
	}
	return c, c.validate()
}
