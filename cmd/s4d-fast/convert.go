package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type convertCmd struct {
	In         modelFile `arg:"" help:"Input: a PyTorch checkpoint (.pth, .pt, .ckpt, or .safetensors with PyTorch's names) of the network in example.py of state-spaces/s4, with minimal S4D layers or full S4 layers (versions 3 and 4). Lightning checkpoints of the official trainer are also accepted. Or a model file (.safetensors) or built-in model (${models})."`
	Out        outFile   `arg:"" help:"Output. NAME.safetensors: a model file. NAME.pth or NAME.pt: a checkpoint of the model for example.py of state-spaces/s4, with minimal S4D layers (S4 as full layers of version 4; S5 and LRU layers are not supported)." type:"path"`
	PreNorm    *bool     `name:"prenorm" negatable:"" help:"The network is pre-norm (the checkpoint does not store this; default: post-norm)."`
	Disc       string    `help:"Discretisation of full layers: zoh, bilinear, or dss for DSS layers. Required, because the checkpoint does not store it. Only low-rank kernels (S4) do not require it; they are bilinear." placeholder:"NAME"`
	Length     *int      `help:"l_max of full layers, the samples after which kernels end; 0: they do not (default: 0; the stored l_kernel of S4). Required with --disc dss, whose normaliser depends on it: l_max, or the samples in a training sequence." placeholder:"N"`
	Step       string    `help:"Form in which full layers of version 4 store the step: exp or softplus. Required for them; the official configurations use softplus." placeholder:"NAME"`
	Activation string    `help:"Activation of the layers: gelu, gelu-tanh or none (default: gelu)." placeholder:"NAME"`
	Mixing     string    `help:"End of a block of full layers (final_act): glu, or linear for none (default: as the shapes tell; other activations are not supported)." placeholder:"NAME"`
	Pool       string    `help:"What the decoder reads: mean, last or none for every position (default: mean)." placeholder:"NAME"`
	Weights    string    `help:"Name of the weights, where the checkpoint has several, such as a moving average (default: the first that are no average)." placeholder:"NAME"`
	Labels     []string  `help:"Names of the classes, in order, separated by commas."`
	Task       string    `help:"Task that the network was trained on: ${tasks}." placeholder:"TASK"`
	Mean       []float32 `help:"Mean of each input channel, separated by commas."`
	Std        []float32 `help:"Standard deviation of each input channel, separated by commas."`
	Rate       float64   `help:"Sampling rate of the input in Hz." placeholder:"HZ"`
}

func (c *convertCmd) Help() string {
	return `Prints how each tensor was converted. If the output is a checkpoint, prints the settings that it cannot store, as flags
for converting back.

Examples:
  s4d-fast convert ckpt.pth cifar10.safetensors --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010
  s4d-fast convert v4.ckpt model.safetensors --disc zoh --step softplus
  s4d-fast convert runs/speech/best.safetensors speech.pth`
}

func (c *convertCmd) Run(std *streams, ctx context.Context) error {
	switch filepath.Ext(string(c.Out)) {
	case ".pth", ".pt":
		return c.export(ctx, std)
	case ".safetensors":
	default:
		return usageError(fmt.Errorf("output %q: expected a name that ends in .safetensors, .pth or .pt", c.Out))
	}
	if c.Task != "" && !slices.Contains(task.Names(), c.Task) {
		return usageError(fmt.Errorf("--task %q: expected one of %s%s", c.Task, strings.Join(task.Names(), ", "), suggest.Hint(c.Task, task.Names())))
	}
	moves := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	var notes, assumed []string
	note := func(text, option string) {
		switch text := fmt.Sprintf("%s (--%s)", text, strings.ToLower(option)); option {
		case "":
			fmt.Fprintln(std.err, printable(strings.TrimSuffix(text, " (--)"), ""))
		case "Weights":
			notes = append(notes, text)
		default:
			assumed = append(assumed, text)
		}
	}
	m, err := model.ImportPyTorch(string(c.In), model.ImportOptions{
		PreNorm: c.PreNorm != nil && *c.PreNorm, Disc: ssm.Disc(c.Disc), Step: c.Step, Length: c.length(),
		Activation: model.Activation(c.Activation), Mixing: model.Mixing(c.Mixing), Pool: model.Pool(c.Pool), Weights: c.Weights,
		Moved: func(theirs, ours string) {
			fmt.Fprintf(moves, "%s\t%s\n", printable(theirs, ""), cmp.Or(ours, "(not used)"))
		},
		Note: note,
	})
	if err != nil {
		return c.importError(err)
	}
	m.Meta = model.Meta{Task: c.Task, Labels: c.Labels, SampleRate: c.Rate, InputMean: c.Mean, InputStd: c.Std}
	if err := m.Meta.Validate(m.Config); err != nil {
		return usageError(err)
	}
	if c.PreNorm == nil && !m.Config.FinalNorm {
		note("post-norm", "PreNorm")
	}
	if len(c.Mean) == 0 {
		note("input not normalised", "mean, --std")
	}
	if len(assumed) > 0 {
		notes = append(notes, "assumed, because the checkpoint does not store it: "+strings.Join(assumed, "; "))
	}
	if err := std.note(notes...); err != nil {
		return err
	}
	if err := m.Save(string(c.Out)); err != nil {
		return err
	}
	if err := moves.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s: %d layers, d_model %d, d_state %d, %d parameters\n",
		c.Out, m.Config.NLayers, m.Config.DModel, m.Config.SSM.DState, m.Config.CountParams())
	return nil
}

// length returns --length as a field of model.ImportOptions.
func (c *convertCmd) length() int {
	switch {
	case c.Length == nil:
		return 0
	case *c.Length == 0:
		return model.WholeKernel
	}
	return *c.Length
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
