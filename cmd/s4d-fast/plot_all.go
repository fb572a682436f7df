package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/train"
)

type plotAllCmd struct {
	Model  modelFile `help:"Trained model: its learned poles, kernels and H∞ scores (.safetensors, or ${models})." placeholder:"MODEL"`
	Delay  []string  `help:"Run folders or models of the delay task." type:"path" placeholder:"RUN,..."`
	Sweep  []string  `help:"Folders of sweeps over one key." type:"path" placeholder:"DIR,..."`
	Task   string    `help:"Task whose data's spectrum to draw: ${tasks}." placeholder:"TASK"`
	Data   string    `help:"Folder of the task's data (delay makes its own)." type:"path" placeholder:"DIR"`
	Stride int       `help:"Mark the multiples of this many samples, such as an image's rows; 0: none." default:"32" placeholder:"N"`
	Format string    `help:"Format of the pictures: ${enum}." enum:"png,svg" default:"png"`
	Out    string    `help:"Folder to write to." required:"" type:"path" placeholder:"DIR"`
}

func (c *plotAllCmd) Help() string {
	return `Makes the pictures that the other plot commands make, those for which there is input, and says which flag the others want.

Example:
  s4d-fast plot all --out pictures --model runs/smnist/best.safetensors --task smnist --data data/mnist --stride 28 \
    --delay runs/delay --sweep runs/figure4 --format svg`
}

// wish is a picture: the plot command that makes it, and the flag without which it cannot be made.
type wish struct {
	name string
	args []string
	flag string
	ok   bool
}

func (c *plotAllCmd) wishes() []wish {
	stride := fmt.Sprint("--stride=", c.Stride)
	spectrum := wish{name: "spectrum", args: []string{"spectrum", c.Task, stride}, flag: "--task", ok: c.Task != ""}
	switch {
	case c.Data != "":
		spectrum.args = append(spectrum.args, "--data", c.Data)
	case spectrum.ok && c.Task != defaultTask:
		spectrum.flag, spectrum.ok = "--data", false
	}
	return []wish{
		{name: "poles", args: []string{"poles"}, ok: true},
		{name: "response", args: []string{"response"}, ok: true},
		{name: "learned", args: []string{"poles", string(c.Model)}, flag: "--model", ok: c.Model != ""},
		{name: "kernels", args: []string{"kernels", string(c.Model), stride}, flag: "--model", ok: c.Model != ""},
		{name: "hinf", args: []string{"hinf", string(c.Model)}, flag: "--model", ok: c.Model != ""},
		{name: "delay", args: append([]string{"delay"}, c.Delay...), flag: "--delay", ok: len(c.Delay) > 0},
		{name: "sweep", args: append([]string{"sweep"}, c.Sweep...), flag: "--sweep", ok: len(c.Sweep) > 0},
		spectrum,
	}
}

func (c *plotAllCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Task != "" {
		if _, err := train.Preset(c.Task); err != nil {
			return trainError(err)
		}
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return fmt.Errorf("--out %s: %w", c.Out, err)
	}
	for _, w := range c.wishes() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path := filepath.Join(c.Out, w.name+"."+c.Format)
		if !w.ok {
			fmt.Fprintf(std.err, "left out %s: it wants %s\n", path, w.flag)
			continue
		}
		err := plotPicture(std, ctx, append(w.args, "--out", path))
		if errors.Is(err, errNoScore) {
			fmt.Fprintf(std.err, "left out %s: %v\n", path, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check reads models and tables, so that what cannot be read is told before any picture is made.
func (c *plotAllCmd) check() error {
	if c.Model != "" {
		if _, err := c.Model.load(); err != nil {
			return badInput(err)
		}
	}
	for _, run := range c.Delay {
		if _, _, err := loadDelayModel(run); err != nil {
			return err
		}
	}
	if len(c.Sweep) > 0 {
		if _, err := sweepPanel(c.Sweep, ""); err != nil {
			return err
		}
	}
	if c.Data != "" {
		if _, err := os.Stat(c.Data); err != nil {
			return badInput(err)
		}
	}
	return nil
}

// plotPicture runs a plot command as if from the command line.
func plotPicture(std *streams, ctx *ctxBox, args []string) error {
	var c plotCmd
	parser, err := kong.New(&c, variables())
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usageError(err)
	}
	return parsed.Run(std, ctx)
}
