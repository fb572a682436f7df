package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/s4d-fast/s4d-fast/train"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1 // failed at run time
	exitUsage    = 2 // wrong flags, unknown task or key
	exitBadInput = 3 // bad data, audio or model file
	exitDiverged = 4 // training diverged
	// 128 + signal after an interrupt: 130 (SIGINT), 143 (SIGTERM); train has then written a complete checkpoint
)

// coded is an error with the exit code it calls for.
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

// exitCode maps an error to the process's exit code; sig is the signal that interrupted it, or 0.
func exitCode(err error, sig syscall.Signal) int {
	var c coded
	switch {
	case sig != 0 && isInterrupt(err):
		return 128 + int(sig)
	case errors.Is(err, train.ErrDiverged):
		return exitDiverged
	case errors.As(err, &c):
		return c.code
	}
	return exitFailed
}

// isInterrupt reports whether an error is the answer to a signal.
func isInterrupt(err error) bool {
	var s signalError
	return errors.Is(err, train.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.As(err, &s)
}
