package train

import (
	"context"
	"errors"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ErrData marks errors of the files that a run reads, such as a missing folder, an invalid
// recording or a damaged checkpoint.
var ErrData = errors.New("bad data")

// dataError is an error for which errors.Is(err, ErrData) holds.
type dataError struct{ error }

func (dataError) Is(target error) bool { return target == ErrData }
func (e dataError) Unwrap() error      { return e.error }

// LoadData loads one split of the data of a configuration, or all with "" or "all". Without the
// training set the data has no Mean and Std. Errors are ErrData, or ErrInterrupted if ctx was
// cancelled.
func LoadData(ctx context.Context, c Config, split string) (*dataset.Dataset, error) {
	opt := c.dataOptions()
	opt.Context, opt.Split = ctx, split
	data, err := dataset.Load(c.Task, opt)
	if ctx.Err() != nil {
		return nil, interruptedBefore("the data was loaded")
	}
	if err != nil {
		return nil, dataError{err}
	}
	return data, nil
}
