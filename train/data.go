package train

import (
	"errors"
	"io/fs"
)

// ErrData marks errors of the data and of other files that a run reads, such as a missing folder,
// an invalid recording or a damaged checkpoint.
var ErrData = errors.New("bad data")

// dataError is an error for which errors.Is(err, ErrData) holds.
type dataError struct{ error }

func (dataError) Is(target error) bool { return target == ErrData }
func (e dataError) Unwrap() error      { return e.error }

// DataError marks an error as ErrData.
func DataError(err error) error { return dataError{err} }

// contentError marks an error as ErrData if a file is missing or its content is invalid. If the
// file exists but cannot be read, it returns err unchanged, because the content may be valid.
func contentError(err error) error {
	if errors.As(err, new(*fs.PathError)) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return dataError{err}
}
