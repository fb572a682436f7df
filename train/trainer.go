package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/optim"
)

// The reasons for which a run ends early.
var (
	ErrInterrupted = errors.New("interrupted") // the context was cancelled; if there is a run folder, Fit has written a checkpoint
	ErrDiverged    = errors.New("diverged")    // NaN or infinite loss or weight; the last checkpoint stays
)

// Options are the options of New. With the zero value there is no run folder, and nothing is
// written.
type Options struct {
	// Dir is the run folder. It must not contain a run, unless Resume is set. "": none.
	Dir string
	// Numbered selects Dir, or the first of Dir-2, Dir-3, … that does not exist.
	Numbered bool
	Resume   bool // resume the run in Dir
	// From is a model whose weights the run starts from; New copies them. Its network must be that
	// of the configuration (Config.SetFrom), except for the outputs. Outputs with a label or target
	// that the model has too start with the model's row of the decoder, and new ones with initial
	// weights. The normalisation of the input is that of the model. A resumed run does not need
	// From.
	From     *model.Model
	Reporter Reporter // receives the progress; nil: none
	// Saved is called in Fit after each checkpoint, when all files of the run folder belong to one
	// state, and before the next step. May be nil. After an error Fit stops and returns it.
	Saved func() error
	// Exchange joins the processes that train the network together; nil: this one only. All ranks
	// pass the same configuration and data. The options Dir, Numbered and Resume count on rank 0,
	// which is the only one to read and write the run folder.
	Exchange Exchange

	files atomicfile.FS // nil: that of the operating system
}

// Trainer is a run: its data, network, optimiser and folder. One goroutine at a time may use it,
// except Checkpoint.
type Trainer struct {
	cfg         Config
	run         Run
	data        *dataset.Dataset
	fromOutputs []int // with Options.From: for each output, that of the model with the same name, or −1
	model       *model.Model
	best        *model.Model // of the best epoch
	partition   partition
	optim       *optim.AdamW
	lengths     []int // of the training examples; zeros where they are not known in advance
	plan        plan
	state       state
	test        *Result
	reporter    Reporter
	saved       func() error // Options.Saved
	warnings    []string

	mu sync.Mutex // guards weights, moments and state while they change or are written
}

// plan is the run's budget in steps.
type plan struct {
	passes   int // over the training set per epoch
	perEpoch int
	total    int
	schedule optim.Schedule
}

// New builds the network for the data and makes the run folder, or reads the run to resume. The
// data must have a validation set and at least cfg.Train.Batch training examples. If a run to
// resume ended before its first checkpoint, New starts it again. New locks the run folder until
// Close. Errors of the configuration are an ErrConfig; errors of the data or of the files of a run
// are an ErrData. If ctx is cancelled, the error is an ErrInterrupted. If New fails, no new run
// folder remains. New does not use the Exchange: Fit gives all ranks the state of rank 0.
func New(ctx context.Context, cfg Config, data *dataset.Dataset, opt Options) (*Trainer, error) {
	if opt.Exchange == nil {
		opt.Exchange = alone{}
	}
	if opt.Exchange.Rank() > 0 {
		opt.Dir, opt.Numbered, opt.Resume = "", false, false
	}
	if err := cfg.recordFrom(opt); err != nil {
		return nil, err
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if opt.Dir == "" && (opt.Resume || opt.Numbered) {
		return nil, configErrorf("out: no run folder, expected one with Resume or Numbered")
	}
	t := &Trainer{cfg: cfg, data: data, reporter: opt.Reporter, run: newRun(opt.Dir, opt.files)}
	if t.reporter == nil {
		t.reporter = silent{}
	}
	if t.saved = opt.Saved; t.saved == nil {
		t.saved = func() error { return nil }
	}
	if err := t.cfg.resolve(data); err != nil {
		return nil, err
	}
	var err error
	if t.partition, err = newPartition(opt.Exchange, t.cfg.Train.Batch, t.cfg.Train.Shards); err != nil {
		return nil, err
	}
	if err := t.build(opt); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("train: %w before the first step", ErrInterrupted)
	}
	t.state.Version, t.state.Data = stateVersion, newFingerprint(data)
	switch {
	case opt.Resume:
		err = t.resume(opt)
	case opt.Dir != "":
		var warning string
		if warning, err = t.run.create(opt.Numbered); err == nil {
			t.warn(warning)
			err = t.begin()
		}
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// build makes the network and its optimiser.
func (t *Trainer) build(opt Options) error {
	t.lengths = dataset.Lengths(t.data.Train)
	if from := opt.From; from != nil && t.cfg.SSM.Layer == ssm.LayerS4 && t.cfg.SSM.LKernel > 0 && t.cfg.SSM.LKernel == from.Config.SSM.LKernel {
		t.cfg.SSM.LKernel = t.cfg.SSM.KernelLength(t.longest())
	}
	c := t.cfg.Network(t.data.Info)
	if err := t.checkSize(c); err != nil {
		return err
	}
	var err error
	if t.model, err = t.firstModel(c, opt.From); err != nil {
		return err
	}
	trained := func(w model.Tensor) bool { return w.Kind != model.KindBuffer && !t.cfg.Optim.Frozen(w) }
	if !slices.ContainsFunc(t.model.Weights.Tensors(), trained) {
		return configErrorf("optim.freeze %.80q: nothing is left to train", t.cfg.Optim.Freeze)
	}
	t.model.Meta = model.Meta{
		Task: t.cfg.Task, Labels: t.data.Labels, SampleRate: t.data.SampleRate, Filterbank: t.data.Filterbank, Series: t.data.Series,
		Data: t.cfg.dataSettings(t.data.Options), InputMean: t.data.Mean, InputStd: t.data.Std, TargetMean: t.data.TargetMean, TargetStd: t.data.TargetStd,
		Recordings: t.data.Recordings,
	}
	if opt.From != nil {
		t.model.Meta.Recordings = opt.From.Meta.Recordings.With(t.data.Recordings...)
		t.setMoments(&opt.From.Meta)
	}
	if err := t.model.Meta.Validate(c); err != nil { // it could not be saved after any epoch
		return DataError(fmt.Errorf("train: data %q: %w", t.data.Name, err))
	}
	t.optim = optim.NewAdamW(t.model, t.cfg.Optim)
	t.plan = t.newPlan()
	return nil
}

// resolve sets the values that the configuration leaves to the data, and checks the others.
func (c *Config) resolve(d *dataset.Dataset) error {
	n := c.Network(d.Info)
	c.Model.Encoder, c.Model.DInput, c.Model.DOutput, c.Model.Pool = n.Encoder, n.DInput, n.DOutput, n.Pool
	c.Workers = min(par.Workers(c.Workers), MaxThreads)
	if c.Data == nil {
		c.Data = model.Settings{}
	}
	if err := fits(n, d.Info); err != nil {
		return ConfigError(err)
	}
	if d.Val == nil || d.Val.Len() == 0 {
		for _, label := range d.Info.Labels {
			if _, err := strconv.ParseFloat(label, 64); err == nil && strings.Contains(label, ".") {
				return DataError(fmt.Errorf("train: data %q: the validation set is empty; the classes are numbers such as %s: --mode regression predicts them", d.Name, label))
			}
		}
		return DataError(fmt.Errorf("train: data %q: the validation set is empty, but a run selects its best epoch on it; add examples, or use a larger fraction of them for validation", d.Name))
	}
	if d.Train == nil || d.Train.Len() == 0 {
		return DataError(fmt.Errorf("train: data %q: the training set is empty", d.Name))
	}
	if n := d.Train.Len(); n < c.Train.Batch {
		return configErrorf("train.batch %d: expected at most %d, the size of the training set", c.Train.Batch, n)
	}
	return nil
}

// longest returns the length of the longest training example.
func (t *Trainer) longest() int {
	if n := slices.Max(t.lengths); n > 0 {
		return n
	}
	return t.data.MaxLen
}

func (t *Trainer) newPlan() plan {
	perPass := t.data.Train.Len() / t.cfg.Train.Batch
	p := plan{passes: max(1, (t.data.EpochSteps+perPass-1)/perPass)}
	p.perEpoch = p.passes * perPass
	p.total = p.perEpoch * t.cfg.Train.Epochs
	if t.cfg.Train.MaxSteps > 0 {
		p.total = min(p.total, t.cfg.Train.MaxSteps)
	}
	p.schedule = optim.NewSchedule(t.cfg.Optim, t.cfg.Train.Epochs, p.total)
	return p
}

// begin writes the configuration and the first checkpoint. If the process ends between the two,
// resume begins the run again.
func (t *Trainer) begin() error {
	if err := t.writeConfig(); err != nil {
		return err
	}
	return t.Checkpoint()
}

// resume restores the run in the folder.
func (t *Trainer) resume(opt Options) error {
	recorded, err := loadRun(t.run.files, t.run.Dir)
	if err == nil {
		err = t.run.checkConfig(t.cfg, recorded, t.data.Options)
	}
	if err != nil {
		return err
	}
	warning, err := t.run.lock()
	if err != nil {
		return err
	}
	t.warn(warning)
	found, err := t.restoreCheckpoint()
	switch {
	case err != nil:
		return err
	case !found && t.cfg.From != "" && opt.From == nil:
		return configErrorf("from: %s has no checkpoint, so the run must start again from its model (hash %.12s…), expected that model (--from MODEL)", t.run.Dir, t.cfg.From)
	case !found:
		t.warn(fmt.Sprintf("%s has no checkpoint: the run starts again", t.run.Dir))
		return t.begin()
	}
	if t.state.Best != nil {
		if t.best, err = t.run.readModel(); err != nil {
			return contentError(fmt.Errorf("train: the best epoch's model: %w", err))
		}
	}
	if err := t.run.writeLog(t.state.Log, nil); err != nil { // without later epochs
		return err
	}
	return t.writeConfig()
}

// warn records a warning for Warnings, unless it is empty.
func (t *Trainer) warn(text string) {
	if text != "" {
		t.warnings = append(t.warnings, text)
	}
}

// Warnings returns one sentence for each repair that New had to make, and one for a folder that
// cannot be locked.
func (t *Trainer) Warnings() []string { return t.warnings }

func (t *Trainer) writeConfig() error {
	text, err := t.cfg.Encode()
	if err != nil {
		return err
	}
	return t.run.replace(configFile, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# kernel level: %s\n%s", vek.CurrentLevel(), text)
		return err
	})
}

// Close releases the run folder to other processes and trainers. The results can be read
// afterwards.
func (t *Trainer) Close() error {
	if t.run.locked == nil {
		return nil
	}
	return t.run.locked.Close()
}

// Config returns the configuration with every value that the run uses.
func (t *Trainer) Config() Config { return t.cfg }

// Dir returns the run folder, or "".
func (t *Trainer) Dir() string { return t.run.Dir }

// Step returns the number of complete steps.
func (t *Trainer) Step() int { return t.state.Step }

// Best returns the model of the best epoch so far, or nil.
func (t *Trainer) Best() *model.Model { return t.best }

// BestEpoch returns the metrics of the best epoch so far, or nil.
func (t *Trainer) BestEpoch() *Metrics { return t.state.Best }

// Test returns the result of the best model on the test set, after Fit. It is nil if the data have
// no test set.
func (t *Trainer) Test() *Result { return t.test }

// Describe returns a line about the network, the data and the budget.
func (t *Trainer) Describe() string {
	m, limit := t.model.Config, ""
	scheme := string(m.SSM.Init)
	if m.SSM.Layer != "" && m.SSM.Layer != ssm.LayerS4D {
		scheme = fmt.Sprintf("%s, %s", m.SSM.Layer, m.SSM.Init)
	}
	if t.plan.total < t.plan.perEpoch*t.cfg.Train.Epochs {
		limit = ", at most " + count(t.plan.total, "step")
	}
	return fmt.Sprintf("%d×%d channels, %s (%s), %s%s; %s of up to %s, %s of %s%s",
		m.NLayers, m.DModel, count(m.SSM.DState, "state"), scheme, count(m.CountParams(), "parameter"), t.describeFrom(),
		count(t.data.Train.Len(), "sequence"), count(t.longest(), "position"),
		count(t.cfg.Train.Epochs, "epoch"), count(t.plan.perEpoch, "step"), limit)
}

// count returns a number and its noun, in the plural unless n is 1.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
