package main

import (
	"errors"
	"syscall"
)

// ignoreBrokenPipes does nothing: Windows has no such signal.
func ignoreBrokenPipes() {}

func isBrokenPipe(err error) bool {
	const noData = syscall.Errno(232) // the pipe is being closed
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData)
}
