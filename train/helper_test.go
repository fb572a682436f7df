package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

var folder, _ = os.Getwd() // of the package: some tests change it

// preset returns the preset of a task of train/task.
func preset(t testing.TB, name string) Config {
	t.Helper()
	c := Default()
	c.Task = name
	c.Data = model.Settings{DirKey: ""}
	for _, key := range []string{"length", "delay", "train_size", "eval_size", "max_len", "decimate"} {
		c.Data[key] = int64(0)
	}
	path := filepath.Join(folder, "task", "presets", name+".toml")
	must.Do(t, c.Merge(must.Get(os.ReadFile(path))(t), path))
	return c
}

// run is a configuration with the options of New. Its data are echoes, unless others are given.
type run struct {
	Config
	Out    string // "": numbered folders runs/delay, …
	Resume bool
	From   *model.Model
	data   *dataset.Dataset
}

// start calls New.
func start(ctx context.Context, r run) (*Trainer, error) {
	opt := Options{Dir: r.Out, Resume: r.Resume, From: r.From}
	if r.Out == "" {
		opt = Options{Dir: filepath.Join("runs", r.Task), Numbered: true, From: r.From}
	}
	data := r.data
	if data == nil {
		data = echoData(r.Config)
	}
	return New(ctx, r.Config, data, opt)
}

// reload returns the run in a folder, to resume it.
func reload(t testing.TB, r run) run {
	t.Helper()
	r.Config, r.Resume = must.Get(LoadRun(r.Out))(t), true
	return r
}

// loadEchoes is the Load of sweeps.
func loadEchoes(_ context.Context, c Config) (*dataset.Dataset, error) { return echoData(c), nil }

// echoData returns noise that must be repeated some samples later, of the sizes in the
// configuration.
func echoData(c Config) *dataset.Dataset {
	size := func(key string) int {
		n, _ := c.Data[key].(int64)
		return int(n)
	}
	set := echo{c.Seed, size("length"), size("delay"), size("train_size"), 1}
	eval := set
	eval.n, eval.part = size("eval_size"), 0
	return &dataset.Dataset{
		Info:  dataset.Info{Name: "delay", Channels: 1, Outputs: 1, Regression: true, PerPosition: true, MaxLen: set.length, Delay: set.delay},
		Train: set, Val: eval, Mean: []float32{0}, Std: []float32{1},
	}
}

// echo is a set of sequences of noise, other ones in every epoch unless part is 0.
type echo struct {
	seed             uint64
	length, delay, n int
	part             int
}

func (s echo) Len() int       { return s.n }
func (s echo) Length(int) int { return s.length }

func (s echo) Example(e *dataset.Example, i, epoch int) error {
	if i < 0 || i >= s.n {
		return errors.New("no such example")
	}
	draw := random.New(s.seed, random.Signal, s.part*(epoch+1), i)
	e.X, e.Target = slices.Grow(e.X[:0], s.length)[:s.length], slices.Grow(e.Target[:0], s.length)[:s.length]
	e.Len, e.Label = s.length, -1
	for l := range e.X {
		e.X[l], e.Target[l] = float32(draw.Float64(uint64(l))-0.5), 0
		if l >= s.delay {
			e.Target[l] = e.X[l-s.delay]
		}
	}
	return nil
}

// readState reads a checkpoint and the state in it.
func readState(path string) (*safetensors.File, state, error) {
	r := newRun(filepath.Dir(path), nil)
	return r.readState(filepath.Base(path))
}

// diskState reads the state in a checkpoint.
func diskState(path string) (state, error) {
	_, s, err := readState(path)
	return s, err
}
