package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/train"
)

type pruneCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Out    string    `arg:"" help:"Model file to write (.safetensors)." type:"path"`
	Keep   float64   `help:"Share of the modes of every SSM to keep, above 0 and up to 1. Keeps those with the largest LAST scores (see inspect --scores)." required:"" placeholder:"SHARE"`
	Global bool      `help:"Keep that share of the modes of the whole network, as LAST does, with different numbers per SSM. Modes beyond them have the weight 0; all SSMs have as many as the one that keeps most."`
	Data   string    `help:"Folder or file of the data of the model's task: evaluate both models on the validation split." type:"path" placeholder:"DIR"`
	JSON   bool      `name:"json" help:"Print one JSON object instead of text."`
}

func (c *pruneCmd) Help() string {
	return `The model is not retrained. The streaming time is measured on one core, with blocks of 64 samples. eval measures the
accuracy on other data than --data.

Examples:
  s4d-fast prune runs/fsdd/best.safetensors half.safetensors --keep 0.5 --data fsdd
  s4d-fast prune digits small.safetensors --keep 0.3 --global`
}

// pruning is the result of prune. Pairs are the model before and after.
type pruning struct {
	Modes      [2]int      `json:"modes"`                  // per SSM
	Remaining  *[2]int     `json:"modes_in_all,omitempty"` // with a weight, with --global
	Parameters [2]int      `json:"parameters"`
	Microsecs  *[2]float64 `json:"stream_us_per_sample,omitempty"` // of models that can stream
	Split      string      `json:"split,omitempty"`
	N          int         `json:"n,omitempty"`
	Accuracy   *[2]float64 `json:"accuracy,omitempty"` // of a classification
	RMSE       *[2]float64 `json:"rmse,omitempty"`     // of a regression
}

func (c *pruneCmd) Run(std *streams, ctx *ctxBox) error {
	if !strings.HasSuffix(c.Out, ".safetensors") {
		return usageError(fmt.Errorf("output %q: expected a name that ends in .safetensors", c.Out))
	}
	if c.Model.isFile(c.Out) {
		return usageError(fmt.Errorf("output %q is the model itself, whose other modes would be lost; name another file", c.Out))
	}
	if err := checkOut(c.Out); err != nil {
		return err
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	var p pruning
	var small *model.Model
	if c.Global {
		ssms := m.Config.DModel // per layer
		if m.Config.SSM.MIMO() {
			ssms = 1
		}
		p.Remaining = &[2]int{m.Config.CountSSM() * ssms * m.Config.SSM.Modes()}
		small, p.Remaining[1], err = m.PruneGlobal(c.Keep)
	} else {
		small, err = m.Prune(c.Keep)
	}
	if err != nil {
		return usageError(err)
	}
	p.Modes = [2]int{m.Config.SSM.Modes(), small.Config.SSM.Modes()}
	p.Parameters = [2]int{m.Config.CountParams(), small.Config.CountParams()}
	if c.Data != "" {
		if err := c.evaluate(std, ctx, &p, m, small); err != nil {
			return trainError(err)
		}
	}
	p.Microsecs = streamTimes(m, small)
	if err := small.Save(c.Out); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.Out)
	if small.Meta.Detection != nil {
		fmt.Fprintln(std.err, "the operating point was chosen before pruning, and its error rates are unknown; run s4d-fast calibrate again")
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(p)
	}
	return p.print(std.out)
}

// streamTimes returns the microseconds per sample of both models' streams, measured alternately;
// nil if they cannot stream.
func streamTimes(models ...*model.Model) *[2]float64 {
	const block, rounds, calls = 64, 9, 20
	var streams [2]*recurrent.Stream
	for i, m := range models {
		net, err := recurrent.New(m, recurrent.Options{})
		if err != nil {
			return nil // bidirectional, or with truncated kernels
		}
		streams[i] = net.NewStream()
	}
	cfg := models[0].Config
	x, ids := make([]float32, cfg.DInput*block), make([]int32, block)
	for i := range x {
		x[i] = float32(i%13) - 6
	}
	var times [2][]float64
	for range rounds {
		for i, s := range streams {
			begin := time.Now()
			for range calls {
				if cfg.Encoder == model.EncoderEmbedding {
					s.ProcessTokens(ids) // zeros: no error
				} else {
					s.Process(x, block)
				}
			}
			times[i] = append(times[i], time.Since(begin).Seconds()*1e6/(block*calls))
		}
	}
	var median [2]float64
	for i := range times {
		slices.Sort(times[i])
		median[i] = times[i][rounds/2]
	}
	return &median
}

// evaluate adds the results of both models on the validation split.
func (c *pruneCmd) evaluate(std *streams, ctx *ctxBox, p *pruning, models ...*model.Model) error {
	own := evalData{Data: c.Data}
	tk, cfg, err := own.config(models[0])
	if err != nil {
		return err
	}
	p.Split = "val"
	data, stepScale, err := loadFor(ctx, std, models[0], tk, cfg, p.Split, 0)
	if err != nil {
		return err
	}
	var accuracy, rmse [2]float64
	for i, m := range models {
		r, err := train.Evaluate(ctx, m, data.Val, train.EvalOptions{Info: data.Info, Batch: evalBatch, StepScale: stepScale})
		if err != nil {
			return err
		}
		p.N, accuracy[i], rmse[i] = r.N, r.Accuracy, r.RMSE
	}
	if p.Accuracy = &accuracy; data.Info.Regression {
		p.Accuracy, p.RMSE = nil, &rmse
	}
	return nil
}

func (p pruning) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "modes per SSM     %d → %d\nparameters        %d → %d\n", p.Modes[0], p.Modes[1], p.Parameters[0], p.Parameters[1])
	if a := p.Remaining; err == nil && a != nil {
		_, err = fmt.Fprintf(w, "modes in all      %d → %d\n", a[0], a[1])
	}
	if t := p.Microsecs; err == nil && t != nil {
		_, err = fmt.Fprintf(w, "stream            %.3g → %.3g µs per sample\n", t[0], t[1])
	}
	if a := p.Accuracy; err == nil && a != nil {
		_, err = fmt.Fprintf(w, "accuracy          %.2f → %.2f %% of %d examples (%s)\n", 100*a[0], 100*a[1], p.N, p.Split)
	}
	if a := p.RMSE; err == nil && a != nil {
		_, err = fmt.Fprintf(w, "RMSE              %.4g → %.4g of %d examples (%s)\n", a[0], a[1], p.N, p.Split)
	}
	return err
}
