package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type convertCmd struct {
	To      string    `help:"What to write: safetensors (a model file), or pytorch, a checkpoint that state-spaces/s4's example.py loads, from a model file." enum:"safetensors,pytorch" default:"safetensors"`
	In      string    `arg:"" help:"PyTorch checkpoint (.pth, .pt) of the network of state-spaces/s4's example.py, with minimal S4D layers (s4d.py) or full S4 layers, versions 3 and 4." type:"path"`
	Out     string    `arg:"" help:"Model file to write (.safetensors), or checkpoint (.pth, .pt)." type:"path"`
	PreNorm bool      `name:"prenorm" help:"The network normalises before each block (the file cannot tell)."`
	Disc    string    `help:"Full layers: the discretisation, zoh or bilinear (the file cannot tell)." placeholder:"NAME"`
	Step    string    `help:"Full layers of version 4: how the step is stored, exp or softplus (the file cannot tell; softplus in the official configurations)." placeholder:"NAME"`
	Labels  []string  `help:"Names of the classes, in order, separated by commas."`
	Task    string    `help:"Task that the network was trained on."`
	Mean    []float32 `help:"Per-channel mean of the input, separated by commas."`
	Std     []float32 `help:"Per-channel standard deviation of the input, separated by commas."`
	Rate    float64   `help:"Sampling rate of the input in Hz." placeholder:"HZ"`
}

func (c *convertCmd) Help() string {
	return `Prints what became of each tensor.

Examples:
  s4d-fast convert ckpt.pth cifar10.safetensors --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010
  s4d-fast convert v4.ckpt model.safetensors --disc zoh --step softplus
  s4d-fast convert runs/fsdd/best.safetensors digits.pth --to pytorch`
}

func (c *convertCmd) Run(std *streams) error {
	if c.To == "pytorch" {
		return c.export(std)
	}
	if !strings.HasSuffix(c.Out, ".safetensors") {
		return usageError(fmt.Errorf("output %q: want a name that ends in .safetensors", c.Out))
	}
	if len(c.Mean) != len(c.Std) {
		return usageError(errors.New("--mean and --std go together, one value per input channel each"))
	}
	moves := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	m, err := model.ImportPyTorch(c.In, model.ImportOptions{
		PreNorm: c.PreNorm, Disc: ssm.Disc(c.Disc), Step: c.Step,
		Moved: func(theirs, ours string) { fmt.Fprintf(moves, "%s\t%s\n", theirs, cmp.Or(ours, "(not used)")) },
	})
	if errors.Is(err, model.ErrImportOption) {
		return usageError(err)
	}
	if err != nil {
		return badInput(err)
	}
	if len(c.Mean) > 0 && len(c.Mean) != m.Config.DInput {
		return usageError(fmt.Errorf("--mean has %d values; the network has %d input channels", len(c.Mean), m.Config.DInput))
	}
	if len(c.Labels) > 0 && len(c.Labels) != m.Config.DOutput {
		return usageError(fmt.Errorf("--labels names %d classes; the network has %d outputs", len(c.Labels), m.Config.DOutput))
	}
	m.Meta = model.Meta{Task: c.Task, Labels: c.Labels, SampleRate: c.Rate, InputMean: c.Mean, InputStd: c.Std}
	if err := m.Save(c.Out); err != nil {
		return err
	}
	if err := moves.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d layers, d_model %d, d_state %d, %d parameters\n",
		c.Out, m.Config.NLayers, m.Config.DModel, m.Config.SSM.DState, m.Config.CountParams())
	return nil
}

// export writes a model file's network as a checkpoint.
func (c *convertCmd) export(std *streams) error {
	if !strings.HasSuffix(c.Out, ".pth") && !strings.HasSuffix(c.Out, ".pt") {
		return usageError(fmt.Errorf("output %q: want a name that ends in .pth or .pt", c.Out))
	}
	if c.PreNorm || c.Disc != "" || c.Step != "" || c.Task != "" || c.Labels != nil || c.Mean != nil || c.Std != nil || c.Rate != 0 {
		return usageError(errors.New("--to pytorch takes no other option: the model file says everything"))
	}
	m, err := model.Load(c.In)
	if err != nil {
		return badInput(err)
	}
	if err := m.ExportPyTorch(c.Out); err != nil {
		return badInput(err)
	}
	fmt.Fprintln(std.err, "wrote", c.Out)
	for ch := range m.Meta.InputMean {
		fmt.Fprintf(std.out, "input %d: subtract %g, divide by %g\n", ch, m.Meta.InputMean[ch], m.Meta.InputStd[ch])
	}
	if m.Config.PreNorm {
		fmt.Fprintln(std.out, "the network normalises before each block: prenorm=True")
	}
	return nil
}
