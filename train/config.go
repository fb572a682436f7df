package train

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ErrConfig marks errors of the configuration, such as an unknown key, a value out of range or a
// run folder in use.
var ErrConfig = errors.New("invalid configuration")

// Config is the configuration of a run. Configuration files, presets and config.toml in a run
// folder are its TOML form.
type Config struct {
	Task    string `toml:"task"`
	Seed    uint64 `toml:"seed"`    // of initial weights, shuffling, dropout and generated data; below 2^63
	Workers int    `toml:"threads"` // 0: one per processor
	Level   string `toml:"level"`   // kernel level that the run used: New records it

	Data   DataConfig   `toml:"data"`
	Model  model.Config `toml:"model"` // "" and 0: encoder, d_input and d_output of the data
	SSM    ssm.Config   `toml:"ssm"`
	Ablate AblateConfig `toml:"ablate"`
	Optim  OptimConfig  `toml:"optim"`
	Train  LoopConfig   `toml:"train"`

	Out          string                `toml:"-"` // run folder; "" is runs/TASK or the next free number
	Resume       bool                  `toml:"-"` // resume the run in Out
	LoadProgress func(done, total int) `toml:"-"` // called with the number of recordings read; may be nil
}

// DataConfig selects the data. 0 is the default of the task; a value that the task does not use is
// an error.
type DataConfig struct {
	Dir       string `toml:"dir"`        // folder of the data set
	Length    int    `toml:"length"`     // delay: samples per sequence
	Delay     int    `toml:"delay"`      // delay: samples between input and target
	TrainSize int    `toml:"train_size"` // delay: training sequences per epoch
	EvalSize  int    `toml:"eval_size"`  // delay: validation sequences
	MaxLen    int    `toml:"max_len"`    // longer clips are truncated to this many samples
	Decimate  int    `toml:"decimate"`   // keep every n-th sample
}

// AblateConfig removes parts of the network to measure their contribution (docs/maths.md §8).
type AblateConfig struct {
	Layers int `toml:"layers"` // number of layers, from the first, that have an SSM; 0: all
}

// OptimConfig configures AdamW with the groups of docs/maths.md §4.2 and a schedule of §4.3.
type OptimConfig struct {
	model.GroupConfig
	Schedule   string     `toml:"schedule"`
	Warmup     float64    `toml:"warmup"`     // below 1: a fraction of all steps; otherwise steps
	Milestones []int      `toml:"milestones"` // epochs of multistep
	Gamma      float64    `toml:"gamma"`      // factor at each milestone
	Betas      [2]float64 `toml:"betas"`
	Eps        float64    `toml:"eps"`
}

// LoopConfig is the budget of a run. A run may be resumed with more epochs. With the schedules
// constant and multistep the result is that of a run with this number of epochs from the start. The
// cosine schedules change with the number of epochs.
type LoopConfig struct {
	Epochs          int `toml:"epochs"` // with max_steps, the end of the cosine schedules
	Batch           int `toml:"batch"`
	EvalBatch       int `toml:"eval_batch"`       // 0: batch
	MaxSteps        int `toml:"max_steps"`        // largest number of steps; 0: no limit
	Patience        int `toml:"patience"`         // stop after this many epochs without a better one; 0: never
	CheckpointEvery int `toml:"checkpoint_every"` // steps; 0: only at the end of each epoch
}

// Default returns the default configuration (docs/configuration.md), which presets modify.
func Default() Config {
	m := model.Default()
	s := m.SSM
	s.Bidirectional = true
	m.SSM = ssm.Config{}
	m.Encoder, m.DInput, m.DOutput = "", 0, 0
	return Config{
		Model: m, SSM: s,
		Optim: OptimConfig{
			GroupConfig: model.GroupConfig{
				Recipe: model.RecipeDefault, LR: 0.01, WeightDecay: 0.05,
				SSMLR: model.FollowRule, StepLR: model.FollowRule, AngleLR: model.FollowRule,
			},
			Schedule: CosineWarmup, Warmup: 0.1, Gamma: 0.5, Betas: [2]float64{0.9, 0.999}, Eps: 1e-8,
			Milestones: []int{},
		},
		Train: LoopConfig{Epochs: 10, Batch: 16},
	}
}

// taskDelay is the task that generates its own data.
const taskDelay = "delay"

//go:embed presets/*.toml
var presets embed.FS

// Preset returns the default configuration with the values of presets/TASK.toml.
func Preset(task string) (Config, error) {
	c := Default()
	c.Task = task
	if !slices.Contains(dataset.Tasks(), task) {
		return c, configErrorf("task %q: expected one of %s%s", task, strings.Join(dataset.Tasks(), ", "), suggest.Hint(task, dataset.Tasks()))
	}
	name := "presets/" + task + ".toml"
	text, err := presets.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("train: %w", err)
	}
	return c, c.Merge(text, name)
}

// ModelConfig returns the preset of a task with the settings of the data that a model was trained
// on, if it is a model of the task and its file has them.
func ModelConfig(m *model.Model, task string) (Config, error) {
	c, err := Preset(task)
	if err != nil || task != m.Meta.Task || m.Meta.Data == nil {
		return c, err
	}
	c.Data = DataConfig{}
	for _, key := range slices.Sorted(maps.Keys(m.Meta.Data)) {
		if key != "seed" && !strings.HasPrefix(key, "data.") {
			return c, dataError{fmt.Errorf("train: the model file's data settings: key %q, expected seed or one of [data]", key)}
		}
		if err := c.Set(fmt.Sprintf("%s=%d", key, m.Meta.Data[key])); err != nil {
			return c, dataError{fmt.Errorf("train: the model file's data settings: %w", err)}
		}
	}
	return c, nil
}

// dataSettings returns what ModelConfig restores. The seed is always there: some data is made from
// it.
func (c *Config) dataSettings() map[string]int64 {
	d := c.Data
	settings := map[string]int64{
		"data.length": int64(d.Length), "data.delay": int64(d.Delay), "data.train_size": int64(d.TrainSize),
		"data.eval_size": int64(d.EvalSize), "data.max_len": int64(d.MaxLen), "data.decimate": int64(d.Decimate),
	}
	maps.DeleteFunc(settings, func(_ string, v int64) bool { return v == 0 })
	settings["seed"] = int64(c.Seed)
	return settings
}

// LoadRun returns the configuration of the run in a folder, with Resume set.
func LoadRun(dir string) (Config, error) {
	c := Default()
	if err := checkFolder(dir); err != nil {
		return c, err
	}
	path := filepath.Join(dir, configFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, configErrorf("out: %s holds no run: %s is missing", dir, configFile)
	}
	if err != nil {
		return c, fmt.Errorf("train: %w", err)
	}
	err = c.Merge(text, path)
	c.Out, c.Resume = dir, true
	if c.Task == taskDelay {
		c.Data.Dir = "" // older runs recorded a folder that they did not read
	}
	return c, err
}

// Validate returns an error for the first invalid value. New checks what depends on the data.
func (c *Config) Validate() error {
	for _, check := range []func() error{c.validateTask, c.validateOptim, c.validateSchedule, c.validateLoop} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := within([]setting{{"ablate.layers", c.Ablate.Layers, 0, c.Model.NLayers}}); err != nil {
		return err
	}
	if c.SSM.Init == ssm.Imported { // valid in a model file only
		return configErrorf("ssm.init %q: such parameters come from a file: expected one of %q", c.SSM.Init, ssm.Inits())
	}
	n := c.Network(dataset.Info{Channels: 1, Outputs: 1})
	if err := n.Validate(); err != nil {
		return configError{err}
	}
	if c.SSM.Init == ssm.LegS && c.SSM.DState > maxLegS {
		return configErrorf("ssm.d_state %d: expected at most %d with init %q", c.SSM.DState, maxLegS, ssm.LegS)
	}
	return within([]setting{{"ssm.d_state", c.SSM.DState, 2, maxStates}})
}

func (c *Config) validateTask() error {
	if !slices.Contains(dataset.Tasks(), c.Task) {
		return configErrorf("task %q: expected one of %s%s", c.Task, strings.Join(dataset.Tasks(), ", "), suggest.Hint(c.Task, dataset.Tasks()))
	}
	if c.Data.Dir == "" && c.Task != taskDelay {
		return configErrorf("task %q requires the folder of its data: --data DIR", c.Task)
	}
	if c.Seed > math.MaxInt64 {
		return configErrorf("seed %d: expected below 2^63", c.Seed)
	}
	return within([]setting{
		{"threads", c.Workers, 0, maxThreads},
		{"data.length", c.Data.Length, 0, math.MaxInt32}, {"data.delay", c.Data.Delay, 0, math.MaxInt32},
		{"data.train_size", c.Data.TrainSize, 0, maxExamples}, {"data.eval_size", c.Data.EvalSize, 0, maxExamples},
		{"data.max_len", c.Data.MaxLen, 0, math.MaxInt32}, {"data.decimate", c.Data.Decimate, 0, math.MaxInt32},
	})
}

func (c *Config) validateOptim() error {
	o := c.Optim
	for _, v := range []struct {
		key     string
		value   float64
		ok      bool
		message string
	}{
		{"betas[0]", o.Betas[0], o.Betas[0] >= 0 && o.Betas[0] < 1, "0 ≤ beta < 1"},
		{"betas[1]", o.Betas[1], o.Betas[1] >= 0 && o.Betas[1] < 1, "0 ≤ beta < 1"},
		{"eps", o.Eps, o.Eps > 0 && o.Eps < 1, "0 < eps < 1"},
	} {
		if !v.ok {
			return configErrorf("optim.%s %v: expected %s", v.key, v.value, v.message)
		}
	}
	if err := o.GroupConfig.Validate(); err != nil {
		return configError{err}
	}
	return nil
}

func (c *Config) validateSchedule() error {
	o := c.Optim
	kinds := []string{Constant, CosineEpoch, CosineWarmup, MultiStep}
	switch {
	case !slices.Contains(kinds, o.Schedule):
		return configErrorf("optim.schedule %q: expected one of %q", o.Schedule, kinds)
	case !(o.Warmup >= 0 && o.Warmup <= maxWarmup):
		return configErrorf("optim.warmup %v: expected a fraction of the steps below 1, or a number of steps", o.Warmup)
	case o.Schedule == MultiStep && len(o.Milestones) == 0:
		return configErrorf("optim.milestones: schedule %q requires at least one epoch", MultiStep)
	case o.Schedule == MultiStep && !(o.Gamma > 0 && o.Gamma <= 1):
		return configErrorf("optim.gamma %v: expected 0 < gamma ≤ 1", o.Gamma)
	}
	return nil
}

func (c *Config) validateLoop() error {
	return within([]setting{
		{"train.epochs", c.Train.Epochs, 1, math.MaxInt32},
		{"train.batch", c.Train.Batch, 1, maxExamples}, {"train.eval_batch", c.Train.EvalBatch, 0, maxExamples},
		{"train.max_steps", c.Train.MaxSteps, 0, math.MaxInt}, {"train.patience", c.Train.Patience, 0, math.MaxInt},
		{"train.checkpoint_every", c.Train.CheckpointEvery, 0, math.MaxInt},
	})
}

// Bounds of a configuration, beyond which a value is a typing error. Sums and products of values
// within them are exact.
const (
	maxThreads  = 1024
	maxExamples = 1 << 24
	maxWarmup   = 1 << 53
	maxStates   = 1 << 16
	maxLegS     = 2048 // states: the time of its eigendecomposition is their third power
)

type setting struct {
	key               string
	value, least, top int
}

func within(settings []setting) error {
	for _, s := range settings {
		if s.value < s.least {
			return configErrorf("%s %d: expected at least %d", s.key, s.value, s.least)
		}
		if s.value > s.top {
			return configErrorf("%s %d: expected at most %d", s.key, s.value, s.top)
		}
	}
	return nil
}

// Network returns the configuration of the model for the data.
func (c *Config) Network(info dataset.Info) model.Config {
	m := c.Model
	m.SSM = c.SSM
	m.SSM.DModel = m.DModel
	m.SSMLayers = c.Ablate.Layers
	encoder, input := info.Encoder()
	if m.Encoder == "" {
		m.Encoder = encoder
	}
	if m.DInput == 0 {
		m.DInput = input
	}
	m.Pairs = info.Pairs
	if m.DOutput == 0 {
		m.DOutput = info.Outputs
	}
	return m
}

func (c *Config) dataOptions() dataset.Options {
	d := c.Data
	return dataset.Options{
		Dir: d.Dir, Seed: c.Seed, Progress: c.LoadProgress, MaxLen: d.MaxLen, Decimate: d.Decimate,
		Length: d.Length, Delay: d.Delay, TrainSize: d.TrainSize, EvalSize: d.EvalSize,
	}
}

// threads returns the number of workers.
func (c *Config) threads() int {
	if c.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return c.Workers
}

// evalBatch returns the examples of an evaluation batch.
func (c *Config) evalBatch() int {
	if c.Train.EvalBatch == 0 {
		return c.Train.Batch
	}
	return c.Train.EvalBatch
}

// configError is an error for which errors.Is(err, ErrConfig) holds.
type configError struct{ error }

func (e configError) Is(target error) bool { return target == ErrConfig }
func (e configError) Unwrap() error        { return e.error }

func configErrorf(format string, args ...any) error {
	return configError{fmt.Errorf("train: "+format, args...)}
}
