package vek

import (
	"fmt"
	"os"
	"slices"
)

// Level names a set of kernels for one kind of processor.
type Level string

// Generic is plain Go and runs everywhere.
const Generic Level = "generic"

var (
	current    = Generic
	startupErr error
)

func init() {
	if name := os.Getenv("S4D_LEVEL"); name != "" {
		startupErr = SetLevel(Level(name))
	}
}

// Levels lists the levels available on this machine, weakest first.
func Levels() []Level { return []Level{Generic} }

// CurrentLevel returns the level in use.
func CurrentLevel() Level { return current }

// SetLevel selects a level for the whole process; it must not run beside kernels.
func SetLevel(l Level) error {
	if !slices.Contains(Levels(), l) {
		return fmt.Errorf("vek: level %q is not available here; available: %v", l, Levels())
	}
	current = l
	return nil
}

// StartupErr reports an S4D_LEVEL in the environment that is not available here.
func StartupErr() error { return startupErr }
