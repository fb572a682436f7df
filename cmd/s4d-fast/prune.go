package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

type pruneCmd struct {
	Model modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Out   outFile   `arg:"" help:"Model file to write (.safetensors)." type:"path"`
	Keep  float64   `help:"Share of the modes of every SSM to keep, above 0 and up to 1. Removes those without which the output of the SSM changes least." required:"" placeholder:"SHARE"`
	Data  string    `help:"Folder or file of the data of the model's task: evaluate both models on the validation split." type:"path" placeholder:"DIR"`
}

func (c *pruneCmd) Help() string {
	return `The model is not retrained. eval measures the accuracy on other data than --data.

Example:
  s4d-fast prune runs/fsdd/best.safetensors half.safetensors --keep 0.5 --data fsdd`
}

func (c *pruneCmd) Run(std *streams, ctx context.Context) error {
	if !strings.HasSuffix(string(c.Out), ".safetensors") {
		return usageError(fmt.Errorf("output %q: expected a name that ends in .safetensors", c.Out))
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	small, lost, err := m.Prune(c.Keep) // pairs in the output are the model before and after
	if err != nil {
		return usageError(err)
	}
	fmt.Fprintf(std.out, "modes per SSM     %d → %d\n", m.Config.SSM.Modes(), small.Config.SSM.Modes())
	fmt.Fprintf(std.out, "parameters        %d → %d\n", m.Config.CountParams(), small.Config.CountParams())
	fmt.Fprintf(std.out, "outputs of SSMs   change by %.3g %%\n", 100*math.Sqrt(lost))
	if c.Data != "" {
		if err := c.evaluate(std, ctx, m, small); err != nil {
			return err
		}
	}
	if err := small.Save(string(c.Out)); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.Out)
	if small.Meta.Detection != nil {
		fmt.Fprintln(std.err, "the operating point was chosen before pruning, and its error rates are unknown; run s4d-fast calibrate again")
	}
	return nil
}

// evaluate prints the results of both models on the validation split.
func (c *pruneCmd) evaluate(std *streams, ctx context.Context, models ...*model.Model) error {
	tk, cfg, err := evalConfig(models[0], "", nil, c.Data)
	if err != nil {
		return err
	}
	data, stepScale, err := loadFor(ctx, std, models[0], tk, cfg, "val", 0)
	if err != nil {
		return err
	}
	var r [2]train.Result
	for i, m := range models {
		if r[i], err = train.Evaluate(ctx, m, data.Val, train.EvalOptions{Info: data.Info, Batch: evalBatch, StepScale: stepScale}); err != nil {
			return err
		}
	}
	if data.Info.Regression {
		fmt.Fprintf(std.out, "RMSE              %.4g → %.4g of %d examples (val)\n", r[0].RMSE, r[1].RMSE, r[0].N)
	} else {
		fmt.Fprintf(std.out, "accuracy          %.2f → %.2f %% of %d examples (val)\n", 100*r[0].Accuracy, 100*r[1].Accuracy, r[0].N)
	}
	return nil
}
