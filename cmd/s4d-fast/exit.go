package main

import (
	"context"
	"errors"

	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
)

// Exit codes. After an interrupt train has written a complete checkpoint.
const (
	exitOK       = program.OK
	exitFailed   = program.Failed
	exitUsage    = program.Usage
	exitBadInput = program.BadInput
	exitDiverged = program.Diverged
)

// coded is an error with its exit code.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

func usageError(err error) error { return withCode(err, exitUsage) }
func badInput(err error) error   { return withCode(err, exitBadInput) }

func withCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// exitCode returns the process's exit code for an error. The cause of ctx is the signal, if one
// came.
func exitCode(ctx context.Context, err error) int {
	var c coded
	var s program.Signal
	switch {
	case errors.As(context.Cause(ctx), &s) && isInterrupt(err):
		return s.Code()
	case errors.Is(err, train.ErrDiverged):
		return exitDiverged
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, train.ErrConfig):
		return exitUsage
	case errors.Is(err, train.ErrData):
		return exitBadInput
	}
	return exitFailed
}

// isInterrupt reports whether a signal caused an error.
func isInterrupt(err error) bool {
	return errors.Is(err, train.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.As(err, new(program.Signal))
}
