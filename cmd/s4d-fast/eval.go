package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type evalCmd struct {
	Model       modelFile `arg:"" help:"Model file (.safetensors) or built-in model (${models})."`
	Task        string    `help:"Task (default: the model's): ${tasks}." placeholder:"TASK"`
	Data        string    `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Split       string    `help:"Split to evaluate: train, val, test or all." enum:"train,val,test,all" default:"val" placeholder:"SPLIT"`
	Rate        float64   `help:"Sampling rate for evaluation in Hz (default: the model's). If the rate of the recordings is a multiple of it, samples are left out, as in the paper; otherwise the recordings are resampled." placeholder:"HZ"`
	Bandlimit   *float64  `help:"Silence the modes at or beyond this share of the Nyquist frequency of the data (default: the model's ssm.bandlimit; 0: none). With 1, modes that alias at a lower --rate are silent." placeholder:"SHARE"`
	RateRule    string    `help:"How the layers follow --rate: hold or decimate for discrete poles, exact or keep for S4 (default: the model's ssm.rate_rule)." placeholder:"RULE"`
	Config      string    `help:"TOML file whose [data] section overrides the data settings in the model file." type:"path" placeholder:"FILE"`
	Set         []string  `help:"Override one value, for example data.length=4000; repeatable, overrides --config." placeholder:"KEY=VALUE" sep:"none"`
	Seed        *uint64   `help:"Seed for generated data (default: that of the model's run). With --stream: seed for the order of the words, the gaps and the noise (default: 1)." placeholder:"N"`
	Batch       int       `help:"Batch size." default:"16" placeholder:"N"`
	Threads     int       `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
	JSON        bool      `name:"json" help:"Print one JSON object instead of text."`
	Stream      bool      `help:"Measure missed words and false alarms in streams instead (docs/calibrate.md)."`
	Predictions string    `help:"Write one JSON line per example to FILE: path or index, label, prediction and logits; for a regression, output and target; with a class per position, the numbers of the true classes (labels) and of the predicted ones (classes)." type:"path" placeholder:"FILE"`

	detectionFlags
}

func (c *evalCmd) Help() string {
	return `Examples:
  s4d-fast eval runs/fsdd/best.safetensors --data fsdd
  s4d-fast eval sc.safetensors --data speech --rate 8000 --json
  s4d-fast eval best.safetensors --stream --words words/ --background street/`
}

// evaluation is the result as JSON.
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

	Forecasts []forecastErrors `json:"forecasts,omitempty"` // per target
}

// forecastErrors are the errors of a network's forecasts and of naive forecasts.
type forecastErrors struct {
	Target    string           `json:"target"`
	Horizon   int              `json:"horizon"`
	Season    int              `json:"season,omitempty"`
	N         int              `json:"n"`
	Network   train.RowErrors  `json:"network"`
	Last      train.RowErrors  `json:"last_value"`
	SeasonAgo *train.RowErrors `json:"season_ago,omitempty"`
}

// predictionLine is one example in the file of predictions.
type predictionLine struct {
	Path       string    `json:"path,omitempty"`
	Index      *int      `json:"index,omitempty"`
	Label      string    `json:"label,omitempty"`
	Prediction string    `json:"prediction,omitempty"`
	Logits     []float32 `json:"logits,omitempty"`
	Output     []float32 `json:"output,omitempty"` // of a regression, in the target's unit
	Target     values    `json:"target,omitempty"`
	Labels     []int32   `json:"labels,omitempty"`  // of every position, as indices into the model's labels; −1: not scored
	Classes    []int32   `json:"classes,omitempty"` // the predicted ones
}

func (c *evalCmd) Run(std *streams, ctx *ctxBox, line *kong.Context) error {
	if err := c.checkFlags(line); err != nil {
		return usageError(err)
	}
	if c.Stream {
		return c.stream(std, ctx)
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	if c.Batch < 1 {
		return usageError(fmt.Errorf("--batch %d: expected at least 1", c.Batch))
	}
	if err := checkThreads(c.Threads); err != nil {
		return usageError(err)
	}
	if m, err = c.atOtherRates(m); err != nil {
		return usageError(err)
	}
	tk, cfg, err := c.config(ctx, m)
	if err != nil {
		return trainError(err)
	}
	if p := c.Predictions; p != "" {
		if c.Model.isFile(p) || sameFile(c.Config, p) || holdsFile(cfg.Dir(), p) {
			return usageError(fmt.Errorf("--predictions %s: the file is an input, or is in the folder of the data, and would be overwritten; name another file", p))
		}
		if err := checkOut(p); err != nil {
			return err
		}
	}
	stepScale, err := c.atRate(&cfg, tk, m)
	if err != nil {
		return trainError(err)
	}
	data, err := tk.Load(ctx, evalSource(cfg, c.Split, m))
	if err != nil {
		return trainError(err)
	}
	printNotes(std, data.Notes)
	set, err := data.Split(c.Split)
	if err != nil {
		return badInput(fmt.Errorf("%w; choose another with --split: train, val, test or all", err))
	}
	opt := train.EvalOptions{Info: data.Info, Batch: c.Batch, Workers: c.Threads, StepScale: stepScale}
	r, err := c.evaluate(ctx, m, set, opt)
	if err != nil {
		return trainError(err)
	}
	var forecasts []train.ForecastErrors
	if data.Forecasts() {
		if forecasts, err = train.CompareForecasts(ctx, m, set, opt); err != nil {
			return trainError(err)
		}
	}
	return c.print(std, tk, m, data.Info, r, forecasts)
}

// atOtherRates returns the model with the rules of --rate-rule and --bandlimit.
func (c *evalCmd) atOtherRates(m *model.Model) (*model.Model, error) {
	changed := *m
	s := &changed.Config.SSM
	if c.RateRule != "" {
		s.RateRule = ssm.RateRule(c.RateRule)
		if err := changed.Config.Validate(); err != nil {
			return nil, fmt.Errorf("--rate-rule %s: %w", c.RateRule, err)
		}
	}
	if c.Bandlimit != nil {
		s.Bandlimit = *c.Bandlimit
		if err := changed.Config.Validate(); err != nil {
			return nil, fmt.Errorf("--bandlimit %g: %w", *c.Bandlimit, err)
		}
	}
	return &changed, nil
}

// checkFlags returns an error that lists the flags on the command line that do not apply with or
// without --stream.
func (c *evalCmd) checkFlags(line *kong.Context) error {
	var list []string
	for _, p := range line.Path {
		f := p.Flag
		if f == nil || slices.Contains([]string{"level", "stream", "seed", "threads", "json"}, f.Name) {
			continue
		}
		if ofStreams := f.Group != nil && f.Group.Key == "Streams"; ofStreams != c.Stream && !slices.Contains(list, "--"+f.Name) {
			list = append(list, "--"+f.Name)
		}
	}
	switch text := strings.Join(list, ", "); {
	case len(list) == 0:
		return nil
	case c.Stream:
		return fmt.Errorf("%s: not used with --stream, which measures --words and --background", text)
	default:
		return fmt.Errorf("%s: only used with --stream", text)
	}
}

// evalSource returns the source of the data on which a model is evaluated.
func evalSource(cfg train.Config, split string, m *model.Model) task.Source {
	s := source(&streams{}, cfg, split)
	s.Model = m
	return s
}

// config resolves the data settings. Later sources override earlier ones: the task's preset, the
// model file, --config, --set, flags.
func (c *evalCmd) config(ctx context.Context, m *model.Model) (*task.Task, train.Config, error) {
	var cfg train.Config
	name := cmp.Or(c.Task, m.Meta.Task)
	if name == "" {
		return nil, cfg, usageError(errors.New("the model file states no task; set --task"))
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return nil, cfg, err
	}
	if cfg, err = tk.ForModel(m); err != nil {
		return nil, cfg, err
	}
	text, err := readConfig(ctx, c.Config)
	if err != nil {
		return nil, cfg, err
	}
	if err := override(&cfg, tk, text, c.Config, c.Set, c.Data, c.Seed); err != nil {
		return nil, cfg, err
	}
	cfg.Workers = c.Threads
	return tk, cfg, tk.Resolve(&cfg)
}

// maxStepScale is the largest ratio between the model's sampling rate and that of the data.
const maxStepScale = 64

// atRate sets the options of the data so that they have the sampling rate of --rate or, without the
// flag, that of the model. It returns the ratio of the model's rate to that rate.
func (c *evalCmd) atRate(cfg *train.Config, tk *task.Task, m *model.Model) (stepScale float64, err error) {
	rate := m.Meta.SampleRate
	switch {
	case rate == 0 && c.Rate != 0:
		return 0, badInput(fmt.Errorf("--rate %g: %s states no sampling rate", c.Rate, c.Model))
	case !tk.HasRate() && c.Rate != 0 && c.Rate != rate:
		return 0, usageError(fmt.Errorf("--rate %g: data of task %q are read at the model's rate only, %g Hz; omit --rate", c.Rate, tk.Name(), rate))
	case rate == 0 || !tk.HasRate():
		return 1, nil
	}
	if c.Rate == 0 && rate == tk.SampleRate() {
		return 1, nil
	}
	to := cmp.Or(c.Rate, rate)
	if least := rate / maxStepScale; to < least {
		return 0, usageError(fmt.Errorf("--rate %g: expected at least %g Hz, a %dth of the model's rate", to, least, maxStepScale))
	}
	if most := rate * maxStepScale; !(to <= most) {
		return 0, usageError(fmt.Errorf("--rate %g: expected at most %g Hz, %d times the model's rate", to, most, maxStepScale))
	}
	return rate / to, tk.AtRate(cfg, to)
}

// evaluate runs the model and writes the predictions.
func (c *evalCmd) evaluate(ctx context.Context, m *model.Model, set dataset.Set, opt train.EvalOptions) (train.Result, error) {
	if c.Predictions == "" {
		return train.Evaluate(ctx, m, set, opt)
	}
	var r train.Result
	err := atomicfile.Write(c.Predictions, 0o666, func(w io.Writer) (err error) {
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
		line.Output, line.Target = p.Logits, p.Target
	case info.PerPosition:
		line.Labels, line.Classes = p.Labels, p.Classes
	default:
		line.Logits, line.Label, line.Prediction = p.Logits, info.Labels[p.Label], info.Labels[p.Class]
	}
	return line
}

func (c *evalCmd) print(std *streams, tk *task.Task, m *model.Model, info dataset.Info, r train.Result, forecasts []train.ForecastErrors) error {
	e := evaluation{Task: tk.Name(), Split: c.Split, N: r.N, Rate: info.SampleRate, Loss: r.Loss}
	if info.Regression && len(m.Meta.TargetMean) == 0 && !info.PerPosition {
		r.BaselineRMSE = 0 // the training set's mean is not known
	}
	switch {
	case !info.Regression:
		e.Accuracy = &r.Accuracy
	case info.PerPosition && info.Series == nil:
		e.RMSE, e.Relative = &r.RMSE, train.Finite(r.RelativeMSE)
	default:
		e.RMSE, e.R2 = &r.RMSE, train.Finite(r.R2)
		if r.BaselineRMSE > 0 {
			e.BaselineRMSE = &r.BaselineRMSE
		}
	}
	for _, f := range forecasts {
		line := forecastErrors{Target: f.Target, Horizon: f.Horizon, Season: f.Season, N: f.N, Network: f.Network, Last: f.Last}
		if f.Season > 0 {
			line.SeasonAgo = &f.SeasonAgo
		}
		e.Forecasts = append(e.Forecasts, line)
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(e)
	}
	if _, err := fmt.Fprintf(std.out, "%s, %s: %d examples, %s, loss %.4g\n", e.Task, e.Split, e.N, tk.Summary(r), r.Loss); err != nil {
		return err
	}
	return train.WriteForecastErrors(std.out, forecasts)
}

// values are numbers. In JSON, NaN (a target that is not scored) is null.
type values []float32

func (v values) MarshalJSON() ([]byte, error) {
	list := make([]*float32, len(v))
	for i := range v {
		if v[i] == v[i] {
			list[i] = &v[i]
		}
	}
	return json.Marshal(list)
}
