package main

import (
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

// usageError and badInput mark an error, unless it is nil, with exitUsage and exitBadInput.
var usageError, badInput = train.ConfigError, train.DataError
