// Package level selects the kernels that a process computes with: plain Go, or assembly for what
// the processor supports (ARCHITECTURE.md, Levels).
//
// The strongest level that is available is in use unless the environment variable S4D_LEVEL names
// another one. Results at two levels differ by rounding. A program should call Set at its start,
// with the value of a flag or with "", so that a level that is not available is an error at once;
// constructors of the other packages return that error too.
package level

import (
	"errors"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// ErrUnavailable marks a level that this processor, its system or this build does not have.
var ErrUnavailable = errors.New("level not available")

// Levels returns the levels available in this process, the weakest first.
func Levels() []string {
	var names []string
	for _, l := range vek.Levels() {
		names = append(names, string(l))
	}
	return names
}

// Current returns the level in use.
func Current() string { return string(vek.CurrentLevel()) }

// Set selects a level for the whole process. It may be called from any goroutine, but not while
// another one computes. With "" the level stays as it is; if S4D_LEVEL names one that is not
// available, that is the error. Errors are ErrUnavailable.
func Set(name string) error {
	err := vek.StartupErr()
	if name != "" {
		err = vek.SetLevel(vek.Level(name))
	}
	if err != nil {
		return unavailable{err}
	}
	return nil
}

type unavailable struct{ error }

func (unavailable) Is(target error) bool { return target == ErrUnavailable }
func (e unavailable) Unwrap() error      { return e.error }
