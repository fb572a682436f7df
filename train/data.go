package train

import (
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

// LoadData loads the data that a configuration names. Errors are ErrData.
func LoadData(c Config) (*dataset.Dataset, error) {
	data, err := dataset.Load(c.Task, c.dataOptions())
	if err != nil {
		return nil, dataError{err}
	}
	return data, nil
}
