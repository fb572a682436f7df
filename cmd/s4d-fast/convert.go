package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type convertCmd struct {
	In      modelFile `arg:"" help:"Input: a PyTorch checkpoint (.pth, .pt, .ckpt) of the network in example.py of state-spaces/s4, with minimal S4D layers or full S4 layers (versions 3 and 4). Lightning checkpoints of the official trainer are also accepted. Or a model file (.safetensors) or built-in model (${models})."`
	Out     string    `arg:"" help:"Output. NAME.safetensors: a model file. NAME.pth or NAME.pt: a checkpoint of the model for example.py of state-spaces/s4, with minimal S4D layers (S4 as full layers of version 4; S5 and LRU layers are not supported)." type:"path"`
	PreNorm bool      `name:"prenorm" help:"The network is pre-norm (the checkpoint does not store this; default: post-norm)."`
	Disc    string    `help:"Discretisation of full layers: zoh, bilinear, or dss for DSS layers. Required, because the checkpoint does not store it. Only low-rank kernels (S4) do not require it; they are bilinear." placeholder:"NAME"`
	Length  int       `help:"With --disc dss: samples in a training sequence, or l_max. Required, because the normaliser of DSS depends on it." placeholder:"N"`
	Step    string    `help:"Form in which full layers of version 4 store the step: exp or softplus. Required for them; the official configurations use softplus." placeholder:"NAME"`
	Labels  []string  `help:"Names of the classes, in order, separated by commas."`
	Task    string    `help:"Task that the network was trained on: ${tasks}." placeholder:"TASK"`
	Mean    []float32 `help:"Mean of each input channel, separated by commas."`
	Std     []float32 `help:"Standard deviation of each input channel, separated by commas."`
	Rate    float64   `help:"Sampling rate of the input in Hz." placeholder:"HZ"`
}

func (c *convertCmd) Help() string {
	return `Prints how each tensor was converted. If the output is a checkpoint, prints the settings that it cannot store, as flags
for converting back.

Examples:
  s4d-fast convert ckpt.pth cifar10.safetensors --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010
  s4d-fast convert v4.ckpt model.safetensors --disc zoh --step softplus
  s4d-fast convert digits digits.pth`
}

func (c *convertCmd) Run(std *streams, ctx *ctxBox) error {
	if err := checkOut(c.Out); err != nil {
		return err
	}
	switch filepath.Ext(c.Out) {
	case ".pth", ".pt":
		return c.export(ctx, std)
	case ".safetensors":
	default:
		return usageError(fmt.Errorf("output %q: expected a name that ends in .safetensors, .pth or .pt", c.Out))
	}
	if c.Task != "" && !slices.Contains(task.Names(), c.Task) {
		return usageError(fmt.Errorf("--task %q: expected one of %s%s", c.Task, taskNames(), suggest.Hint(c.Task, task.Names())))
	}
	moves := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	m, err := model.ImportPyTorch(string(c.In), model.ImportOptions{
		PreNorm: c.PreNorm, Disc: ssm.Disc(c.Disc), Step: c.Step, Length: c.Length,
		Moved: func(theirs, ours string) {
			fmt.Fprintf(moves, "%s\t%s\n", printable(theirs, ""), cmp.Or(ours, "(not used)"))
		},
	})
	if err != nil {
		return c.importError(err)
	}
	m.Meta = model.Meta{Task: c.Task, Labels: c.Labels, SampleRate: c.Rate, InputMean: c.Mean, InputStd: c.Std}
	if err := m.Meta.Validate(m.Config); err != nil {
		return usageError(err)
	}
	if err := m.Save(c.Out); err != nil {
		return err
	}
	if err := moves.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d layers, d_model %d, d_state %d, %d parameters\n",
		c.Out, m.Config.NLayers, m.Config.DModel, m.Config.SSM.DState, m.Config.CountParams())
	if !c.PreNorm {
		fmt.Fprintln(std.err, "assumed, because the checkpoint does not store it: the network is post-norm (if it is pre-norm: --prenorm)")
	}
	if len(c.Mean) == 0 {
		fmt.Fprintln(std.err, "assumed, because the checkpoint does not store it: the input is not normalised (if it is: --mean and --std)")
	}
	return nil
}

// importError names the flag that is missing or invalid, or the kind of the input.
func (c *convertCmd) importError(err error) error {
	var option *model.ImportOptionError
	switch {
	case errors.As(err, &option):
		return usageError(fmt.Errorf("--%s: %s", strings.ToLower(option.Option), option.Problem))
	case errors.Is(err, model.ErrSafetensors), pretrained.Has(string(c.In)) && errors.Is(err, fs.ErrNotExist):
		return badInput(fmt.Errorf("%w; a model is converted to a checkpoint: name an output that ends in .pth", err))
	}
	return badInput(err)
}

// checkOut returns an error if an output cannot be written, for example because its folder does not
// exist. It is called before any work is done.
func checkOut(path string) error {
	if err := atomicfile.Check(path); err != nil {
		return fmt.Errorf("output %w", err)
	}
	return nil
}
