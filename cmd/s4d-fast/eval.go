package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type evalCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Task        string    `help:"Task (default: the model's): ${tasks}." placeholder:"TASK"`
	Data        string    `help:"Folder of the data set (not for delay, which generates its own)." type:"path" placeholder:"DIR"`
	Split       string    `help:"Split to evaluate: train, val, test or all." enum:"train,val,test,all" default:"val"`
	Rate        float64   `help:"Sampling rate for evaluation in Hz; the rate of the recordings must be a multiple of it (default: the model's)." placeholder:"HZ"`
	Config      string    `help:"TOML file whose [data] section overrides the data settings in the model file." type:"path" placeholder:"FILE"`
	Set         []string  `help:"Override one value, for example data.length=4000; repeatable, overrides --config." placeholder:"KEY=VALUE" sep:"none"`
	Seed        *uint64   `help:"Seed for generated data." placeholder:"N"`
	Batch       int       `help:"Batch size." default:"16"`
	Threads     int       `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`
	Predictions string    `help:"Write one JSON line per example to FILE: path or index, label, prediction and logits; for a regression, output and target." type:"path" placeholder:"FILE"`
}

func (c *evalCmd) Help() string {
	return `Examples:
  s4d-fast eval runs/fsdd/best.safetensors --data fsdd
  s4d-fast eval sc.safetensors --data speech --rate 8000 --json`
}

// evaluation is the result as JSON.
type evaluation struct {
	Task     string   `json:"task"`
	Split    string   `json:"split"`
	N        int      `json:"n"`
	Rate     float64  `json:"rate,omitempty"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	RMSE     *float64 `json:"rmse,omitempty"`
	Relative *float64 `json:"relative_mse,omitempty"` // delay: against an output of 0
	R2       *float64 `json:"r2,omitempty"`           // other regressions
	// Of predicting the mean of the training set, where the model file has it.
	BaselineRMSE *float64 `json:"baseline_rmse,omitempty"`
	Loss         float64  `json:"loss"`
}

// predictionLine is one example in the file of predictions.
type predictionLine struct {
	Path       string    `json:"path,omitempty"`
	Index      *int      `json:"index,omitempty"`
	Label      string    `json:"label,omitempty"`
	Prediction string    `json:"prediction,omitempty"`
	Logits     []float32 `json:"logits,omitempty"`
	Output     []float32 `json:"output,omitempty"` // of a regression, in the target's unit
	Target     []float32 `json:"target,omitempty"`
}

func (c *evalCmd) Run(std *streams, ctx *ctxBox) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if c.Batch < 1 {
		return usageError(fmt.Errorf("--batch %d: expected at least 1", c.Batch))
	}
	if c.Threads < 0 {
		return usageError(fmt.Errorf("--threads %d: expected at least 0", c.Threads))
	}
	cfg, err := c.config(ctx, m)
	if err != nil {
		return trainError(err)
	}
	stepScale, err := c.atRate(&cfg, m)
	if err != nil {
		return err
	}
	data, err := train.LoadData(ctx, cfg, c.Split)
	if err != nil {
		return trainError(err)
	}
	set, err := data.Split(c.Split)
	if err != nil {
		return badInput(fmt.Errorf("%w; choose another with --split: train, val, test or all", err))
	}
	opt := train.EvalOptions{Info: data.Info, Batch: c.Batch, Workers: c.Threads, StepScale: stepScale, Context: ctx}
	r, err := c.evaluate(m, set, opt)
	if err != nil {
		return trainError(err)
	}
	return c.print(std, m, data.Info, r)
}

// config resolves the data settings. Later sources override earlier ones: the task's preset, the
// model file, --config, --set, flags.
func (c *evalCmd) config(ctx context.Context, m *model.Model) (train.Config, error) {
	task := cmp.Or(c.Task, m.Meta.Task)
	if task == "" {
		return train.Config{}, usageError(errors.New("the model file states no task; set --task"))
	}
	cfg, err := train.ModelConfig(m, task)
	if err != nil {
		return cfg, err
	}
	text, err := readConfig(ctx, c.Config)
	if err != nil {
		return cfg, err
	}
	if err := override(&cfg, text, c.Config, c.Set, c.Data, c.Seed); err != nil {
		return cfg, err
	}
	if cfg.Task != task {
		return cfg, usageError(fmt.Errorf("task %q: %s is for task %q", task, c.Config, cfg.Task))
	}
	return cfg, checkData(cfg, c.Data)
}

// maxStepScale limits how many samples of the model's rate one sample stands for.
const maxStepScale = 64

// atRate sets the data's decimation so that the samples come at --rate, or at the model's rate
// without the flag. It returns how many samples of the model's rate one of them stands for.
func (c *evalCmd) atRate(cfg *train.Config, m *model.Model) (stepScale float64, err error) {
	modelRate, recordedRate := m.Meta.SampleRate, dataset.RecordedRate(cfg.Task)
	if modelRate == 0 || recordedRate == 0 {
		if c.Rate != 0 {
			return 0, badInput(fmt.Errorf("--rate %g: %s states no sampling rate", c.Rate, c.Model))
		}
		return 1, nil
	}
	rate := cmp.Or(c.Rate, modelRate)
	if least := modelRate / maxStepScale; rate < least {
		return 0, usageError(fmt.Errorf("--rate %g: expected at least %g Hz, a %dth of the model's rate", rate, least, maxStepScale))
	}
	decimate := math.Round(recordedRate / rate)
	if !(decimate >= 1) || math.Abs(decimate*rate-recordedRate) > 1e-6*recordedRate {
		return 0, usageError(fmt.Errorf("rate %g Hz: task %q is recorded at %g Hz, expected that divided by a whole number", rate, cfg.Task, recordedRate))
	}
	if decimate > 1 || c.Rate != 0 {
		cfg.Data.Decimate = int(decimate)
	}
	return modelRate / rate, nil
}

// evaluate runs the model and writes the predictions.
func (c *evalCmd) evaluate(m *model.Model, set dataset.Set, opt train.EvalOptions) (train.Result, error) {
	if c.Predictions == "" {
		return train.Evaluate(m, set, opt)
	}
	var r train.Result
	err := atomicfile.Write(c.Predictions, 0o666, func(w io.Writer) (err error) {
		lines := json.NewEncoder(w)
		opt.Each = func(p train.Prediction) error { return lines.Encode(predictionOf(p, opt.Info)) }
		r, err = train.Evaluate(m, set, opt)
		return err
	})
	return r, err
}

func predictionOf(p train.Prediction, info dataset.Info) predictionLine {
	line := predictionLine{Path: p.Path}
	if p.Path == "" {
		line.Index = &p.Index
	}
	if info.Regression {
		line.Output, line.Target = p.Logits, p.Target
	} else {
		line.Logits, line.Label, line.Prediction = p.Logits, info.Labels[p.Label], info.Labels[p.Class]
	}
	return line
}

func (c *evalCmd) print(std *streams, m *model.Model, info dataset.Info, r train.Result) error {
	e := evaluation{Task: info.Task, Split: c.Split, N: r.N, Rate: info.SampleRate, Loss: r.Loss}
	baseline := ""
	switch {
	case !info.Regression:
		e.Accuracy = &r.Accuracy
	case info.PerPosition:
		e.RMSE, e.Relative = &r.RMSE, train.Finite(r.RelativeMSE)
	default:
		e.RMSE, e.R2 = &r.RMSE, train.Finite(r.R2)
		if len(m.Meta.TargetMean) > 0 {
			e.BaselineRMSE, baseline = &r.BaselineRMSE, fmt.Sprintf(" (predicting the training set's mean: RMSE %.4g)", r.BaselineRMSE)
		}
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(e)
	}
	_, err := fmt.Fprintf(std.out, "%s, %s: %d examples, %s%s, loss %.4g\n", e.Task, e.Split, e.N, r.Describe(info), baseline, r.Loss)
	return err
}
