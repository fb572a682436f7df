package task

import (
	"context"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Options are what the tests of loaders vary.
type Options struct {
	Dir      string
	Seed     uint64
	Split    string
	Progress func(done, total int)
	Context  context.Context

	MaxLen, Decimate, Rate             int
	Length, Delay, TrainSize, EvalSize int
}

// load loads a task's data. Options that are 0 are left out.
func load(name string, opt Options) (*dataset.Dataset, error) {
	t, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	s := Source{Dir: opt.Dir, Seed: opt.Seed, Split: opt.Split, Progress: opt.Progress, Options: encodeZero(t)}
	for key, v := range map[string]int{
		"max_len": opt.MaxLen, "decimate": opt.Decimate, "rate": opt.Rate, "length": opt.Length, "delay": opt.Delay,
		"train_size": opt.TrainSize, "eval_size": opt.EvalSize,
	} {
		if v != 0 {
			s.Options[key] = int64(v)
		}
	}
	ctx := opt.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return t.Load(ctx, s)
}

// encodeZero returns the options without those of the preset.
func encodeZero(t *Task) model.Settings { return From(t.bare()).Options }
