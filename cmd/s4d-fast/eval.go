package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type evalCmd struct {
	Model       string   `arg:"" help:"Model file (.safetensors)." type:"path"`
	Task        string   `help:"Task (default: the model's): ${tasks}." placeholder:"TASK"`
	Data        string   `help:"Folder of the data set (delay makes its own)." type:"path" placeholder:"DIR"`
	Split       string   `help:"Examples to use: ${enum}." enum:"train,val,test,all" default:"val"`
	Rate        float64  `help:"Sampling rate to evaluate at in Hz: the model's, divided by a whole number." placeholder:"HZ"`
	Set         []string `help:"Replace one value of the task's preset, for example data.length=4000." placeholder:"KEY=VALUE" sep:"none"`
	Batch       int      `help:"Examples at once." default:"16"`
	Threads     int      `help:"Worker threads (default: one per processor)." placeholder:"N"`
	JSON        bool     `name:"json" help:"Print one JSON object instead of text."`
	Predictions string   `help:"Write a JSON line for every example to FILE." type:"path" placeholder:"FILE"`
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
	Relative *float64 `json:"relative_mse,omitempty"` // of a regression, against predicting 0
	Loss     float64  `json:"loss"`
}

// predictionLine is one example in the file of predictions.
type predictionLine struct {
	Path       string    `json:"path,omitempty"`
	Index      *int      `json:"index,omitempty"`
	Label      string    `json:"label,omitempty"`
	Prediction string    `json:"prediction,omitempty"`
	Logits     []float32 `json:"logits"`
}

func (c *evalCmd) Run(std *streams, ctx *ctxBox) error {
	m, err := model.Load(c.Model)
	if err != nil {
		return badInput(err)
	}
	data, decimate, err := c.load(m)
	if err != nil {
		return err
	}
	set, err := data.Split(c.Split)
	if err != nil {
		return badInput(err)
	}
	opt := train.EvalOptions{Info: data.Info, Batch: c.Batch, Workers: c.Threads, Rate: float64(decimate), Context: ctx}
	r, err := c.evaluate(m, set, opt)
	if err != nil {
		return err
	}
	return c.print(std, data.Info, r)
}

// load reads the data at the rate asked for and returns the factor by which it was thinned out.
func (c *evalCmd) load(m *model.Model) (*dataset.Dataset, int, error) {
	task := c.Task
	if task == "" {
		task = m.Meta.Task
	}
	if task == "" {
		return nil, 0, usageError(errors.New("the model names no task: say --task"))
	}
	cfg, err := train.Preset(task)
	for _, s := range c.Set {
		if err == nil {
			err = cfg.Set(s)
		}
	}
	if err != nil {
		return nil, 0, trainError(err)
	}
	cfg.Data.Dir = c.Data
	if c.Data == "" && task != "delay" {
		return nil, 0, usageError(fmt.Errorf("task %q needs --data: the folder of its data set", task))
	}
	decimate, err := c.decimation(m)
	if err != nil {
		return nil, 0, err
	}
	if decimate > 1 {
		cfg.Data.Decimate = decimate
	}
	data, err := train.LoadData(cfg)
	return data, decimate, trainError(err)
}

func (c *evalCmd) decimation(m *model.Model) (int, error) {
	if c.Rate == 0 {
		return 1, nil
	}
	if m.Meta.SampleRate == 0 {
		return 0, badInput(fmt.Errorf("%s states no sample rate, so --rate cannot be related to it", c.Model))
	}
	factor := math.Round(m.Meta.SampleRate / c.Rate)
	if factor < 1 || math.Abs(factor*c.Rate-m.Meta.SampleRate) > 1e-6*m.Meta.SampleRate {
		return 0, usageError(fmt.Errorf("--rate %g: want the model's %g Hz divided by a whole number", c.Rate, m.Meta.SampleRate))
	}
	return int(factor), nil
}

// evaluate runs the model and writes the predictions, by way of a temporary name.
func (c *evalCmd) evaluate(m *model.Model, set dataset.Set, opt train.EvalOptions) (train.Result, error) {
	if c.Predictions == "" {
		return train.Evaluate(m, set, opt)
	}
	f, err := os.CreateTemp(filepath.Dir(c.Predictions), filepath.Base(c.Predictions)+".*.tmp")
	if err != nil {
		return train.Result{}, err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	defer f.Close()
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	opt.Each = func(p train.Prediction) error { return lines.Encode(predictionOf(p, opt.Info)) }
	r, err := train.Evaluate(m, set, opt)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), c.Predictions)
	}
	return r, err
}

func predictionOf(p train.Prediction, info dataset.Info) predictionLine {
	line := predictionLine{Path: p.Path, Logits: p.Logits}
	if p.Path == "" {
		line.Index = &p.Index
	}
	if !info.Regression {
		line.Label, line.Prediction = info.Labels[p.Label], info.Labels[p.Answer]
	}
	return line
}

func (c *evalCmd) print(std *streams, info dataset.Info, r train.Result) error {
	e := evaluation{Task: info.Task, Split: c.Split, N: r.N, Rate: info.SampleRate, Loss: r.Loss}
	if info.Regression {
		e.RMSE, e.Relative = &r.RMSE, &r.RelativeMSE
	} else {
		e.Accuracy = &r.Accuracy
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(e)
	}
	if info.Regression {
		fmt.Fprintf(std.out, "%s, %s: %d examples, RMSE %.4g, %.3g %% of the power wrong\n", e.Task, e.Split, e.N, r.RMSE, 100*r.RelativeMSE)
		return nil
	}
	fmt.Fprintf(std.out, "%s, %s: %d examples, %.2f %% right, loss %.4f\n", e.Task, e.Split, e.N, 100*r.Accuracy, r.Loss)
	return nil
}
