package train

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/optim"
)

// ErrConfig marks errors of the configuration, such as an unknown key, a value out of range or a
// run folder in use.
var ErrConfig = errors.New("invalid configuration")

// Config is the configuration of a run. Configuration files, presets and config.toml in a run
// folder are its TOML form.
type Config struct {
	Task    string `toml:"task"`    // name of the task of the data, for the record; may be ""
	From    string `toml:"from"`    // hash of the model in Options.From; New sets it
	Seed    uint64 `toml:"seed"`    // of initial weights, shuffling, dropout and generated data; below 2^63
	Workers int    `toml:"threads"` // 0: one per processor

	// Data are the options of the data, for the record. New does not read them; whoever loads the
	// data does, such as package train/task.
	Data   model.Settings `toml:"data"`
	Model  model.Config   `toml:"model"` // encoder, inputs and outputs are those of the data
	SSM    ssm.Config     `toml:"ssm"`
	Ablate AblateConfig   `toml:"ablate"`
	Optim  optim.Config   `toml:"optim"` // AdamW and the schedule of its learning rates
	Train  LoopConfig     `toml:"train"`
}

// DirKey is the key in Config.Data of the folder or file of the data. Models do not record it, and
// a resumed run may have another one, because data can be moved.
const DirKey = "dir"

// Dir returns the folder or the file of the data, or "".
func (c *Config) Dir() string {
	dir, _ := c.Data[DirKey].(string)
	return dir
}

// SetDir sets the folder or the file of the data.
func (c *Config) SetDir(dir string) {
	c.Data = maps.Clone(c.Data)
	if c.Data == nil {
		c.Data = model.Settings{}
	}
	c.Data[DirKey] = dir
}

// AblateConfig removes parts of the network to measure their contribution (docs/maths.md §8).
type AblateConfig struct {
	Layers int `toml:"layers"` // number of layers, from the first, that have an SSM; 0: all
}

// LoopConfig is the budget of a run. A run may be resumed with more epochs. With the schedules
// constant and multistep, the result is then the same as if the run had had this number of epochs
// from the start. The cosine schedules depend on the number of epochs.
type LoopConfig struct {
	Epochs          int `toml:"epochs"` // with max_steps, the end of the cosine schedules
	Batch           int `toml:"batch"`
	Shards          int `toml:"shards"`           // of a batch, a power of two that divides it; their gradients are summed separately, and at most as many processes may train together
	MaxSteps        int `toml:"max_steps"`        // largest number of steps; 0: no limit
	Patience        int `toml:"patience"`         // stop after this many epochs without a better one; 0: never
	CheckpointEvery int `toml:"checkpoint_every"` // steps; 0: only at the end of each epoch
}

// Default returns the default configuration, which presets modify: four bidirectional layers with H
// = 128 and N = 64, and ten epochs with batches of 16 (docs/configuration.md has every value). For
// small problems, less is enough, such as two layers with H = N = 16.
func Default() Config {
	m := model.Default()
	s := m.SSM
	s.Bidirectional = true
	m.SSM = ssm.Config{}
	m.Encoder, m.DInput, m.DOutput = "", 0, 0
	return Config{
		Model: m, SSM: s,
		Optim: optim.Default(),
		Train: LoopConfig{Epochs: 10, Batch: 16, Shards: 1},
	}
}

// dataSettings returns what a model file records of the data: the options without the folder, and
// the seed, because some data are generated from it.
func (c *Config) dataSettings(options model.Settings) model.Settings {
	settings := model.Settings{"seed": int64(c.Seed)}
	if options == nil {
		options = c.Data
	}
	for key, v := range options {
		if key != DirKey && !model.IsZeroSetting(v) {
			settings["data."+key] = v
		}
	}
	return settings
}

// ReadConfig returns the text of a configuration file, of at most 1 MiB. Without a path it returns
// nil. Errors are an ErrConfig and contain the path.
func ReadConfig(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := atomicfile.System().ReadPipe(path, maxConfig)
	if err != nil {
		return nil, ConfigError(err)
	}
	return text, nil
}

const maxConfig = 1 << 20 // bytes of a configuration file

// LoadRun returns the configuration of the run in a folder.
func LoadRun(dir string) (Config, error) { return loadRun(atomicfile.System(), dir) }

func loadRun(files atomicfile.Files, dir string) (Config, error) {
	c := Default()
	if err := noFile(files, dir); err != nil {
		return c, err
	}
	path := filepath.Join(dir, configFile)
	text, err := files.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return c, configErrorf("out: %s contains no run: %s is missing", dir, configFile)
	}
	if err != nil {
		return c, fmt.Errorf("train: %w", err)
	}
	return c, c.Merge(text, path)
}

// Validate returns an error for the first invalid value. New checks what depends on the data.
func (c *Config) Validate() error {
	if c.Seed > math.MaxInt64 {
		return configErrorf("seed %d: expected at least 0 and below 2^63", int64(c.Seed)) // TOML's integers are signed
	}
	if err := c.Optim.Validate(); err != nil {
		return configErrorf("[optim]: %w", err)
	}
	if err := within(
		setting{"threads", c.Workers, 0, MaxThreads}, setting{"ablate.layers", c.Ablate.Layers, 0, c.Model.NLayers},
		setting{"train.epochs", c.Train.Epochs, 1, math.MaxInt32},
		setting{"train.batch", c.Train.Batch, 1, maxExamples}, setting{"train.shards", c.Train.Shards, 1, c.Train.Batch},
		setting{"train.max_steps", c.Train.MaxSteps, 0, math.MaxInt}, setting{"train.patience", c.Train.Patience, 0, math.MaxInt},
		setting{"train.checkpoint_every", c.Train.CheckpointEvery, 0, math.MaxInt},
	); err != nil {
		return err
	}
	if c.SSM.Init == ssm.Imported && c.From == "" { // of a model file
		return configErrorf("ssm.init %q: such parameters come from a file: expected one of %q", c.SSM.Init, ssm.Inits())
	}
	n := c.Network(dataset.Info{Channels: 1, Outputs: 1})
	if err := n.Validate(); err != nil {
		return ConfigError(err)
	}
	most := maxStates
	if c.SSM.Init == ssm.LegS {
		most = maxLegS * max(c.SSM.Blocks, 1)
	}
	if err := within(setting{"ssm.d_state", c.SSM.DState, 1, most}); err != nil {
		return err
	}
	groups := n.Groups()
	for _, g := range c.Optim.Freeze {
		if !slices.Contains(groups, g) {
			return configErrorf("optim.freeze %.80q: expected encoder, layers, layers.0 to layers.%d, ssm, mixing, norm or decoder%s", g, n.NLayers-1, suggest.Hint(g, groups))
		}
	}
	return nil
}

// MaxThreads is the largest number of threads of a run.
const MaxThreads = 1024

// Bounds of a configuration. Values beyond them are taken for typing errors. Sums and products of
// values within them are exact.
const (
	maxExamples = 1 << 24
	maxStates   = 1 << 16
	maxLegS     = 2048 // states: the time of its eigendecomposition is their third power
)

type setting struct {
	key               string
	value, least, top int
}

func within(settings ...setting) error {
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

// Network returns the configuration of the model for the data. For forecasts, the pool is none:
// there is one output per position. The kernels of layers with a fixed length are as long as the
// longest sequence.
func (c *Config) Network(info dataset.Info) model.Config {
	m := c.Model
	m.SSM = c.SSM
	m.SSM.DModel = m.DModel
	m.SSMLayers = c.Ablate.Layers
	m.NormEps, m.NormBiased = 0, m.Norm == model.NormBatch && m.SSM.MIMO() // as in the code of S5 and the LRU
	m.SSM.ClipEigs, m.SSM.RateRule, m.SSM.Bandlimit = m.SSM.Layer == ssm.LayerS5, "", 0
	if m.SSM.FixedLength() && m.SSM.LKernel == 0 {
		m.SSM.LKernel = info.MaxLen
	}
	encoder, input := info.Encoder()
	m.Encoder, m.DInput, m.DOutput = cmp.Or(m.Encoder, encoder), cmp.Or(m.DInput, input), cmp.Or(m.DOutput, info.Outputs)
	m.Pairs = info.Pairs
	if info.Forecasts() {
		m.Pool = model.PoolNone
	}
	return m
}

// mark returns an error with the text of err for which errors.Is(err, as) holds, too.
func mark(err, as error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w%.0w", err, as)
}

// ConfigError marks an error as ErrConfig, unless it is nil.
func ConfigError(err error) error { return mark(err, ErrConfig) }

func configErrorf(format string, args ...any) error {
	return ConfigError(fmt.Errorf("train: "+format, args...))
}

// ErrData marks errors of the data and of other files that a run reads, such as a missing folder,
// an invalid recording or a damaged checkpoint.
var ErrData = errors.New("bad data")

// DataError marks an error as ErrData, unless it is nil.
func DataError(err error) error { return mark(err, ErrData) }

// contentError marks an error as ErrData if a file is missing or its content is invalid. If the
// file exists but cannot be read, it returns err unchanged, because the content may be valid.
func contentError(err error) error {
	if errors.As(err, new(*fs.PathError)) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return DataError(err)
}
