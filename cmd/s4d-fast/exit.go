package main

import (
	"context"
	"errors"

	"github.com/s4d-fast/s4d-fast/train"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1 // failed at run time
	exitUsage    = 2 // invalid flags, unknown task or key
	exitBadInput = 3 // invalid data, audio or model file
	exitDiverged = 4 // training diverged
	// 128 + signal after an interrupt: 129 (SIGHUP), 130 (SIGINT), 143 (SIGTERM). train has
	// then written a complete checkpoint.
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
	var s signalError
	switch {
	case errors.As(context.Cause(ctx), &s) && isInterrupt(err):
		return 128 + int(s.Signal)
	case errors.Is(err, train.ErrDiverged):
		return exitDiverged
	case errors.As(err, &c):
		return c.code
	}
	return exitFailed
}

// isInterrupt reports whether a signal caused an error.
func isInterrupt(err error) bool {
	return errors.Is(err, train.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.As(err, new(signalError))
}
