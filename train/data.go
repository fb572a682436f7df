package train

import (
	"context"
	"errors"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ErrData marks errors of what a run reads: a folder that is missing or empty, a recording that cannot be used, a
// damaged checkpoint.
var ErrData = errors.New("bad data")

// dataError is an error that is ErrData and keeps its own text.
type dataError struct{ error }

func (dataError) Is(target error) bool { return target == ErrData }
func (e dataError) Unwrap() error      { return e.error }

// LoadData loads the data that a configuration names: one split of it, or every one ("" or "all"). Without the
// training set the data have no Mean and Std. Errors are ErrData, or ErrInterrupted when ctx ended it.
func LoadData(ctx context.Context, c Config, split string) (*dataset.Dataset, error) {
	opt := c.dataOptions()
	opt.Context, opt.Split = ctx, split
	data, err := dataset.Load(c.Task, opt)
	if ctx.Err() != nil {
		return nil, interruptedBefore("the data were loaded")
	}
	if err != nil {
		return nil, dataError{err}
	}
	return data, nil
}
