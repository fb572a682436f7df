// Package level selects the level of a process, that is, the kernels that it computes with: plain
// Go, or assembly for the instructions of the processor (ARCHITECTURE.md, Levels).
//
// By default, the strongest level that is available is in use, except amx, whose products have an
// error of 2⁻¹⁶. The environment variable S4D_LEVEL selects another one. Results at two levels
// differ by rounding. A program should call Set at its start, with the value of a flag or with "",
// so that it stops at once if the level is not available. If S4D_LEVEL names such a level, the
// constructors of the other packages return an error too.
package level

import (
	"errors"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// ErrUnavailable marks a level that the processor, the operating system or this build does not
// support.
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
// another one computes. With "", Set does not change the level, and returns an error if S4D_LEVEL
// names a level that is not available. Errors are ErrUnavailable.
func Set(name string) error {
	err := vek.StartupErr()
	if name != "" {
		err = vek.SetLevel(vek.Level(name))
	}
	if err != nil {
		return fmt.Errorf("%w%.0w", err, ErrUnavailable) // with the text of err alone
	}
	return nil
}
