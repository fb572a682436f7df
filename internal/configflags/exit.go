package configflags

import (
	"context"
	"errors"
	"syscall"

	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
)

// ExitCode returns the exit code of a command for an error. The cause of ctx is the signal, if one
// came. A run that was interrupted without one counts as stopped by SIGTERM.
func ExitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return program.OK
	case errors.Is(err, train.ErrInterrupted), errors.Is(err, context.Canceled), errors.As(err, new(program.Signal)):
		if s, ok := context.Cause(ctx).(program.Signal); ok {
			return s.Code()
		}
		return program.Signal(syscall.SIGTERM).Code()
	case errors.Is(err, train.ErrDiverged):
		return program.Diverged
	case errors.Is(err, train.ErrData):
		return program.BadInput
	case errors.Is(err, train.ErrConfig):
		return program.Usage
	}
	return program.Failed
}
