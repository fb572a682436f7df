package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type evalCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Split       string    `help:"Split to evaluate: train, val, test or all." enum:"train,val,test,all" default:"val" placeholder:"SPLIT"`
	Rate        float64   `help:"Sampling rate for evaluation in Hz (default: the model's). If the rate of the recordings is a multiple of it, samples are left out, as in the paper; otherwise the recordings are resampled." placeholder:"HZ"`
	Bandlimit   *float64  `help:"Silence the modes at or beyond this share of the Nyquist frequency of the data (default: 0, none). With 1, modes that alias at a lower --rate are silent." placeholder:"SHARE"`
	RateRule    string    `help:"How C̃ of S4 follows --rate: exact or keep (default: exact)." placeholder:"RULE"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`
	Predictions outFile   `help:"Write one JSON line per example to FILE: path or index, label, prediction and logits; for a regression, output and target; with a class per position, the numbers of the true classes (labels) and of the predicted ones (classes)." type:"path" placeholder:"FILE"`
	Task        string    `help:"Task (default: the model's): ${tasks}." placeholder:"TASK"`
	Data        string    `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Set         []string  `help:"Override one value of the data settings in the model file, for example data.length=4000, or set seed or threads; repeatable." placeholder:"KEY=VALUE" sep:"none"`
}

func (c *evalCmd) Help() string {
	return `Examples:
  s4d-fast eval runs/fsdd/best.safetensors --data fsdd
  s4d-fast eval sc.safetensors --data speech --rate 8000 --json`
}

type evaluation struct {
	Task     string   `json:"task"`
	Split    string   `json:"split"`
	N        int      `json:"n"`
	Rate     float64  `json:"rate,omitempty"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	RMSE     *float64 `json:"rmse,omitempty"`
	Relative *float64 `json:"relative_mse,omitempty"` // every position: against an output of 0
	R2       *float64 `json:"r2,omitempty"`           // other regressions
	// Of predicting the mean of the training set, where the model file has it.
	BaselineRMSE *float64 `json:"baseline_rmse,omitempty"`
	Loss         float64  `json:"loss"`

	Forecasts []train.ForecastErrors `json:"forecasts,omitempty"` // per target
}

// predictionLine is one example in the file of predictions.
type predictionLine struct {
	Path       string          `json:"path,omitempty"`
	Index      *int            `json:"index,omitempty"`
	Label      string          `json:"label,omitempty"`
	Prediction string          `json:"prediction,omitempty"`
	Logits     []float32       `json:"logits,omitempty"`
	Output     []float32       `json:"output,omitempty"`  // of a regression, in the target's unit
	Target     []report.Number `json:"target,omitempty"`  // null: not scored
	Labels     []int32         `json:"labels,omitempty"`  // of every position, as indices into the model's labels; −1: not scored
	Classes    []int32         `json:"classes,omitempty"` // the predicted ones
}

func (c *evalCmd) Run(std *streams, ctx context.Context) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if m, err = c.atOtherRates(m); err != nil {
		return usageError(err)
	}
	tk, cfg, err := evalConfig(m, c.Task, c.Set, c.Data)
	if err != nil {
		return err
	}
	data, stepScale, err := loadFor(ctx, std, m, tk, cfg, c.Split, c.Rate)
	if err != nil {
		return err
	}
	set, err := data.Split(c.Split)
	if err != nil {
		return badInput(fmt.Errorf("%w; choose another with --split: train, val, test or all", err))
	}
	opt := train.EvalOptions{Info: data.Info, Batch: evalBatch, Workers: cfg.Workers, StepScale: stepScale}
	r, err := c.evaluate(ctx, m, set, opt)
	if err != nil {
		return err
	}
	var forecasts []train.ForecastErrors
	if data.Forecasts() {
		if forecasts, err = train.CompareForecasts(ctx, m, set, opt); err != nil {
			return err
		}
	}
	if err := c.print(std, tk, m, data.Info, r, forecasts); err != nil || c.JSON || c.Split != "val" {
		return err
	}
	clips, err := tk.Confusion(ctx, m, data, cfg.Workers)
	if clips != nil {
		printConfusion(std.out, clips)
	}
	return err
}

// atOtherRates returns the model with the rules of --rate-rule and --bandlimit.
func (c *evalCmd) atOtherRates(m *model.Model) (*model.Model, error) {
	changed := *m
	s := &changed.Config.SSM
	s.RateRule = cmp.Or(ssm.RateRule(c.RateRule), s.RateRule)
	s.Bandlimit = or(c.Bandlimit, s.Bandlimit)
	if err := changed.Config.Validate(); err != nil {
		return nil, fmt.Errorf("--rate-rule, --bandlimit: %w", err)
	}
	return &changed, nil
}

func (c *evalCmd) evaluate(ctx context.Context, m *model.Model, set dataset.Set, opt train.EvalOptions) (train.Result, error) {
	if c.Predictions == "" {
		return train.Evaluate(ctx, m, set, opt)
	}
	var r train.Result
	err := atomicfile.Write(string(c.Predictions), 0o666, func(w io.Writer) (err error) {
		lines := json.NewEncoder(w)
		opt.Each = func(p train.Prediction) error { return lines.Encode(predictionOf(p, opt.Info)) }
		r, err = train.Evaluate(ctx, m, set, opt)
		return err
	})
	return r, err
}

func predictionOf(p train.Prediction, info dataset.Info) predictionLine {
	line := predictionLine{Path: p.Path}
	if p.Path == "" {
		line.Index = &p.Index
	}
	switch {
	case info.Regression:
		line.Output, line.Target = p.Logits, report.Numbers(p.Target)
	case info.PerPosition:
		line.Labels, line.Classes = p.Labels, p.Classes
	default:
		line.Logits, line.Label, line.Prediction = p.Logits, info.Labels[p.Label], info.Labels[p.Class]
	}
	return line
}

func (c *evalCmd) print(std *streams, tk *task.Task, m *model.Model, info dataset.Info, r train.Result, forecasts []train.ForecastErrors) error {
	if info.Regression && len(m.Meta.TargetMean) == 0 && !info.PerPosition {
		r.BaselineRMSE = 0 // the training set's mean is not known
	}
	v := r.Metrics()
	e := evaluation{
		Task: tk.Name(), Split: c.Split, N: r.N, Rate: info.SampleRate, Loss: r.Loss, Forecasts: forecasts,
		Accuracy: v.ValAccuracy, RMSE: v.ValRMSE, Relative: v.RelativeMSE, R2: v.ValR2,
	}
	if r.BaselineRMSE > 0 {
		e.BaselineRMSE = v.BaselineRMSE
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(e)
	}
	if _, err := fmt.Fprintf(std.out, "%s, %s: %d examples, %s, loss %.4g\n", e.Task, e.Split, e.N, tk.Summary(r.Metrics()), r.Loss); err != nil {
		return err
	}
	return train.WriteForecastErrors(std.out, forecasts)
}
