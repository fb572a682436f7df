package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
)

type convertCmd struct {
	In      string    `arg:"" help:"PyTorch checkpoint (.pth, .pt) of a network of minimal S4D layers (state-spaces/s4: s4d.py in example.py)." type:"path"`
	Out     string    `arg:"" help:"Model file to write (.safetensors)." type:"path"`
	PreNorm bool      `name:"prenorm" help:"The network normalises before each block (the file cannot tell)."`
	Labels  []string  `help:"Names of the classes, in order, separated by commas."`
	Task    string    `help:"Task that the network was trained on."`
	Mean    []float32 `help:"Per-channel mean of the input, separated by commas."`
	Std     []float32 `help:"Per-channel standard deviation of the input, separated by commas."`
	Rate    float64   `help:"Sampling rate of the input in Hz." placeholder:"HZ"`
}

func (c *convertCmd) Help() string {
	return `Example:
  s4d-fast convert ckpt.pth cifar10.safetensors --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010`
}

func (c *convertCmd) Run(std *streams) error {
	if !strings.HasSuffix(c.Out, ".safetensors") {
		return usageError(fmt.Errorf("output %q: want a name that ends in .safetensors", c.Out))
	}
	if len(c.Mean) != len(c.Std) {
		return usageError(errors.New("--mean and --std go together, one value per input channel each"))
	}
	m, err := model.ImportPyTorch(c.In, model.ImportOptions{PreNorm: c.PreNorm})
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
	fmt.Fprintf(std.err, "wrote %s: %d layers, d_model %d, d_state %d, %d parameters\n",
		c.Out, m.Config.NLayers, m.Config.DModel, m.Config.SSM.DState, m.Config.CountParams())
	return nil
}
